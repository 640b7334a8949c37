"""What TensorFlow prints itself: log lines of every generation, stacks of failed CHECKs, the allocator's limit."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Log, LogRecord, Memory
from triage.frames import name_of
from triage.readers import Source, read
from triage.readers.log import tensorflow_log
from triage.readers.log.tensorflow_log import allocator_limit, check_stacks, records


def _one(line: str) -> LogRecord:
    found = records(Log(0, [line]))
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("line", "severity", "file", "message"),
    [
        # 1.x before 1.5
        (
            "W tensorflow/core/platform/cpu_feature_guard.cc:178] The TensorFlow library was not compiled to use SSE",
            "W",
            "tensorflow/core/platform/cpu_feature_guard.cc",
            "The TensorFlow library was not compiled to use SSE",
        ),
        (
            "E tensorflow/stream_executor/cuda/cuda_driver.cc:509] failed call to cuInit: CUDA_ERROR_NO_DEVICE",
            "E",
            "tensorflow/stream_executor/cuda/cuda_driver.cc",
            "failed call to cuInit: CUDA_ERROR_NO_DEVICE",
        ),
        (
            r"W c:\tf_jenkins\workspace\windows\tensorflow\core\platform\cpu_feature_guard.cc:45] No SSE",
            "W",
            r"c:\tf_jenkins\workspace\windows\tensorflow\core\platform\cpu_feature_guard.cc",
            "No SSE",
        ),
        # 1.5 to 2.20
        (
            "2020-01-01 00:00:00.000000: F tensorflow/core/util/cuda_solvers.cc:111] Check failed: a == b (7 vs. 0)",
            "F",
            "tensorflow/core/util/cuda_solvers.cc",
            "Check failed: a == b (7 vs. 0)",
        ),
        (
            "2020-01-01 00:00:00.000000: F ./tensorflow/core/util/gpu_launch_config.h:129] Check failed: work > 0",
            "F",
            "./tensorflow/core/util/gpu_launch_config.h",
            "Check failed: work > 0",
        ),
        (
            r"2020-01-01 00:00:00.000000: F .\tensorflow/core/util/gpu_launch_config.h:129] Check failed: work > 0",
            "F",
            r".\tensorflow/core/util/gpu_launch_config.h",
            "Check failed: work > 0",
        ),
        (
            "2023-10-01 00:00:00.000000: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable",
            "E",
            "external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc",
            "Unable",
        ),
        # absl, 2.21
        (
            "F0000 00:00:1794795148.35 6440 png_io.cc:357] 'image' Must be non NULL",
            "F",
            "png_io.cc",
            "'image' Must be non NULL",
        ),
        (
            "W0000 00:00:1794795102.620026    6034 local_rendezvous.cc:412] Local rendezvous is aborting",
            "W",
            "local_rendezvous.cc",
            "Local rendezvous is aborting",
        ),
    ],
)
def test_each_generation_has_its_own_form(line: str, severity: str, file: str, message: str) -> None:
    record = _one(line)
    assert (record.severity, record.file, record.message) == (severity, file, message)


@pytest.mark.parametrize(
    "prefix",
    [
        "trainer_1  | ",
        "[1,0]<stderr>:",
        "(pid=4711) ",
        "(train_fn pid=4711, ip=10.0.0.1) ",
        "Nov 16 02:13:38 host python[4711]: ",
        "2026-11-16T02:13:38.1234567Z ",
    ],
    ids=["docker compose", "mpirun", "ray", "ray 2", "journal", "github actions"],
)
def test_what_a_launcher_puts_before_the_line_does_not_hide_it(prefix: str) -> None:
    record = _one(prefix + "2020-01-01 00:00:00.000000: F tensorflow/core/lib/png/png_io.cc:349] boom")
    assert (record.severity, record.message) == ("F", "boom")


@pytest.mark.parametrize(
    "line",
    [
        # Caffe and Caffe2 log with glog, too
        "F0716 10:21:44.123456  4711 math_functions.cu:79] Check failed: error == cudaSuccess (77 vs. 0)",
        "F0716 10:21:44.123456  4711 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0) out of memory",
        "F0716 10:21:44.123456  4711 syncedmem.hpp:31] Check failed",
        "F tensorflow/core/platform.py:12] not C++",
        "WARNING:tensorflow:From train.py:12: The name tf.Session is deprecated.",
        "[2020-01-01 00:00:00,000] ERROR in app: boom",
        "W 12:30 tensorflow.cc",
        "XF0000 00:00:1794795148.35 6440 png_io.cc:357] glued to a word",
    ],
)
def test_a_line_of_another_framework_is_not_tensorflows(line: str) -> None:
    assert records(Log(0, [line, "] .cc: so that the log is looked at"])) == ()


def test_information_is_left_out() -> None:
    lines = [
        "I tensorflow/core/common_runtime/gpu/gpu_init.cc:102] Found device 0",
        "2020-01-01 00:00:00.000000: I tensorflow/core/platform/cpu_feature_guard.cc:142] hello",
        "I0000 00:00:1794795113.424176    6164 port.cc:153] oneDNN custom operations are on.",
    ]
    assert records(Log(0, lines)) == ()


def test_a_record_knows_its_line_and_where_its_message_starts() -> None:
    log = Log(3, ["Epoch 1/5", "W tensorflow/core/a.cc:1] first", "", "E tensorflow/core/b.cc:2] second"])
    found = records(log)
    assert [(record.place.input, record.place.line) for record in found] == [(3, 2), (3, 4)]
    assert all(log.text.startswith(record.message, record.offset) for record in found)


def test_a_message_ends_with_its_line_and_may_be_empty() -> None:
    found = records(Log(0, ["E tensorflow/core/a.cc:1]", "E tensorflow/core/b.cc:2] ", "next"]))
    assert [record.message for record in found] == ["", ""]


def test_a_flood_of_warnings_keeps_its_beginning_and_its_end() -> None:
    count = 3 * tensorflow_log._MOST
    found = records(Log(0, [f"W tensorflow/core/a.cc:1] warning {number}" for number in range(count)]))
    assert len(found) == 2 * tensorflow_log._MOST
    assert (found[0].message, found[-1].message) == ("warning 0", f"warning {count - 1}")


def test_the_fatal_line_at_the_end_survives_a_flood_of_warnings() -> None:
    """What killed the process is the last thing it said."""
    lines = [f"W tensorflow/core/a.cc:1] warning {number}" for number in range(tensorflow_log._MOST + 10)]
    found = records(Log(0, [*lines, "F tensorflow/core/b.cc:2] Check failed: true"]))
    assert found[-1].severity == "F"


@pytest.mark.parametrize(
    ("name", "severity", "file", "message"),
    [
        ("encode_png-2.21.log", "F", "png_io.cc", "'image' Must be non NULL"),
        ("encode_png-2.15.log", "F", "tensorflow/core/lib/png/png_io.cc", "'image' Must be non NULL"),
        ("check_failed-2.15.log", "F", "tensorflow/core/framework/tensor_shape.cc", "Check failed: d >= 0 (0 vs. -1)"),
        ("tfdata-2.21.log", "W", "cache_dataset_ops.cc", "The calling iterator did not fully read the dataset"),
    ],
)
def test_the_records_of_real_runs(name: str, severity: str, file: str, message: str) -> None:
    found = read(Source.of(next(LOGS.rglob(name))), 0).records
    assert [(record.severity, record.file) for record in found] == [(severity, file)]
    assert found[0].message.startswith(message)


# The stack below a failed CHECK


def test_the_real_trace_of_a_failed_check_is_one_crashed_thread_innermost_first() -> None:
    log = read(Source.of(LOGS / "encode_png-2.21.log"), 0).logs[0]
    (thread,) = check_stacks(log)
    names = [name_of(frame) for frame in thread.native_stack]
    assert thread.crashed
    assert names[:3] == [
        "absl::lts_20250814::log_internal::LogMessage::SendToLog",
        "absl::lts_20250814::log_internal::LogMessage::Flush",
        "tensorflow::png::WriteImageToBuffer",
    ]
    assert names[-1] == "cfunction_call"
    assert len(names) == 26
    assert {frame.trust for frame in thread.native_stack} == {"reported"}


def test_the_place_of_a_trace_is_that_of_its_first_frame() -> None:
    log = read(Source.of(LOGS / "encode_png-2.21.log"), 0).logs[0]
    (thread,) = check_stacks(log)
    assert thread.place is not None
    assert log.text.split("\n")[thread.place.line - 2] == "*** Check failure stack trace: ***"


@pytest.mark.parametrize("name", ["encode_png-2.15.log", "null_pointer-2.21.log", "conv_channels-2.21.log"])
def test_a_log_without_a_trace_has_none(name: str) -> None:
    assert check_stacks(read(Source.of(LOGS / name), 0).logs[0]) == ()


def test_two_traces_are_two_threads() -> None:
    log = Log(0, ["    @     0x7f01  first()", "    @     0x7f02  second()", "", "*** again ***", "@ 0x7f03 third()"])
    assert [[name_of(frame) for frame in thread.native_stack] for thread in check_stacks(log)] == [
        ["first", "second"],
        ["third"],
    ]


def test_a_frame_without_a_symbol_stays_in_its_place() -> None:
    (thread,) = check_stacks(Log(0, ["    @     0x7f01  (unknown)", "    @     0x7f02  tensorflow::Run()"]))
    assert [frame.function for frame in thread.native_stack] == [None, "tensorflow::Run()"]


@pytest.mark.parametrize(
    "line",
    ["user@ 0x7f01 host", "mail me @ home", "    @property", "    @ tf.function", "    @     0x7f01", "@ 0xZZ f()"],
)
def test_a_line_with_an_at_sign_is_not_yet_a_frame(line: str) -> None:
    assert check_stacks(Log(0, [line])) == ()


# The allocator's limit


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("Limit:                      6272581632", 6272581632),
        ("Limit:                        23.54GiB", int(23.54 * 1024**3)),
        ("Limit:                       512.00MiB", 512 * 1024**2),
        ("Limit:                         1.50KiB", 1536),
        ("Limit:                             100B", 100),
    ],
)
def test_the_limit_of_the_allocator_is_read_in_bytes_and_with_units(line: str, size: int) -> None:
    memory = allocator_limit(Log(0, ["Stats:", line, "InUse:  1"]))
    assert (memory.limit_bytes, memory.limit_source) == (size, "allocator")


@pytest.mark.parametrize("name", ["oom_in_fit-2.21.log", "oom_in_fit-2.15.log"])
def test_both_generations_of_tensorflow_print_the_same_limit_on_the_same_machine(name: str) -> None:
    memory = read(Source.of(LOGS / name), 0).memory
    assert memory.limit_bytes is not None
    assert memory.limit_bytes / 1024**3 == pytest.approx(23.54, abs=0.01)


def test_a_limit_of_something_else_is_not_the_allocators() -> None:
    assert allocator_limit(Log(0, ["Rate Limit: 100 per hour", "Limit: none", "MemLimit: 100"])) == Memory()


def test_a_log_without_a_summary_leaves_the_limit_unknown() -> None:
    assert allocator_limit(Log(0, ["Epoch 1/5"])) == Memory()


def test_a_last_line_that_breaks_off_in_the_name_of_the_file_is_still_a_fatal_one() -> None:
    cut = "2018-02-24 03:21:17.402530: F C:\\tf_jenki"
    (record,) = records(Log(0, ["before", cut, ""]))
    assert (record.severity, record.place.line) == ("F", 2)
    assert records(Log(0, [cut, "behind"])) == ()
    assert records(Log(0, [cut.replace(": F ", ": W ")])) == ()
