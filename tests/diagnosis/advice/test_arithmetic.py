"""Calculators: the number or the sentence that decides, worked out from what a message says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.crash import Memory
from triage.diagnosis.advice.arithmetic import CALCULATORS, SIZES, calculate, tensor_bytes
from triage.phrases import human_bytes

GIB = 1024**3


def advice(name: str, *, memory: Memory | None = None, **values: str) -> str:
    """One placeholder filled from these values."""
    return calculate(values, memory or Memory())[name]


# sizes


def test_the_tensor_of_the_first_screen_takes_32_gib() -> None:
    filled = calculate({"shape": "8192,128,128,64", "dtype": "float"}, Memory())
    assert tensor_bytes([8192, 128, 128, 64], "float") == 32 * GIB
    assert (filled["tensor_size"], filled["batch"], filled["bytes_per_sample"]) == ("32.0 GiB", "8192", "4.0 MiB")


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("half", 2),
        ("bfloat16", 2),
        ("float", 4),
        ("double", 8),
        ("DT_FLOAT", 4),
        ("int8", 1),
        ("bool", 1),
        ("int64", 8),
    ],
)
def test_the_size_of_an_element_is_that_of_its_type(dtype: str, size: int) -> None:
    assert tensor_bytes([10, 10], dtype) == 100 * size


@pytest.mark.parametrize("dtype", ["string", "resource", "variant", ""])
def test_a_type_without_a_fixed_size_has_none(dtype: str) -> None:
    assert tensor_bytes([10, 10], dtype) is None


def test_a_tensor_without_a_known_size_fills_nothing() -> None:
    assert calculate({"shape": "10,10", "dtype": "string"}, Memory()) == {"shape": "10,10", "dtype": "string"}


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (1536 * 1024, "1.5 MiB"),
        (32 * GIB, "32.0 GiB"),
        (1024**5, "1.0 PiB"),
        (1024**6, "1024.0 PiB"),
    ],
)
def test_bytes_are_written_in_powers_of_1024(count: int, words: str) -> None:
    assert human_bytes(count) == words


# the batch


def test_a_limit_in_the_log_gives_the_batch_that_would_fill_it_and_proposes_a_power_of_two_below_half() -> None:
    filled = calculate({"shape": "8192,128,128,64", "dtype": "float", "limit": "23.54GiB"}, Memory())
    assert filled["batches_that_fill"] == "6026"
    assert filled["largest_batch"] == "2048"
    assert filled["batch_advice"] == (
        "Lower the batch from 8192 to 2048 or less "
        "(a sample of this tensor takes 4.0 MiB; 6026 of them would fill 23.5 GiB)."
    )


@pytest.mark.parametrize("limit", ["23.54GiB", "23.54 GiB", "23.54G", "23.54GB"])
def test_a_limit_may_be_written_in_several_ways(limit: str) -> None:
    values = {"shape": "8192,128,128,64", "dtype": "float", "limit": limit}
    assert calculate(values, Memory())["batches_that_fill"] == "6026"


def test_a_limit_in_plain_bytes() -> None:
    values = {"shape": "8192,128,128,64", "dtype": "float", "limit": str(4 * GIB)}
    assert calculate(values, Memory())["batches_that_fill"] == "1024"


def test_the_limit_of_the_machine_stands_in_for_one_in_the_log() -> None:
    values = {"shape": "8192,128,128,64", "dtype": "float"}
    assert calculate(values, Memory(limit_bytes=4 * GIB))["largest_batch"] == "512"


def test_the_limit_in_the_log_beats_that_of_the_machine() -> None:
    values = {"shape": "8192,128,128,64", "dtype": "float", "limit": "8GiB"}
    assert calculate(values, Memory(limit_bytes=4 * GIB))["batches_that_fill"] == "2048"


def test_the_proposed_batch_is_at_most_half_of_the_one_that_failed() -> None:
    values = {"shape": "8,128,128,64", "dtype": "float", "limit": "23.54GiB"}
    assert calculate(values, Memory())["largest_batch"] == "4"


def test_without_a_limit_the_advice_is_to_halve() -> None:
    words = advice("batch_advice", shape="8192,128,128,64", dtype="float")
    assert words == "Lower the batch from 8192 by halves until it passes (a sample of this tensor takes 4.0 MiB)."


@pytest.mark.parametrize("shape", ["100000,3000", "40000,40000"])
@pytest.mark.parametrize(
    "op", ["dense/kernel/Adam", "embedding/embeddings/Initializer/random_uniform", "Variable/initial_value/Const"]
)
def test_the_batch_is_not_the_lever_where_the_tensor_is_not_of_the_batch(op: str, shape: str) -> None:
    words = advice("batch_advice", shape=shape, dtype="float", op=op, limit="23.54GiB")
    assert words.startswith(f"The batch is not the lever: this tensor of {op} takes ")
    assert "largest_batch" not in calculate({"shape": shape, "dtype": "float", "op": op}, Memory())


def test_the_batch_is_not_the_lever_where_it_is_one_already() -> None:
    assert advice("batch_advice", shape="1,65536,65536", dtype="float").startswith("The batch is not the lever")


def test_the_batch_is_not_the_lever_where_a_single_sample_does_not_fit() -> None:
    words = advice("batch_advice", shape="16,65536,65536", dtype="float", limit="23.54GiB")
    assert "a sample of this tensor takes 16.0 GiB of 23.5 GiB" in words
    assert words.startswith("The batch is not the lever")


# convolution and pooling


def test_what_is_left_of_an_axis_under_a_window() -> None:
    filled = calculate({"input_size": "2", "kernel_size": "5"}, Memory())
    assert filled["output_size"] == "-2"
    assert "(2 - 5) // 1 + 1 = -2" in filled["window_advice"]
    assert "Feed the image size that the model was made for" in filled["window_advice"]


def test_a_side_as_long_as_an_image_has_channels_is_in_the_wrong_place() -> None:
    words = advice("window_advice", input_size="1", kernel_size="2", full_shape="?,1,148,32")
    assert words.startswith("In [?,1,148,32] one side of the image is 1, which looks like its channels")


def test_without_the_shape_the_order_of_the_axes_is_only_a_possibility() -> None:
    assert "If 3 is the number of channels" in advice("window_advice", input_size="3", kernel_size="5")
    assert "channels" not in advice("window_advice", input_size="5", kernel_size="8")


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "left"), [(28, 3, 1, 26), (28, 2, 2, 14), (224, 7, 2, 109), (1, 3, 2, 0), (1, 2, 2, 0)]
)
def test_the_output_of_a_valid_convolution_or_pool(size: int, kernel: int, stride: int, left: int) -> None:
    filled = calculate({"input_size": str(size), "kernel_size": str(kernel), "stride": str(stride)}, Memory())
    assert filled["output_size"] == str(left)


@pytest.mark.parametrize(
    ("have", "want", "words"),
    [
        ("4", "3", "drop it with x[..., :3]"),
        ("1", "3", "grayscale_to_rgb"),
        ("3", "1", "rgb_to_grayscale"),
        ("4", "1", "channels=1"),
        ("3", "64", "feed the tensor that this layer was built for"),
        ("32", "64", "The input has 32 channels and the filter was built for 64"),
    ],
)
def test_channels_show_which_picture_was_meant(have: str, want: str, words: str) -> None:
    assert words in advice("channels_advice", have_channels=have, want_channels=want)


# rank


@pytest.mark.parametrize(
    ("have", "want", "shape", "words"),
    [
        ("3", "4", "(32, 28, 28)", "The channel axis is missing in (32, 28, 28): x[..., None] adds it."),
        ("3", "4", "(None, 28, 28)", "The channel axis is missing in (None, 28, 28)"),
        ("3", "4", "(28, 28, 3)", "a single sample needs a batch axis (x[None, ...])"),
        ("3", "4", "", "One axis is missing: "),
        ("2", "3", "(28, 28)", "One axis is missing in (28, 28)"),
        ("2", "4", "(10, 28)", "2 dimensions came in (10, 28) where 4 were expected: reshape"),
        ("5", "4", "(1, 1, 28, 28, 3)", "leave the batch out of input_shape"),
    ],
)
def test_rank_shows_which_axis_is_missing_or_too_many(have: str, want: str, shape: str, words: str) -> None:
    assert words in advice("rank_advice", have_rank=have, want_rank=want, full_shape=shape)


# dtype


def test_dtype_names_the_input_and_the_cast_in_the_words_of_python() -> None:
    words = advice("dtype_advice", have_dtype="double", want_dtype="float", op="MatMul", input_number="1")
    assert words == "Input 1 of MatMul is float64 where float32 is wanted: cast it with tf.cast(x, tf.float32)."


def test_dtype_without_a_number_speaks_of_the_input() -> None:
    words = advice("dtype_advice", have_dtype="int32", want_dtype="half")
    assert words == (
        "The input is int32 where float16 is wanted: cast it with tf.cast(x, tf.float16), or keep both at tf.float32."
    )


@pytest.mark.parametrize(
    ("have", "want", "words"),
    [
        ("string", "float32", "tf.strings.to_number(x, tf.float32)"),
        ("int32", "string", "tf.strings.as_string(x)"),
        ("float32_ref", "int32", "The input is float32 where int32 is wanted"),
    ],
)
def test_text_becomes_numbers_in_other_ways_than_by_a_cast(have: str, want: str, words: str) -> None:
    assert words in advice("dtype_advice", have_dtype=have, want_dtype=want)


def test_no_cast_makes_a_handle() -> None:
    assert "dtype_advice" not in calculate({"have_dtype": "float", "want_dtype": "resource"}, Memory())


# labels and indices


def test_a_label_beyond_the_classes_gives_the_units_that_it_needs() -> None:
    words = advice("label_advice", label="12", classes="10")
    assert words.startswith("Label 12 is outside the classes of the last layer, which has 10: map or drop the labels")
    assert words.endswith("or give the layer 13 units.")


def test_a_label_of_255_is_a_mark_or_a_byte() -> None:
    assert advice("label_advice", label="255", classes="10").startswith("Label 255 is mostly a mark for 'ignore'")


def test_a_label_equal_to_the_number_of_classes_is_counted_from_one() -> None:
    words = advice("label_advice", label="10", classes="10")
    assert words == (
        "Label 10 is one past the last of 10 classes: subtract 1 from labels that start at 1, or give the last layer "
        "11 units."
    )


def test_a_negative_label_is_a_mark_for_no_label() -> None:
    assert advice("label_advice", label="-1", classes="10").startswith("Label -1 is a mark for 'no label'")


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("1500", "A table of 1000 rows has no row 1500: give it 1501 rows, or limit ids to 0..999."),
        ("1000", "Index 1000 is one past the end: ids start at 0, so the table needs 1001 rows."),
        ("-1", "Index -1 is negative"),
    ],
)
def test_an_index_gives_the_size_that_the_table_needs(index: str, words: str) -> None:
    assert advice("index_advice", index=index, table_size="1000").startswith(words)


def test_an_index_that_is_its_own_place_counts_the_words_of_a_text() -> None:
    words = advice("index_advice", index="529", table_size="512", position="529")
    assert words.endswith("truncate or split texts to 512 tokens.")
    assert advice("index_advice", index="10", table_size="10", position="10").startswith("Index 10 is one past the end")


# matrix products


@pytest.mark.parametrize(
    ("left", "right", "hint"),
    [
        ("3,4", "2,4", " They are with transpose_b=True."),
        ("4,3", "4,2", " They are with transpose_a=True."),
        (
            "3,4",
            "5,6",
            " If the right one is a layer's weight, feed it the 5 features that it was built or trained for, or build "
            "the layer for 4.",
        ),
    ],
)
def test_a_product_names_the_inner_sizes_and_the_transpose_that_would_help(left: str, right: str, hint: str) -> None:
    a, b = left.split(","), right.split(",")
    words = advice("product_advice", left_shape=left, right_shape=right)
    assert words == f"[{left}] x [{right}]: the inner sizes {a[1]} and {b[0]} must be equal.{hint}"


def test_a_product_of_batches_looks_at_the_last_two_axes() -> None:
    words = advice("product_advice", left_shape="8,3,4", right_shape="8,2,4")
    assert words.startswith("[3,4] x [2,4]")


def test_a_vector_has_no_inner_size_to_speak_of() -> None:
    assert "product_advice" not in calculate({"left_shape": "3", "right_shape": "3,4"}, Memory())


# shapes that are compared, reshaped or given to a loss


@pytest.mark.parametrize(
    ("have", "want", "words"),
    [
        ("2352", "784", "3 times too much. 3 is mostly the channels: the images are colour and not grey."),
        ("784", "2352", "3 times too little. 3 is mostly the channels: the images are grey and not colour."),
        ("200704", "50176", "An image side differs by a factor of 2, or 4 is the batch (put -1 for it)."),
        ("4096", "3136", "neither is a multiple of the other"),
        ("12", "0", "a size in the shape is 0"),
        ("0", "12", "the data is empty"),
    ],
)
def test_the_factor_between_elements_shows_which_size_is_wrong(have: str, want: str, words: str) -> None:
    assert words in advice("elements_advice", have_values=have, want_values=want)


@pytest.mark.parametrize(
    ("labels", "outputs", "words"),
    [
        ("(None, 1)", "(None, 10)", "tf.keras.utils.to_categorical(y, 10)"),
        ("(None,)", "(None, 6)", "loss='sparse_categorical_crossentropy'"),
        ("(None, 4)", "(None, 1)", "the model has one output: end it with Dense(4)"),
        ("(None, 4)", "(None, 10)", "end it with Dense(4)."),
        ("(None, 7)", "(None, 1, 7)", "bring both to the same number of axes"),
    ],
)
def test_labels_and_outputs_show_the_loss_or_the_last_layer_that_was_meant(
    labels: str, outputs: str, words: str
) -> None:
    assert words in advice("loss_advice", label_shape=labels, output_shape=outputs)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("32,10", "20,10", "the smaller is mostly the short last batch"),
        ("64", "32,2", "hold equally many values, once flattened"),
        ("8,16", "8,12", "differ in axis 1 (counted from 0)"),
        ("4,8", "4,8,3", "[4,8] has 2 axes and [4,8,3] has 3"),
    ],
)
def test_two_shapes_show_the_axis_that_differs(one: str, other: str, words: str) -> None:
    assert words in advice("pair_advice", one_shape=one, other_shape=other)


def test_shapes_that_can_be_added_get_no_advice() -> None:
    assert "pair_advice" not in calculate({"one_shape": "4,1", "other_shape": "4,8"}, Memory())


# what is caught is not trusted


def test_a_calculator_without_its_values_fills_nothing() -> None:
    assert calculate({"shape": "8,8", "label": "", "classes": "10"}, Memory()) == {
        "shape": "8,8",
        "label": "",
        "classes": "10",
    }


def test_calculators_give_what_they_promise() -> None:
    values = {
        "shape": "8192,128,128,64", "dtype": "float", "limit": "23.54GiB", "input_size": "2", "kernel_size": "5",
        "wanted_size": "1 GiB", "total_size": "8 GiB", "free_size": "0 GiB", "allocated_size": "7 GiB",
            "have_channels": "4", "want_channels": "3", "have_rank": "3", "want_rank": "4", "have_dtype": "double",
        "want_dtype": "float", "label": "12", "classes": "10", "index": "12", "table_size": "10",
        "left_shape": "3,4", "right_shape": "2,4", "have_values": "2352", "want_values": "784",
        "label_shape": "(None, 1)", "output_shape": "(None, 10)", "one_shape": "32,10", "other_shape": "20,10",
    }  # fmt: skip
    for name, calculator in CALCULATORS.items():
        needed = {key: values[key] for key in (*calculator.needs, "limit")}
        assert set(calculator.compute(needed, Memory())) == set(calculator.gives), name


NUMBER = st.one_of(
    st.integers().map(str),
    st.text(max_size=8),
    st.text("0123456789.,-x ", max_size=8),
    st.sampled_from(["٣", "1e9", "²"]),
)
SHAPE = st.one_of(st.lists(st.integers(-5, 10**6), max_size=6).map(lambda sizes: ",".join(map(str, sizes))), NUMBER)
TYPE = st.one_of(st.sampled_from([*SIZES, "string"]), st.text(max_size=8))
LIMIT = st.one_of(st.sampled_from(["23.54GiB", "0B", "1.2.3GiB", ".GiB", ""]), st.text("0123456789.KMGiB ", max_size=8))
CAUGHT = {"shape": SHAPE, "left_shape": SHAPE, "right_shape": SHAPE, "full_shape": SHAPE, "limit": LIMIT}
CAUGHT |= dict.fromkeys(("label_shape", "output_shape", "one_shape", "other_shape"), SHAPE)
CAUGHT |= dict.fromkeys(("dtype", "have_dtype", "want_dtype", "op"), TYPE)
OPTIONAL = ("limit", "stride", "op", "full_shape", "input_number")


@pytest.mark.parametrize("name", CALCULATORS)
@settings(derandomize=True, deadline=None, max_examples=300)
@given(data=st.data())
def test_strange_values_never_raise_and_give_texts(name: str, data: st.DataObject) -> None:
    caught = {key: CAUGHT.get(key, NUMBER) for key in (*CALCULATORS[name].needs, *OPTIONAL)}
    values = data.draw(st.fixed_dictionaries(caught), label="values")
    limit = data.draw(st.none() | st.integers(0, 2**70), label="limit of the machine")
    filled = calculate(values, Memory(limit_bytes=limit))
    assert all(isinstance(text, str) for text in filled.values())


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", CALCULATORS)
def test_a_number_of_absurd_length_never_raises(name: str, digits: int) -> None:
    huge = "9" * digits
    values = {key: f"{huge},2" if "shape" in key else huge for key in CALCULATORS[name].needs}
    values |= {key: "float" for key in values if "dtype" in key}
    assert calculate(values, Memory()).keys() >= values.keys()


@pytest.mark.parametrize(
    ("sizes", "advice"),
    [
        (
            ("1.50 GiB", "23.64 GiB", "812.06 MiB", "16.20 GiB", "6.10 GiB"),
            "6.1 GiB is reserved and not in use, and the 1.5 GiB that was wanted fits in no single piece of it: the "
            "memory is fragmented.",
        ),
        (
            ("1.00 GiB", "24.00 GiB", "0.50 GiB", "8.00 GiB", "0.50 GiB"),
            "15.0 GiB of the card's 24.0 GiB is taken by other processes or libraries, more than the 1.0 GiB that was "
            "wanted: free that first.",
        ),
        (
            ("4.00 GiB", "24.00 GiB", "1.00 GiB", "22.00 GiB", "0.50 GiB"),
            "Tensors take 22.0 GiB of 24.0 GiB, and 4.0 GiB more did not fit: lower the batch to 90% of it or less.",
        ),
    ],
    ids=["in pieces", "taken by others", "too small"],
)
def test_the_numbers_of_pytorchs_allocator_say_which_lever_helps(sizes: tuple[str, ...], advice: str) -> None:
    names = ("wanted_size", "total_size", "free_size", "allocated_size", "unused_size")
    assert calculate(dict(zip(names, sizes, strict=True)), Memory())["allocator_advice"] == advice


def test_older_pytorch_tells_what_is_reserved_in_total() -> None:
    values = {
        "wanted_size": "256.00 MiB",
        "total_size": "10.76 GiB",
        "free_size": "100.00 MiB",
        "allocated_size": "7.00 GiB",
        "reserved_size": "9.50 GiB",
    }
    assert calculate(values, Memory())["allocator_advice"].startswith("2.5 GiB is reserved and not in use")


def test_what_is_no_size_gives_no_advice() -> None:
    values = dict.fromkeys(("wanted_size", "total_size", "free_size", "allocated_size"), "much")
    assert "allocator_advice" not in calculate(values, Memory())
