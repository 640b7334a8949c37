"""faulthandler's dump: the signal, the threads and which of them crashed."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from conftest import LOGS

from triage import status
from triage.crash import Log, PythonFrame
from triage.readers import Source, read
from triage.readers.log.fault_dumps import FaultDump, extract

RUNS = yaml.safe_load((LOGS / "index.yaml").read_text("utf-8"))
# SIGKILL and Ctrl-C leave no dump, a full stack in a thread has no room for one, and one program sends it elsewhere.
WITHOUT_A_DUMP = ("killed", "ctrl_c", "recursion_c_in_thread", "stack_overflow_in_thread", "own_faulthandler_file")
CRASHED = [(run["file"], run["exit"]) for run in RUNS if run["exit"] < 0 and not run["file"].startswith(WITHOUT_A_DUMP)]


def _extract(text: str) -> FaultDump:
    return extract(Log(0, text.split("\n")))


@pytest.mark.parametrize(("name", "returncode"), CRASHED)
def test_the_signal_of_every_real_crash_is_the_one_that_ended_the_process(name: str, returncode: int) -> None:
    dump = extract(read(Source.of(LOGS / name), 0).logs[0])
    assert dump.exit is not None
    assert dump.exit.signal == status.from_code(returncode).signal


@pytest.mark.parametrize(
    ("words", "signal"),
    [
        ("Segmentation fault", "SIGSEGV"),
        ("Aborted", "SIGABRT"),
        ("Bus error", "SIGBUS"),
        ("Illegal instruction", "SIGILL"),
        ("Floating point exception", "SIGFPE"),
        # Python 3.13 and newer
        ("Floating-point exception", "SIGFPE"),
    ],
)
def test_every_signal_that_faulthandler_knows(words: str, signal: str) -> None:
    dump = _extract(f"Fatal Python error: {words}\n\nCurrent thread 0x01 (most recent call first):\n")
    assert dump.exit is not None
    assert dump.exit.signal == signal


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS"])
def test_what_this_python_itself_writes_is_understood(name: str) -> None:
    program = (
        "import faulthandler, os, signal\n"
        "faulthandler.enable()\n"
        "def crash():\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "crash()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    dump = _extract(done.stderr)
    assert dump.exit is not None
    assert dump.exit.signal == name == status.from_code(done.returncode).signal
    (thread,) = dump.threads
    assert thread.crashed
    assert thread.python_stack == (PythonFrame("<string>", 4, "crash"), PythonFrame("<string>", 5, "<module>"))


def test_the_stack_of_the_crashed_thread_is_innermost_first_with_its_place() -> None:
    crash = read(Source.of(LOGS / "null_pointer-2.21.log"), 0)
    (thread,) = extract(crash.logs[0]).threads
    assert thread.crashed
    assert [(frame.line, frame.function) for frame in thread.python_stack] == [(519, "string_at"), (15, "<module>")]
    assert thread.python_stack[1].file == "/home/user/project/fixtures/crashers/null_pointer.py"
    assert thread.place is not None
    assert crash.logs[0].text.split("\n")[thread.place.line - 1].startswith("Current thread 0x00007effbf425b80")


def test_every_thread_is_kept_and_the_current_one_is_the_crashed_one() -> None:
    threads = extract(read(Source.of(LOGS / "null_pointer_in_worker-2.15.log"), 0).logs[0]).threads
    assert [(t.name, t.crashed, len(t.python_stack)) for t in threads] == [
        ("0x00007f75367fc6c0", False, 0),
        ("0x00007f7536ffd6c0", True, 4),
        ("0x00007f7568ea2b80", False, 4),
    ]


def test_a_crash_in_a_thread_without_python_frames_leaves_no_thread_marked() -> None:
    """faulthandler writes `Current thread` only for a thread that Python knows."""
    threads = extract(read(Source.of(LOGS / "oom_in_fit-2.21.log"), 0).logs[0]).threads
    assert [thread.crashed for thread in threads] == [False]


def test_a_long_stack_ends_with_dots_and_keeps_what_was_printed() -> None:
    (thread,) = extract(read(Source.of(LOGS / "recursion_c-2.21.log"), 0).logs[0]).threads
    assert len(thread.python_stack) == 100
    assert {frame.function for frame in thread.python_stack} == {"__repr__"}


def test_newer_pythons_name_the_thread() -> None:
    dump = _extract(
        "Fatal Python error: Segmentation fault\n\n"
        "Thread 0x00007f75367fc6c0 [data-loader] (most recent call first):\n"
        '  File "/usr/lib/python3.14/threading.py", line 359 in wait\n\n'
        "Current thread 0x00007f7536ffd6c0 [python] (most recent call first):\n"
        "  Garbage-collecting\n"
        '  File "train.py", line 6 in <module>\n\n'
        "Current thread's C stack trace (most recent call first):\n"
        '  Binary file "/usr/lib/libpython3.14.so.1.0", at _Py_DumpStack+0x31 [0x7f75368a1b2c]\n'
    )
    assert [(thread.name, thread.crashed) for thread in dump.threads] == [("data-loader", False), ("python", True)]
    assert dump.threads[1].python_stack == (PythonFrame("train.py", 6, "<module>"),)


def test_a_frame_without_a_line_number_is_kept() -> None:
    dump = _extract('Current thread 0x01 (most recent call first):\n  File "train.py", line ??? in step\n')
    assert dump.threads[0].python_stack == (PythonFrame("train.py", None, "step"),)


def test_a_dump_that_was_asked_for_is_no_death() -> None:
    dump = _extract('Timeout (0:00:05)!\nThread 0x01 (most recent call first):\n  File "a.py", line 3 in wait\n')
    assert dump.exit is None
    assert [thread.crashed for thread in dump.threads] == [False]


def test_the_stack_ends_where_something_else_speaks() -> None:
    dump = _extract(
        "Fatal Python error: Aborted\n\n"
        "Current thread 0x01 (most recent call first):\n"
        '  File "a.py", line 3 in f\n'
        "Extension modules: numpy\n"
        '  File "elsewhere.py", line 4 in g\n'
    )
    assert dump.threads[0].python_stack == (PythonFrame("a.py", 3, "f"),)


@pytest.mark.parametrize("text", ["", "Epoch 1/5", "A Fatal error in Python", "Segmentation fault (core dumped)"])
def test_a_log_without_a_dump_has_none(text: str) -> None:
    assert _extract(text) == FaultDump(None, ())


def test_a_fatal_error_that_is_no_signal_names_none() -> None:
    assert _extract("Fatal Python error: init_fs_encoding: failed to get the Python codec").exit is None
