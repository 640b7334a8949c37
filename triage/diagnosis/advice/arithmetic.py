"""Calculators: from the values that a pattern's named groups caught to the number or the sentence that helps.

A calculator runs when all the groups it needs were caught. Signatures use what it gives as {placeholders}.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from triage import digits
from triage.crash import Memory
from triage.patterns import compile as pattern
from triage.phrases import human_bytes

Values = Mapping[str, str]
SIZES = {
    "float": 4, "float32": 4, "double": 8, "float64": 8, "half": 2, "float16": 2, "bfloat16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "complex64": 8, "complex128": 16, "qint8": 1, "quint8": 1, "qint32": 4,
}  # fmt: skip
_PYTHON_TYPES = {"float": "float32", "double": "float64", "half": "float16"}
# Tensors whose first dimension is not the batch: weights, their initial values, optimizer slots, whole data sets.
_NOT_A_BATCH = (
    r"(?i)kernel|weight|embedding|initializer|random_(?:uniform|normal)|truncated|adam|momentum|rmsprop|Const$"
)


class Calculator(NamedTuple):
    """A named calculation: the groups it needs, the placeholders it gives, and the function."""

    needs: tuple[str, ...]
    gives: tuple[str, ...]
    compute: Callable[[Values, Memory], dict[str, str]]


def calculate(values: Values, memory: Memory) -> dict[str, str]:
    """Every placeholder that can be filled: the caught values and all that the calculators make of them."""
    filled = dict(values)
    for calculator in CALCULATORS.values():
        if all(values.get(name) for name in calculator.needs):
            # A private pattern may catch anything, and what is not a number gives no advice.
            with suppress(ValueError, OverflowError):
                filled.update(calculator.compute(values, memory))
    return filled


def tensor_bytes(shape: list[int], dtype: str) -> int | None:
    """The size of a tensor; None for a type whose size is not fixed (strings, resources)."""
    size = SIZES.get(dtype.lower().removeprefix("dt_"))
    return None if size is None else math.prod(shape) * size


def _count(text: str) -> int:
    """A number that a pattern caught; raises ValueError for anything else, which `calculate` skips."""
    number = digits.whole(text)
    if number is None:
        raise ValueError(f"{text[:20]} is no count")
    return number


def _shape(text: str) -> list[int]:
    return [_count(part) for part in re.findall(r"\d+", text)]


def _tensor(values: Values, memory: Memory) -> dict[str, str]:
    shape = _shape(values["shape"])
    total = tensor_bytes(shape, values["dtype"])
    if not shape or not total:
        return {}
    filled = {"tensor_size": human_bytes(total)}
    if _first_is_batch(shape, values):
        filled |= {"batch": str(shape[0]), "bytes_per_sample": human_bytes(total / shape[0])}
    return filled


def _first_is_batch(shape: list[int], values: Values) -> bool:
    return len(shape) > 1 and shape[0] > 1 and not pattern(_NOT_A_BATCH).search(values.get("op", ""))


def _batch(values: Values, memory: Memory) -> dict[str, str]:
    """How large a batch may be, or why a smaller batch would not help."""
    shape = _shape(values["shape"])
    total = tensor_bytes(shape, values["dtype"])
    if not shape or not total:
        return {}
    if not _first_is_batch(shape, values):
        whose = f" of {values['op']}" if values.get("op") else ""
        return _not_the_lever(f"this tensor{whose} takes {human_bytes(total)} by itself", "the layer or the table")
    batch, sample = shape[0], total / shape[0]
    takes = f"a sample of this tensor takes {human_bytes(sample)}"
    limit = _limit(values) or memory.limit_bytes
    if limit is None:
        return {"batch_advice": f"Lower the batch from {batch} by halves until it passes ({takes})."}
    fill = int(limit // sample)
    if fill < 2:
        return _not_the_lever(f"{takes} of {human_bytes(limit)}", "the input or the layer")
    # Other activations and gradients need room too, so at most half of what this tensor alone would allow.
    fits = min(1 << (max(1, fill // 2).bit_length() - 1), max(1, batch // 2))
    advice = (
        f"Lower the batch from {batch} to {fits} or less ({takes}; {fill} of them would fill {human_bytes(limit)})."
    )
    return {"largest_batch": str(fits), "batches_that_fill": str(fill), "batch_advice": advice}


def _not_the_lever(why: str, what: str) -> dict[str, str]:
    return {"batch_advice": f"The batch is not the lever: {why}. Make {what} that it belongs to smaller."}


def _limit(values: Values) -> int | None:
    match = re.fullmatch(r"([\d.]+) ?(?:([KMGTP])i?)?B?", values.get("limit", "").strip())
    if not match:
        return None
    return digits.scaled(match[1], 1024 ** (" KMGTP".index(match[2]) if match[2] else 0))


# How many channels images have, and how much longer than that a side is at least.
_CHANNEL_COUNTS = (1, 2, 3, 4)
_ANOTHER_SIDE = 8


def _window(values: Values, memory: Memory) -> dict[str, str]:
    """The output size of a VALID convolution or pool, and the smallest input that gives any output."""
    size, kernel = _count(values["input_size"]), _count(values["kernel_size"])
    stride = max(1, _count(values.get("stride") or "1"))
    left = (size - kernel) // stride + 1
    sides = [n for n in _axes(values.get("full_shape", "")) if n]
    if size in _CHANNEL_COUNTS and sides and max(sides) >= _ANOTHER_SIDE * size:
        shape = values["full_shape"]
        advice = (
            f"In [{shape}] one side of the image is {size}, which looks like its channels: the axes are in the other "
            "order. Give the shape as (height, width, channels), or set image_data_format (data_format) to the order "
            "that the data has."
        )
        return {"output_size": str(left), "window_advice": advice}
    advice = (
        f"Only {size} is left of this axis for a window of {kernel}: ({size} - {kernel}) // {stride} + 1 = {left}. "
        f"Feed the image size that the model was made for, take a smaller window, or use padding='same'."
    )
    if size in _CHANNEL_COUNTS:
        advice += (
            f" If {size} is the number of channels, the axes are in the other order: set image_data_format "
            "(data_format) to the order that the data has."
        )
    return {"output_size": str(left), "window_advice": advice}


_CHANNELS = {
    (4, 3): "The input has an alpha channel (RGBA): drop it with x[..., :3] or load with channels=3.",
    (1, 3): "The input is grey and the filter wants colour: tf.image.grayscale_to_rgb(x), or load with channels=3.",
    (3, 1): "The input is colour and the filter wants grey: tf.image.rgb_to_grayscale(x), or load with channels=1.",
    (4, 1): "The input is RGBA and the filter wants grey: load with channels=1.",
}


def _channels(values: Values, memory: Memory) -> dict[str, str]:
    """Which channels were meant."""
    have, want = _count(values["have_channels"]), _count(values["want_channels"])
    if (have, want) in _CHANNELS:
        advice = _CHANNELS[have, want]
    elif have == 3:
        advice = (
            f"The input has 3 channels, as a colour image has, and the filter was built for {want}: feed the tensor "
            "that this layer was built for, or build the layer for 3 channels."
        )
    else:
        advice = (
            f"The input has {have} channels and the filter was built for {want}: bring the input to {want} channels, "
            f"or build the model for {have} (input_shape=(height, width, {have}), without pretrained weights). If one "
            "of the two is a height or width, the axes are in the other order (data_format)."
        )
    return {"channels_advice": advice}


def _rank(values: Values, memory: Memory) -> dict[str, str]:
    """Which axis is missing or too many."""
    have, want = _count(values["have_rank"]), _count(values["want_rank"])
    shape = values.get("full_shape", "")
    seen = f" in {shape}" if shape else ""
    if want == have + 1 and want == 4 and _last_dimension(shape) not in (None, 1, 3, 4):
        advice = f"The channel axis is missing{seen}: x[..., None] adds it."
    elif want == have + 1:
        advice = (
            f"One axis is missing{seen}: a single sample needs a batch axis (x[None, ...]), grey images a channel "
            "axis (x[..., None])."
        )
    elif want < have:
        advice = (
            f"{have} dimensions came{seen} where {want} were expected: leave the batch out of input_shape, which Keras "
            "adds itself, and do not add a batch axis to data that has one."
        )
    else:
        advice = f"{have} dimensions came{seen} where {want} were expected: reshape to (batch, ..., channels)."
    return {"rank_advice": advice}


def _last_dimension(shape: str) -> int | None:
    parts = re.findall(r"\d+|None", shape)
    return digits.whole(parts[-1]) if parts else None


def _dtype(values: Values, memory: Memory) -> dict[str, str]:
    """Which input to cast to which type."""
    want, have = (_type_name(values[name]) for name in ("want_dtype", "have_dtype"))
    op = values.get("op", "the op")
    which = f"Input {values['input_number']} of {op}" if values.get("input_number") else "The input"
    if {want, have} & _NO_NUMBERS:
        return {}
    if want == "string":
        cure = "tf.strings.as_string(x) makes text of it"
    elif have == "string":
        cure = f"tf.strings.to_number(x, tf.{want}) makes numbers of it"
    else:
        cure = f"cast it with tf.cast(x, tf.{want})"
        cure += "" if want == "float32" or "float" not in want else ", or keep both at tf.float32"
    return {"dtype_advice": f"{which} is {have} where {want} is wanted: {cure}."}


# Handles, which no cast makes of anything or of which it makes anything.
_NO_NUMBERS = frozenset({"resource", "variant"})


def _type_name(name: str) -> str:
    """The type as TensorFlow's Python calls it; TensorFlow 1 writes float32_ref for a variable's."""
    plain = name.removesuffix("_ref")
    return _PYTHON_TYPES.get(plain, plain)


_A_BYTE = 255


def _label(values: Values, memory: Memory) -> dict[str, str]:
    """Which labels or how many classes were meant."""
    label, classes = _count(values["label"]), _count(values["classes"])
    if label < 0:
        advice = f"Label {label} is a mark for 'no label' that is still in the data: drop those rows or map them."
    elif label == classes:
        advice = (
            f"Label {label} is one past the last of {classes} classes: subtract 1 from labels that start at 1, or give "
            f"the last layer {classes + 1} units."
        )
    elif label == _A_BYTE:
        advice = (
            f"Label {label} is mostly a mark for 'ignore', as masks have it, or a byte of an image that was read as a "
            "label: leave those pixels out of the loss, or read the records in the layout in which they were written."
        )
    else:
        valid = f"0..{classes - 1}" if classes > 1 else "0"
        advice = (
            f"Label {label} is outside the classes of the last layer, which has {classes}: map or drop the labels "
            f"other than {valid}, in the validation data too, or give the layer {label + 1} units."
        )
    return {"label_advice": advice}


# Tables of positions are longer than this; shorter ones hold something else.
_SHORTEST_TEXT = 64


def _index(values: Values, memory: Memory) -> dict[str, str]:
    """How large a table was meant."""
    index, size = _count(values["index"]), _count(values["table_size"])
    if index < 0:
        advice = f"Index {index} is negative: a mark for 'missing' is still in the data; map it to a row of its own."
    elif values.get("position") == values["index"] and size >= _SHORTEST_TEXT:
        advice = (
            f"Index {index} stands at place {index}, so it counts the words of a text that is longer than the {size} "
            f"for which the model has positions: truncate or split texts to {size} tokens."
        )
    elif index == size:
        advice = f"Index {index} is one past the end: ids start at 0, so the table needs {size + 1} rows."
    else:
        advice = f"A table of {size} rows has no row {index}: give it {index + 1} rows, or limit ids to 0..{size - 1}."
    return {"index_advice": advice}


def _product(values: Values, memory: Memory) -> dict[str, str]:
    left, right = _shape(values["left_shape"]), _shape(values["right_shape"])
    if len(left) < 2 or len(right) < 2:
        return {}
    inner = left[-1], right[-2]
    advice = (
        f"[{left[-2]},{inner[0]}] x [{inner[1]},{right[-1]}]: the inner sizes {inner[0]} and {inner[1]} must be equal."
    )
    if inner[0] == right[-1]:
        advice += " They are with transpose_b=True."
    elif left[-2] == inner[1]:
        advice += " They are with transpose_a=True."
    else:
        advice += (
            f" If the right one is a layer's weight, feed it the {inner[1]} features that it was built or trained for, "
            f"or build the layer for {inner[0]}."
        )
    return {"product_advice": advice}


def _elements(values: Values, memory: Memory) -> dict[str, str]:
    return {"elements_advice": _elements_advice(_count(values["have_values"]), _count(values["want_values"]))}


def _loss(values: Values, memory: Memory) -> dict[str, str]:
    advice = _loss_advice(values["label_shape"], values["output_shape"])
    return {"loss_advice": advice} if advice else {}


def _pair(values: Values, memory: Memory) -> dict[str, str]:
    advice = _pair_advice(values["one_shape"], values["other_shape"])
    return {"pair_advice": advice} if advice else {}


def _elements_advice(have: int, want: int) -> str:
    """Which size is wrong in a reshape, by the factor between the elements there are and those asked for."""
    sizes = f"The data has {have} elements and the shape asks for {want}"
    if want == 0:
        return f"{sizes}: a size in the shape is 0; look for the height, width or length that was stored or read as 0."
    if have == 0:
        return f"{sizes}: the data is empty; look for the step that dropped everything."
    if have % want == 0:
        return f"{sizes}: {have // want} times too much. {_factor(have // want, 'colour and not grey')}"
    if want % have == 0:
        return f"{sizes}: {want // have} times too little. {_factor(want // have, 'grey and not colour')}"
    return f"{sizes}, and neither is a multiple of the other: an image side, a cut-off file or a header in it."


def _factor(factor: int, images: str) -> str:
    if factor == 3:
        return f"3 is mostly the channels: the images are {images}."
    root = math.isqrt(factor)
    if root * root == factor:
        return f"An image side differs by a factor of {root}, or {factor} is the batch (put -1 for it)."
    return f"{factor} is the batch (put -1 for it), the channels or an image side."


def _loss_advice(labels: str, outputs: str) -> str | None:
    """What to change where labels and model outputs differ in shape."""
    have, want = _axes(labels), _axes(outputs)
    if not have or not want or want[-1] is None:
        return None
    units = want[-1]
    one_value = have[-1] != units if len(have) == len(want) - 1 else len(have) == len(want) and have[-1] == 1 != units
    if one_value:
        return (
            f"Labels {labels} hold one value a sample and the model has {units} outputs. If it is the number of a "
            "class, compile with loss='sparse_categorical_crossentropy', or use "
            f"y = tf.keras.utils.to_categorical(y, {units})."
        )
    if len(have) != len(want) or have[-1] is None:
        return f"Labels are {labels} and the outputs {outputs}: bring both to the same number of axes."
    if units == 1:
        return (
            f"Labels {labels} have {have[-1]} columns and the model has one output: end it with Dense({have[-1]}), or "
            "give labels of one column."
        )
    return f"Labels have {have[-1]} columns and the model {units} outputs: end it with Dense({have[-1]})."


def _pair_advice(one: str, other: str) -> str | None:
    """Which axis differs in two shapes that are added or compared, and what that usually means."""
    left, right = _axes(one), _axes(other)
    if not left or not right or None in left or None in right:
        return None
    if len(left) != len(right):
        flat, full = sorted((left, right), key=len)
        if len(flat) == 1 and math.prod(n or 0 for n in full) == flat[0]:
            return (
                f"[{one}] and [{other}] hold equally many values, once flattened: reshape one of them like the other, "
                "or take the loss and the metric that are made for this output."
            )
        return (
            f"[{one}] has {len(left)} axes and [{other}] has {len(right)}: add the missing axis with x[..., None], or "
            "take the other away with tf.squeeze, before the two meet."
        )
    unequal = [n for n, (a, b) in enumerate(zip(left, right, strict=True)) if a != b and 1 not in (a, b)]
    if unequal == [0]:
        return (
            f"Only the first sizes differ, {left[0]} and {right[0]}; the smaller is mostly the short last batch. Drop "
            "it with dataset.batch(n, drop_remainder=True) or a number of samples that the batch divides, or take the "
            "batch from tf.shape(x)[0] instead of a constant."
        )
    if not unequal:
        return None
    axes = " and ".join(str(n) for n in unequal)
    return (
        f"[{one}] and [{other}] differ in axis {axes} (counted from 0): bring both to one size there, by cutting or "
        "padding, or by the setting that limits the shorter one."
    )


def _axes(shape: str) -> list[int | None]:
    return [digits.whole(part) for part in re.findall(r"\d+|None|\?", shape)]


_UNITS = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 1000,
    "mb": 10**6,
    "gb": 10**9,
}


def _size(text: str) -> int:
    """A size as PyTorch prints it: `1.50 GiB`; raises ValueError for anything else."""
    number, _, unit = text.partition(" ")
    if unit.lower() not in _UNITS or not re.fullmatch(r"\d{1,9}(?:\.\d{1,4})?", number):
        raise ValueError(f"{text[:20]} is no size")
    return int(float(number) * _UNITS[unit.lower()])


def _allocator(values: Values, memory: Memory) -> dict[str, str]:
    """Whether the memory is in pieces, taken by others, or really too small, from the allocator's own numbers."""
    wanted, total, free = (_size(values[name]) for name in ("wanted_size", "total_size", "free_size"))
    allocated = _size(values["allocated_size"])
    if values.get("unused_size"):
        unused = _size(values["unused_size"])
    else:
        unused = _size(values["reserved_size"]) - allocated if values.get("reserved_size") else 0
    others = total - free - allocated - unused
    if unused >= wanted:
        pieces = (
            f"{human_bytes(unused)} is reserved and not in use, and the {human_bytes(wanted)} that was wanted fits in"
        )
        return {"allocator_advice": f"{pieces} no single piece of it: the memory is fragmented."}
    if others > max(wanted, total // 5):
        taken = f"{human_bytes(others)} of the card's {human_bytes(total)} is taken by other processes or libraries"
        return {"allocator_advice": f"{taken}, more than the {human_bytes(wanted)} that was wanted: free that first."}
    share = (total - max(others, 0)) / (allocated + wanted)
    lower = f"lower the batch to {min(share, 0.95):.0%} of it or less" if share < 1 else "lower the batch"
    full = f"Tensors take {human_bytes(allocated)} of {human_bytes(total)}, and {human_bytes(wanted)} more did not fit"
    return {"allocator_advice": f"{full}: {lower}."}


CALCULATORS = {
    "allocator": Calculator(
        ("wanted_size", "total_size", "free_size", "allocated_size"), ("allocator_advice",), _allocator
    ),
    "tensor": Calculator(("shape", "dtype"), ("tensor_size", "batch", "bytes_per_sample"), _tensor),
    "batch": Calculator(("shape", "dtype"), ("largest_batch", "batches_that_fill", "batch_advice"), _batch),
    "window": Calculator(("input_size", "kernel_size"), ("output_size", "window_advice"), _window),
    "channels": Calculator(("have_channels", "want_channels"), ("channels_advice",), _channels),
    "rank": Calculator(("have_rank", "want_rank"), ("rank_advice",), _rank),
    "dtype": Calculator(("have_dtype", "want_dtype"), ("dtype_advice",), _dtype),
    "label": Calculator(("label", "classes"), ("label_advice",), _label),
    "index": Calculator(("index", "table_size"), ("index_advice",), _index),
    "elements": Calculator(("have_values", "want_values"), ("elements_advice",), _elements),
    "loss": Calculator(("label_shape", "output_shape"), ("loss_advice",), _loss),
    "pair": Calculator(("one_shape", "other_shape"), ("pair_advice",), _pair),
    "product": Calculator(("left_shape", "right_shape"), ("product_advice",), _product),
}
