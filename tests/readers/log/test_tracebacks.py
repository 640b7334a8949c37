"""Python exceptions in a log: tracebacks, chains, notebooks, and the one line that people paste."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import LOGS

from triage.crash import Log, PythonException, PythonFrame
from triage.readers import Source, read
from triage.readers.log import tracebacks
from triage.readers.log.tracebacks import extract


def _extract(text: str) -> tuple[PythonException, ...]:
    return extract(Log(0, text.split("\n")))


def _one(text: str) -> PythonException:
    (exception,) = _extract(text)
    return exception


def _of_log(name: str) -> PythonException:
    (exception,) = read(Source.of(LOGS / name), 0).exceptions
    return exception


PLAIN = """\
Epoch 1/5
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
  File "train.py", line 7, in main
    raise ValueError("bad")
ValueError: bad
"""


def test_a_plain_traceback_gives_type_message_place_and_frames_innermost_first() -> None:
    exception = _one(PLAIN)
    assert (exception.type, exception.message, exception.gist, exception.link) == ("ValueError", "bad", "bad", None)
    assert exception.frames == (PythonFrame("train.py", 7, "main"), PythonFrame("train.py", 9, "<module>"))
    assert exception.place is not None
    assert exception.place.line == 7


def test_the_offset_of_an_exception_is_where_its_last_line_starts() -> None:
    log = Log(0, PLAIN.split("\n"))
    (exception,) = extract(log)
    assert log.text.startswith("ValueError: bad", exception.offset)


def test_what_this_python_itself_writes_is_understood() -> None:
    program = (
        "def load(d):\n"
        "    return d['x']\n"
        "try:\n"
        "    load({})\n"
        "except KeyError as error:\n"
        "    raise RuntimeError('could not load\\nthe model') from error\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    first, second = _extract(done.stderr)
    assert (first.type, first.message, first.link) == ("KeyError", "'x'", None)
    assert [(frame.line, frame.function) for frame in first.frames] == [(2, "load"), (4, "<module>")]
    assert (second.type, second.message, second.link) == ("RuntimeError", "could not load\nthe model", "cause")


# Chains


@pytest.mark.parametrize(
    ("words", "link"),
    [
        ("During handling of the above exception, another exception occurred:", "context"),
        ("The above exception was the direct cause of the following exception:", "cause"),
    ],
)
def test_an_exception_says_how_it_is_linked_to_the_one_before(words: str, link: str) -> None:
    first, second = _extract(
        "Traceback (most recent call last):\n"
        '  File "a.py", line 3, in load\n'
        "    return d['x']\n"
        "KeyError: 'x'\n"
        "\n"
        f"{words}\n"
        "\n"
        "Traceback (most recent call last):\n"
        '  File "a.py", line 9, in <module>\n'
        "    main()\n"
        "RuntimeError: could not load\n"
    )
    assert (first.type, first.message, first.link) == ("KeyError", "'x'", None)
    assert (second.type, second.message, second.link) == ("RuntimeError", "could not load", link)
    assert second.frames == (PythonFrame("a.py", 9, "<module>"),)


def test_two_tracebacks_after_each_other_are_no_chain() -> None:
    first, second = _extract(PLAIN + "\n\n" + PLAIN)
    assert (first.link, second.link) == (None, None)
    assert len(first.frames) == len(second.frames) == 2


# Types


@pytest.mark.parametrize(
    ("line", "type_name", "short"),
    [
        (
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 64.0 TiB for an array",
            "numpy._core._exceptions._ArrayMemoryError",
            "_ArrayMemoryError",
        ),
        (
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor",
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError",
            "ResourceExhaustedError",
        ),
        ("MemoryError", "MemoryError", "MemoryError"),
        ("KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
        ("ModuleNotFoundError: No module named 'tensorflow'", "ModuleNotFoundError", "ModuleNotFoundError"),
        ("E       ValueError: as pytest shows it", "ValueError", "ValueError"),
        (
            "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly",
            "concurrent.futures.process.BrokenProcessPool",
            "BrokenProcessPool",
        ),
    ],
)
def test_a_bare_last_line_without_a_traceback_is_an_exception_too(line: str, type_name: str, short: str) -> None:
    exception = _one(line)
    assert (exception.type, exception.short_type, exception.frames) == (type_name, short, ())


@pytest.mark.parametrize(
    "last",
    [
        "StopIteration",
        "subprocess.TimeoutExpired: Command 'python' timed out after 5 seconds",
        "_queue.Empty",
        "mypackage.Diverged: loss is nan",
        "DeprecationWarning: use something else",
        "SystemExit: 3",
    ],
)
def test_a_whole_traceback_counts_whatever_its_exception_is_called(last: str) -> None:
    exception = _one(f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n{last}\n')
    assert exception.type == last.split(":")[0]
    assert exception.frames == (PythonFrame("a.py", 3, "f"),)


def test_a_notebook_names_the_exception_at_the_top_so_a_cut_traceback_still_has_its_type() -> None:
    exception = _one(
        "---------------------------------------------------------------------------\n"
        "InternalError                             Traceback (most recent call last)\n"
        "<ipython-input-5-0d1> in <module>\n"
        "----> 1 model.fit(x, y)\n"
    )
    assert (exception.type, exception.message) == ("InternalError", "")
    assert exception.frames == (PythonFrame("<ipython-input-5-0d1>", 1, "<module>"),)


def test_a_later_exception_does_not_get_the_frames_of_an_earlier_traceback() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "a.py", line 3, in f\n'
        "    next(empty)\n"
        "StopIteration\n"
        "retrying\n"
        "ValueError: bad\n"
    )
    assert _extract(text)[-1].frames == ()


@pytest.mark.parametrize(
    "line",
    [
        "Error: Command failed",
        "Exception: something",
        "error: no checkpoint below runs/",
        "npm ERR! Error: x",
        "  raise ValueError('bad')",
        "I caught a ValueError: it was bad",
        "ERROR: ValueError was raised",
        "CUDNN_STATUS_INTERNAL_ERROR",
        "An Error occurred: retry",
    ],
)
def test_a_line_that_only_mentions_an_error_is_no_exception(line: str) -> None:
    assert _extract(line) == ()


def test_a_syntax_error_has_no_traceback_of_its_own() -> None:
    exception = _one("  File \"a.py\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed\n")
    assert (exception.type, exception.message) == ("SyntaxError", "'(' was never closed")


# Messages


def test_a_message_goes_on_over_several_lines() -> None:
    exception = _one("Traceback (most recent call last):\nValueError: first\nsecond\n\nthird\n")
    assert exception.message == "first\nsecond\n\nthird"
    assert exception.gist == "first"


@pytest.mark.parametrize(
    "after",
    [
        "2026-11-16 02:13:38.753865: I tensorflow/core/a.cc:1] hello",
        "W0000 00:00:1794795102.620026    6034 local_rendezvous.cc:412] aborting",
        "W tensorflow/core/a.cc:1] hello",
        "Process finished with exit code 1",
        "Epoch 2/5",
        "$ python train.py",
        ">>> ",
        "Segmentation fault (core dumped)",
        "Fatal Python error: Aborted",
        "Traceback (most recent call last):",
        "Exception ignored in: <function A.__del__>",
        "\n\nsomething far below",
    ],
)
def test_a_message_ends_where_another_kind_of_line_starts(after: str) -> None:
    assert _extract(f"ValueError: bad\nstill bad\n{after}\n")[0].message == "bad\nstill bad"


def test_an_exception_without_a_message_has_an_empty_one() -> None:
    exception = _one('Traceback (most recent call last):\n  File "a.py", line 3, in f\n    assert x\nAssertionError\n')
    assert (exception.message, exception.gist) == ("", "")


def test_a_message_as_long_as_a_book_is_cut() -> None:
    exception = _one("ValueError: first\n" + "more\n" * 10_000)
    assert exception.message.startswith("first\nmore")
    assert len(exception.message) < 10_000


# The gist: the one sentence that matters

KERAS_3 = """\
Traceback (most recent call last):
  File "train.py", line 15, in <module>
    model(x)
  File "/venv/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py", line 122, in error_handler
    raise e.with_traceback(filtered_tb) from None
ValueError: Exception encountered when calling Conv2D.call().

Negative dimension size caused by subtracting 3 from 2 for '{{node Conv2D}}'.

Arguments received by Conv2D.call():
  • inputs=tf.Tensor(shape=(1, 2, 2, 3), dtype=float32)
  • training=False
"""


def test_keras_3_frames_its_message_and_lists_the_arguments() -> None:
    exception = _one(KERAS_3)
    assert exception.gist == "Negative dimension size caused by subtracting 3 from 2 for '{{node Conv2D}}'."
    assert exception.message.endswith("  • training=False")


@pytest.mark.parametrize(
    ("name", "gist"),
    [
        ("label_out_of_range-2.21.log", "Received a label value of 12 which is outside the valid range of [0, 10)."),
        ("label_out_of_range-2.15.log", "Received a label value of 12 which is outside the valid range of [0, 10)."),
        ("oom_in_fit_no_onednn-2.21.log", "OOM when allocating tensor with shape[8192,128,128,1024]"),
        ("oom_in_fit_no_onednn-2.15.log", "OOM when allocating tensor with shape[8192,128,128,1024]"),
        ("composed/gpu-oom-tf2.log", "OOM when allocating tensor with shape[256,64,256,256]"),
        ("composed/convolution-algorithm.log", "Failed to get convolution algorithm."),
    ],
)
def test_the_gist_of_a_graph_execution_error_is_what_went_wrong_in_the_graph(name: str, gist: str) -> None:
    exception = _of_log(name)
    assert gist in exception.gist
    assert "\n" not in exception.gist


@pytest.mark.parametrize(
    ("name", "gist"),
    [
        ("negative_dimension-2.21.log", "Computed output size would be zero or negative."),
        ("negative_dimension-2.15.log", "Negative dimension size caused by subtracting 3 from 2"),
        ("negative_dimension_graph-2.21.log", "Negative dimension size caused by subtracting 3 from 2"),
        ("conv_rank-2.21.log", "is incompatible with the layer: expected min_ndim=4, found ndim=3."),
        ("conv_rank-2.15.log", "is incompatible with the layer: expected min_ndim=4, found ndim=3."),
        ("conv_channels-2.21.log", "input depth must be evenly divisible by filter depth: 3 vs 5"),
        ("matmul_shapes-2.15.log", "Matrix size-incompatible: In[0]: [3,4], In[1]: [2,4]"),
        ("index_out_of_range-2.15.log", "indices[0,2] = 120 is not in [0, 100)"),
        ("plain_python_error-2.21.log", "'learning_rate'"),
        ("numpy_memory_error-2.21.log", "Unable to allocate 64.0 TiB for an array with shape (1048576, 1048576, 8)"),
    ],
)
def test_the_gist_of_real_exceptions_is_the_sentence_that_matters(name: str, gist: str) -> None:
    exception = _of_log(name)
    assert gist in exception.gist
    assert "\n" not in exception.gist


@pytest.mark.parametrize("version", ["2.15", "2.21"])
def test_the_private_exception_of_numpy_keeps_its_leading_underscore(version: str) -> None:
    assert _of_log(f"numpy_memory_error-{version}.log").short_type == "_ArrayMemoryError"


# Notebooks


def test_a_notebook_of_today_names_the_cell_and_the_files() -> None:
    exception = _one(
        "---------------------------------------------------------------------------\n"
        "ValueError                                Traceback (most recent call last)\n"
        "Cell In[5], line 3\n"
        "      1 model = build()\n"
        "----> 3 model.fit(x)\n"
        "\n"
        "File ~/venv/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py:122, in error_handler(*args)\n"
        "    119     filtered_tb = None\n"
        "--> 122     raise e.with_traceback(filtered_tb) from None\n"
        "\n"
        'ValueError: Input 0 of layer "dense" is incompatible with the layer\n'
    )
    assert (exception.type, exception.gist) == ("ValueError", 'Input 0 of layer "dense" is incompatible with the layer')
    assert [(frame.file.split("/")[-1], frame.line) for frame in exception.frames] == [
        ("traceback_utils.py", 122),
        ("Cell In[5]", 3),
    ]


def test_a_notebook_of_2020_names_the_input_and_the_files() -> None:
    exception = _one(
        "---------------------------------------------------------------------------\n"
        "InvalidArgumentError                      Traceback (most recent call last)\n"
        "<ipython-input-3-0c1a2b3c4d5e> in <module>\n"
        "      1 import x\n"
        "----> 2 model.fit(x)\n"
        "\n"
        "/usr/lib/python3/dist-packages/keras/training.py in fit(self, x)\n"
        "    100 before\n"
        "--> 101 step(x)\n"
        "\n"
        "InvalidArgumentError: Incompatible shapes: [2] vs. [3]\n"
    )
    assert (exception.type, exception.message) == ("InvalidArgumentError", "Incompatible shapes: [2] vs. [3]")
    assert [frame.file for frame in exception.frames] == [
        "/usr/lib/python3/dist-packages/keras/training.py",
        "<ipython-input-3-0c1a2b3c4d5e>",
    ]


def test_the_headline_of_a_notebook_is_not_a_second_exception() -> None:
    text = "ValueError                                Traceback (most recent call last)\nValueError: bad\n"
    assert len(_extract(text)) == 1


# Real logs


def test_the_frames_of_a_real_traceback_end_in_the_users_script() -> None:
    frames = _of_log("plain_python_error-2.21.log").frames
    assert [(frame.line, frame.function) for frame in frames] == [(16, "make_optimizer"), (19, "<module>")]
    assert {frame.file for frame in frames} == {"/home/user/project/fixtures/crashers/plain_python_error.py"}


@pytest.mark.parametrize("name", ["null_pointer-2.21.log", "killed-2.21.log", "healthy/fit-2.21.log"])
def test_a_log_without_an_exception_has_none(name: str) -> None:
    assert read(Source.of(LOGS / name), 0).exceptions == ()


def _errors(text: str) -> list[tuple[str, str, list[str]]]:
    found = tracebacks.extract(Log(0, text.split("\n")))
    return [(error.type, error.message, [frame.function for frame in error.frames]) for error in found]


def test_an_exception_group_with_its_members_inside() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/user/t.py", line 9, in <module>
  |     raise ExceptionGroup("many", errors)
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/user/t.py", line 3, in f
    |     raise ValueError("bad")
    | ValueError: bad
    +---------------- 2 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/home/user/t.py", line 5, in g
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | TypeError: worse
      +------------------------------------"""
    assert _errors(text) == [
        ("ExceptionGroup", "many (2 sub-exceptions)", ["<module>"]),
        ("ValueError", "bad", ["f"]),
        ("ExceptionGroup", "inner (1 sub-exception)", ["g"]),
        ("TypeError", "worse", []),
    ]


def test_rich_draws_a_box_around_it() -> None:
    text = """\
╭──────────────────── Traceback (most recent call last) ────────────────────╮
│ /home/user/train.py:12 in main                                            │
│                                                                           │
│   10 def f():                                                             │
│ ❱ 12 │   raise ValueError("x")                                            │
│ /home/user/lib.py:33 in load                                              │
│ ╭─ locals ─╮                                                              │
│ │ x = 1    │                                                              │
╰───────────────────────────────────────────────────────────────────────────╯
ValueError: x"""
    assert _errors(text) == [("ValueError", "x", ["load", "main"])]


def test_atheris_names_the_exception_above_its_frames() -> None:
    text = """\
 === Uncaught Python exception: ===
ValueError: bad header
Traceback (most recent call last):
  File "/home/user/fuzz.py", line 12, in TestOneInput
  File "/home/user/lib.py", line 3, in parse
INFO: Instrumenting 3 functions"""
    assert _errors(text) == [("ValueError", "bad header", ["parse", "TestOneInput"])]


@pytest.mark.parametrize("level", ["INFO", "ERROR", "WARNING", "DEBUG", "Error"])
def test_a_log_level_is_no_exception(level: str) -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n{level}: done'
    assert _errors(text) == []


def test_of_a_very_long_message_the_beginning_is_read() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: no session ' + "x" * 20000
    (error,) = _errors(text)
    assert error[0] == "ValueError"
    assert error[1].startswith("no session xxx")
    assert len(error[1]) < 9000


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "[ERROR] Runtime.ImportModuleError: Unable to import module 'app': No module named 'sklearn'",
            ("ModuleNotFoundError", "No module named 'sklearn'", []),
        ),
        (
            "Unable to import module 'src/handler': cannot import name 'keras'",
            ("ImportError", "cannot import name 'keras'", []),
        ),
        (
            """{"errorMessage": "Unable to import module 'app': libgomp.so.1: cannot open", "errorType": "x"}""",
            ("ImportError", "libgomp.so.1: cannot open", []),
        ),
    ],
)
def test_lambda_names_the_handler_and_not_the_class(line: str, error: tuple[str, str, list[str]]) -> None:
    assert _errors(line) == [error]


def test_the_next_section_of_pytest_is_not_part_of_the_message() -> None:
    text = """\
tests/test_a.py:15: in <module>
    import tensorflow as tf
E   ModuleNotFoundError: No module named 'tensorflow'
____________________ ERROR collecting tests/test_b.py _____________________
ImportError while importing test module 'tests/test_b.py'."""
    assert _errors(text) == [("ModuleNotFoundError", "No module named 'tensorflow'", [])]


HEADLESS = """\
version 2.5.0
  File "/home/user/venv/lib/python3.9/site-packages/tensorflow/python/framework/load_library.py", line 58, in load_op
    lib_handle = py_tf.TF_LoadLibrary(library_filename)
tensorflow.python.framework.errors_impl.NotFoundError: op.so: undefined symbol: f"""


def test_frames_right_above_a_last_line_are_its_stack_where_the_heading_was_cut() -> None:
    assert [frame.function for frame in _one(HEADLESS).frames] == ["load_op"]


@pytest.mark.parametrize("between", ["", "the rest of the log", "", "Epoch 2/5"])
def test_frames_without_a_heading_belong_to_nothing_further_below(between: str) -> None:
    lines = HEADLESS.split("\n")
    assert _one("\n".join([*lines[:3], between, lines[3]])).frames == ()


CUT = """\
Traceback (most recent call last):
  File "train.py", line 137, in <module>
    tf.app.run()
  File "/x/site-packages/tensorflow/python/platform/app.py", line 43, in run
    sys.exit(main(sys.argv[:1] + flags_passthrough))"""


def test_a_traceback_without_its_end_is_the_stack_of_a_thread_that_is_not_known_to_have_crashed() -> None:
    crash = read(Source.of(CUT.encode()), 0)
    assert crash.exceptions == ()
    (thread,) = crash.threads
    assert [frame.function for frame in thread.python_stack] == ["run", "<module>"]
    assert not thread.crashed
    assert thread.place is not None
    assert thread.place.line == 2


def test_of_a_traceback_without_heading_and_end_the_frames_are_left() -> None:
    (thread,) = tracebacks.cut_off(Log(0, CUT.split("\n")[1:3]))
    assert [frame.line for frame in thread.python_stack] == [137]


def test_a_stack_that_was_cut_off_does_not_stand_beside_a_whole_one() -> None:
    assert read(Source.of(f"{PLAIN}\n{CUT}".encode()), 0).threads == ()


@pytest.mark.parametrize("last", ["ModuleNotFoundError: No module named 'tensorflow.contrib'", "KeyError: 'x'"])
def test_frames_that_lost_their_indentation_and_the_name_of_the_module(last: str) -> None:
    text = f'Traceback (most recent call last):\nFile "train.py", line 48, in\nfrom tensorflow.contrib import x\n{last}'
    exception = _one(text)
    assert exception.frames == (PythonFrame("train.py", 48, "<module>"),)
    assert exception.type == last.split(":")[0]


def test_a_statement_that_lost_its_indentation_is_no_exception() -> None:
    frames = 'File "a.py", line 3, in f\nraise\nFile "a.py", line 9, in g\nh'
    text = f"Traceback (most recent call last):\n{frames}\nKeyError: 1"
    exception = _one(text)
    assert (exception.type, [frame.line for frame in exception.frames]) == ("KeyError", [9, 3])


def test_a_frame_that_a_narrow_console_broke_and_a_space_before_the_colon() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "C:\\Python36\\lib\\site-packages\\tensorflow\\python\\platform\\self_check.py",\n'
        " line 48, in preload_check\n"
        "ImportError : Could not find 'msvcp140.dll'"
    )
    exception = _one(text)
    assert (exception.type, exception.message) == ("ImportError", "Could not find 'msvcp140.dll'")
    assert [(frame.line, frame.function) for frame in exception.frames] == [(48, "preload_check")]


@pytest.mark.parametrize("words", ["Caused by op 'loss/sub', defined at:", "Original stack trace for 'loss/sub':"])
def test_where_an_operation_was_made_is_not_where_it_failed(words: str) -> None:
    made = f'{words}\n  File "train.py", line 152, in <module>\n    main()\n'
    last = "tensorflow.python.framework.errors_impl.InvalidArgumentError: Incompatible shapes: [4] vs. [5]"
    text = f'Traceback (most recent call last):\n  File "train.py", line 92, in train\n    run()\n{last}\n\n{made}'
    assert [frame.line for frame in _one(text).frames] == [92]
    assert tracebacks.cut_off(Log(0, made.split("\n"))) == ()


def test_the_frames_under_the_heading_of_another_exception_are_that_one_s() -> None:
    text = (
        "InvalidArgumentError                      Traceback (most recent call last)\n"
        "~/lib/python3.5/site-packages/tensorflow/python/errors_impl.py in __exit__(self, type_arg)\n"
        "--> 473             c_api.TF_GetCode(self.status.status))\n"
        "ValueError: Negative dimension size caused by subtracting 2 from 1"
    )
    exception = _one(text)
    assert (exception.type, exception.frames) == ("ValueError", ())
    (thread,) = tracebacks.cut_off(Log(0, text.split("\n")))
    assert [(frame.line, frame.function) for frame in thread.python_stack] == [(473, "__exit__")]


def test_a_text_that_is_indented_as_a_whole() -> None:
    assert _one("    ValueError: expected min_ndim=4, found ndim=3").message == "expected min_ndim=4, found ndim=3"
    assert [frame.line for frame in _one("\n".join(f"    {line}" for line in PLAIN.split("\n"))).frames] == [7, 9]
    assert _extract("text\n    ValueError: one line of a list") == ()
