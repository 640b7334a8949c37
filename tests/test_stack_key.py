"""The stack key: what two crashes of the same kind share, and never empty when there is a stack."""

from __future__ import annotations

import pytest
from building import crash_of, crashed_thread

from triage.crash import NativeFrame, PythonException, PythonFrame, Thread
from triage.frames import stack_key


def native_key(*functions: str) -> str:
    return stack_key(crash_of(threads=(crashed_thread(native=functions),)))


def test_the_key_is_the_innermost_three_frames() -> None:
    assert native_key("f", "g", "h", "main") == "f < g < h"


def test_native_frames_come_before_python_frames() -> None:
    thread = crashed_thread(native=("f",), python=("train.py:main",))
    assert stack_key(crash_of(threads=(thread,))) == "f"


def test_python_frames_are_named_by_file_and_function_without_their_folder() -> None:
    thread = crashed_thread(python=("/home/anna/train.py:step", "C:\\work\\main.py:main"))
    assert stack_key(crash_of(threads=(thread,))) == "train.py:step < main.py:main"


def test_the_key_holds_no_line_numbers() -> None:
    def at(line: int) -> str:
        return stack_key(crash_of(threads=(Thread(crashed=True, python_stack=(PythonFrame("a.py", line, "f"),)),)))

    assert at(1) == at(200) == "a.py:f"


def test_arguments_and_template_arguments_are_left_out() -> None:
    name = "tensorflow::(anonymous namespace)::Conv<float, Eigen::Tensor<int, 2>>::Run(OpKernelContext*, int)"
    assert native_key(name) == "tensorflow::{anonymous}::Conv::Run"


def test_a_frame_without_symbol_is_named_by_its_module() -> None:
    frames = (NativeFrame("/usr/lib/libcudnn.so.8", None, 0x1F), NativeFrame("C:\\cuda\\cublas64_11.dll", None))
    thread = Thread(crashed=True, native_stack=frames)
    assert stack_key(crash_of(threads=(thread,))) == "libcudnn.so.8+0x1f < cublas64_11.dll"


@pytest.mark.parametrize(
    "machinery",
    [
        "raise",
        "gsignal",
        "abort",
        "__GI_raise",
        "__GI_abort",
        "__pthread_kill_implementation",
        "__pthread_kill_internal",
        "__libc_message",
        "malloc_printerr",
        "std::terminate()",
        "__gnu_cxx::__verbose_terminate_handler()",
        "__cxxabiv1::__terminate(void (*)())",
        "__restore_rt",
        "KiUserExceptionDispatcher",
        "tsl::internal::LogMessageFatal::~LogMessageFatal()",
        "absl::lts_20230802::log_internal::LogMessageFatal::~LogMessageFatal()",
        "faulthandler_fatal_error",
    ],
)
def test_frames_that_only_report_the_crash_are_skipped(machinery: str) -> None:
    assert native_key(machinery, "tensorflow::ConvOp::Compute") == "tensorflow::ConvOp::Compute"


@pytest.mark.parametrize("own", ["abort_if_negative", "kill_zombies"])
def test_a_function_that_only_begins_like_one_of_those_is_kept(own: str) -> None:
    assert native_key("abort", own, "main") == f"{own} < main"


def test_a_stack_of_such_frames_only_is_better_than_nothing() -> None:
    assert native_key("raise", "abort") == "raise < abort"


def test_the_crashed_thread_speaks_before_the_others() -> None:
    idle, crashed = crashed_thread(native=("wait",), crashed=False), crashed_thread(python=("train.py:main",))
    assert stack_key(crash_of(threads=(idle, crashed))) == "train.py:main"


def test_without_threads_the_last_exception_speaks() -> None:
    first, last = (
        PythonException("ValueError", "no", frames=(PythonFrame(f"{name}.py", 1, "f"),)) for name in ("first", "last")
    )
    bare = PythonException("KeyError", "pasted without frames")
    assert stack_key(crash_of("x", exceptions=(first, last, bare))) == "last.py:f"


def test_without_any_stack_the_key_is_empty() -> None:
    assert stack_key(crash_of("x", exit="139")) == ""
