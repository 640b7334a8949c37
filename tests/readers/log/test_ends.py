"""How processes ended: several runs in one log, faulthandler's dump, last words of the runtimes, kills for memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from conftest import LOGS

import triage
from triage import status
from triage.crash import Log, PythonFrame
from triage.readers import Source, read
from triage.readers.log.ends import FaultDump, fault_dump, oom_kills, runs, runtime_messages

# Several runs in one log

FIRST = ["$ python train.py", "Epoch 1/5", "free(): invalid pointer", "Aborted (core dumped)"]
SECOND = [
    "$ python train.py --batch 8",
    "Epoch 1/5",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "  what():  std::bad_alloc",
    "Aborted (core dumped)",
]


def test_the_last_run_that_failed_is_the_incident_and_the_others_are_listed_beside_it() -> None:
    report = triage.analyze("\n".join([*FIRST, *SECOND]).encode())
    assert report.diagnoses[0].cause == "host.out-of-memory"
    assert [(crash.cause, crash.place and crash.place.line) for crash in report.other_crashes] == [
        ("native.heap-corruption", 4)
    ]


def test_each_run_has_its_own_part_of_the_log_and_the_statuses_in_it() -> None:
    first, second = runs(Log(0, [*FIRST, *SECOND]))
    assert [status.place and status.place.line for status in first.exits] == [4]
    assert [status.place and status.place.line for status in second.exits] == [9]
    assert (first.log.text.split("\n"), second.log.text.split("\n")) == (FIRST, SECOND)


def test_a_new_process_that_shows_in_the_middle_of_a_line_starts_with_the_next_line() -> None:
    lines = ["Aborted (core dumped)", "I tensorflow/a.cc:1] oneDNN custom operations are on. exit code 3", "Killed"]
    first, second = runs(Log(0, lines))
    assert [status.name for status in first.exits] == ["SIGABRT", "exit 3"]
    assert [status.name for status in second.exits] == ["SIGKILL"]


def test_a_run_that_went_well_afterwards_does_not_hide_the_crash() -> None:
    report = triage.analyze("\n".join([*FIRST, "$ python train.py --cpu", "Epoch 1/5", "- loss: 0.3"]).encode())
    assert report.diagnoses[0].cause == "native.heap-corruption"


def test_faulthandler_and_the_shell_report_one_crash() -> None:
    text = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    text += '  File "train.py", line 3 in <module>\nSegmentation fault (core dumped)\n'
    crash = read(Source.of(text.encode()), 0)
    assert crash.others == ()
    assert len(crash.threads) == 1


def test_a_log_and_an_exit_code_of_one_crash_are_merged() -> None:
    report = triage.analyze(b"free(): invalid pointer\n", exit_code=134)
    assert report.crash.exit is not None
    assert report.crash.exit.signal == "SIGABRT"
    assert report.diagnoses[0].cause == "native.heap-corruption"
    assert report.other_crashes == ()


# faulthandler's dump

RUNS = yaml.safe_load((LOGS / "index.yaml").read_text("utf-8"))
# SIGKILL and Ctrl-C leave no dump, a full stack in a thread has no room for one, and one program sends it elsewhere.
WITHOUT_A_DUMP = ("killed", "ctrl_c", "recursion_c_in_thread", "stack_overflow_in_thread", "own_faulthandler_file")
CRASHED = [(run["file"], run["exit"]) for run in RUNS if run["exit"] < 0 and not run["file"].startswith(WITHOUT_A_DUMP)]


def _dump(text: str) -> FaultDump:
    return fault_dump(Log(0, text.split("\n")))


@pytest.mark.parametrize(("name", "returncode"), CRASHED)
def test_the_signal_of_every_real_crash_is_the_one_that_ended_the_process(name: str, returncode: int) -> None:
    dump = fault_dump(read(Source.of(LOGS / name), 0).logs[0])
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
    dump = _dump(f"Fatal Python error: {words}\n\nCurrent thread 0x01 (most recent call first):\n")
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
    dump = _dump(done.stderr)
    assert dump.exit is not None
    assert dump.exit.signal == name == status.from_code(done.returncode).signal
    (thread,) = dump.threads
    assert thread.crashed
    assert thread.python_stack == (PythonFrame("<string>", 4, "crash"), PythonFrame("<string>", 5, "<module>"))


def test_the_stack_of_the_crashed_thread_is_innermost_first_with_its_place() -> None:
    crash = read(Source.of(LOGS / "null_pointer-2.21.log"), 0)
    (thread,) = fault_dump(crash.logs[0]).threads
    assert thread.crashed
    assert [(frame.line, frame.function) for frame in thread.python_stack] == [(519, "string_at"), (15, "<module>")]
    assert thread.python_stack[1].file == "/home/user/project/fixtures/crashers/null_pointer.py"
    assert thread.place is not None
    assert crash.logs[0].text.split("\n")[thread.place.line - 1].startswith("Current thread 0x00007effbf425b80")


def test_every_thread_is_kept_and_the_current_one_is_the_crashed_one() -> None:
    threads = fault_dump(read(Source.of(LOGS / "null_pointer_in_worker-2.15.log"), 0).logs[0]).threads
    assert [(t.name, t.crashed, len(t.python_stack)) for t in threads] == [
        ("0x00007f75367fc6c0", False, 0),
        ("0x00007f7536ffd6c0", True, 4),
        ("0x00007f7568ea2b80", False, 4),
    ]


def test_a_crash_in_a_thread_without_python_frames_leaves_no_thread_marked() -> None:
    """faulthandler writes `Current thread` only for a thread that Python knows."""
    threads = fault_dump(read(Source.of(LOGS / "oom_in_fit-2.21.log"), 0).logs[0]).threads
    assert [thread.crashed for thread in threads] == [False]


def test_a_long_stack_ends_with_dots_and_keeps_what_was_printed() -> None:
    (thread,) = fault_dump(read(Source.of(LOGS / "recursion_c-2.21.log"), 0).logs[0]).threads
    assert len(thread.python_stack) == 100
    assert {frame.function for frame in thread.python_stack} == {"__repr__"}


def test_newer_pythons_name_the_thread() -> None:
    dump = _dump(
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
    dump = _dump('Current thread 0x01 (most recent call first):\n  File "train.py", line ??? in step\n')
    assert dump.threads[0].python_stack == (PythonFrame("train.py", None, "step"),)


def test_a_dump_that_was_asked_for_is_no_death() -> None:
    dump = _dump('Timeout (0:00:05)!\nThread 0x01 (most recent call first):\n  File "a.py", line 3 in wait\n')
    assert dump.exit is None
    assert [thread.crashed for thread in dump.threads] == [False]


def test_the_stack_ends_where_something_else_is_printed() -> None:
    dump = _dump(
        "Fatal Python error: Aborted\n\n"
        "Current thread 0x01 (most recent call first):\n"
        '  File "a.py", line 3 in f\n'
        "Extension modules: numpy\n"
        '  File "elsewhere.py", line 4 in g\n'
    )
    assert dump.threads[0].python_stack == (PythonFrame("a.py", 3, "f"),)


@pytest.mark.parametrize("text", ["", "Epoch 1/5", "A Fatal error in Python", "Segmentation fault (core dumped)"])
def test_a_log_without_a_dump_has_none(text: str) -> None:
    assert _dump(text) == FaultDump(None, ())


def test_a_fatal_error_that_is_no_signal_names_none() -> None:
    assert _dump("Fatal Python error: init_fs_encoding: failed to get the Python codec").exit is None


# Last words of the C and C++ runtimes

HEAP = [
    "free(): invalid pointer",
    "free(): double free detected in tcache 2",
    "free(): invalid next size (fast)",
    "malloc(): corrupted top size",
    "malloc(): unaligned tcache chunk detected",
    "malloc(): memory corruption",
    "realloc(): invalid next size",
    "munmap_chunk(): invalid pointer",
    "malloc_consolidate(): invalid chunk size",
    "double free or corruption (out)",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "invalid fastbin entry (free)",
]
TERMINATE = [
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "terminate called without an active exception",
    "terminate called recursively",
    "libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc",
    "libc++abi.dylib: terminating with uncaught exception of type std::runtime_error: boom",
    "Fatal Python error: GC object already tracked",
    "Fatal Python error: PyThreadState_Get: the function must be called with the GIL held",
    "+[NSNumber initialize] may have been in progress in another thread when fork() was called. We cannot safely call "
    "it or ignore it in the fork() child process. Crashing instead.",
]
ASSERTION = [
    "Assertion `n > 0' failed.",
    "Assertion failed: (n > 0), function run, file kernel.cc, line 12.",
]
MESSAGES = [
    *[("heap", text) for text in HEAP],
    *[("terminate", text) for text in TERMINATE],
    *[("assertion", text) for text in ASSERTION],
]


@pytest.mark.parametrize(("kind", "text"), MESSAGES)
def test_each_runtime_has_its_own_words_for_giving_up(kind: str, text: str) -> None:
    seen = runtime_messages(Log(0, ["Epoch 1/5", text, "Aborted (core dumped)"]))
    assert [(message.kind, message.text, message.place.line) for message in seen] == [(kind, text, 2)]


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        (
            "*** Error in `python': free(): invalid pointer: 0x00007f0a5c2b2000 ***",
            "heap",
            "free(): invalid pointer: 0x00007f0a5c2b2000 ***",
        ),
        (
            "*** Error in `python3': double free or corruption (!prev): 0x0000000001a2b3c0 ***",
            "heap",
            "double free or corruption (!prev): 0x0000000001a2b3c0 ***",
        ),
        ("python: ../src/kernel.c:12: run: Assertion `n > 0' failed.", "assertion", "Assertion `n > 0' failed."),
        (
            "python3: malloc.c:2617: sysmalloc: Assertion `(old_top == initial_top (av) && old_size == 0)' failed.",
            "assertion",
            "Assertion `(old_top == initial_top (av) && old_size == 0)' failed.",
        ),
    ],
)
def test_what_comes_before_the_message_is_left_out(line: str, kind: str, text: str) -> None:
    assert [(message.kind, message.text) for message in runtime_messages(Log(0, [line]))] == [(kind, text)]


@pytest.mark.parametrize(
    "line",
    [
        "AssertionError: shapes differ",
        "Traceback: assertion failed somewhere",
        "model.free(): Gives the memory back",
        "the process was terminated",
        "a corrupted JPEG was skipped",
        "malloc() is slow",
    ],
)
def test_a_line_that_only_contains_the_word_is_no_message(line: str) -> None:
    assert runtime_messages(Log(0, [line])) == []


@pytest.mark.parametrize("signal", ["Segmentation fault", "Aborted", "Floating-point exception"])
def test_a_signal_that_python_names_is_its_status_and_no_message(signal: str) -> None:
    assert runtime_messages(Log(0, [f"Fatal Python error: {signal}"])) == []


def test_messages_of_all_kinds_come_in_the_order_of_the_text() -> None:
    lines = ["terminate called recursively", "free(): invalid pointer", "Assertion `a' failed.", "free(): invalid size"]
    log = Log(0, lines)
    seen = runtime_messages(log)
    assert [message.kind for message in seen] == ["terminate", "heap", "assertion", "heap"]
    assert all(log.text.startswith(message.text, message.offset) for message in seen)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("heap_corruption-2.21.log", "heap", "free(): invalid pointer"),
        ("heap_corruption-2.15.log", "heap", "free(): invalid pointer"),
        ("bad_alloc-2.21.log", "terminate", "terminate called after throwing an instance of 'std::bad_alloc'"),
    ],
)
def test_the_last_words_of_real_crashes(name: str, kind: str, text: str) -> None:
    seen = read(Source.of(LOGS / name), 0).messages
    assert [(message.kind, message.text) for message in seen] == [(kind, text)]


# Kills for memory

KERNEL_LOG_OF_ONE_KILL = [
    "[1.2] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "[1.3] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=python,pid=4711,uid=0",
    "[1.4] Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB, UID:0",
]


def _kills(*lines: str) -> int | None:
    return oom_kills(Log(0, lines))


@pytest.mark.parametrize(
    "line",
    [
        *KERNEL_LOG_OF_ONE_KILL,
        "Out of memory: Killed process 4711 (python) total-vm:26214400kB, anon-rss:23592960kB",
        "Out of memory: Kill process 4711 (python) score 912 or sacrifice child",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1422.batch cgroup.",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1422.0.",
        "      Reason:       OOMKilled",
        "        reason: OOMKilled",
    ],
    ids=[
        "kernel",
        "kernel 2",
        "kernel 3",
        "host",
        "old",
        "slurm",
        "slurm 2",
        "kubectl describe",
        "kubectl yaml",
    ],
)
def test_each_record_of_a_kill_counts(line: str) -> None:
    assert _kills("Epoch 1/5", line) == 1


def test_what_the_kernel_writes_about_one_kill_is_one_kill() -> None:
    assert _kills(*KERNEL_LOG_OF_ONE_KILL) == 1


def test_two_kills_are_two() -> None:
    kill = "Out of memory: Killed process {} (python) total-vm:1kB"
    assert _kills(kill.format(4711), "restarted", kill.format(4712)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "(1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
        '            "OOMKilled": false,',
        '            "OomKillDisable": false,',
        "Lower oom_score_adj to keep the oom-killer away",
        "ran out of memory trying to allocate 4.00GiB",
        "room for improvement, zoom in",
    ],
)
def test_what_might_have_happened_is_no_kill(line: str) -> None:
    assert _kills(line) is None


@pytest.mark.parametrize("name", ["oom-killed-kubernetes.log", "oom-killed-slurm.log"])
def test_the_kill_in_a_whole_log_is_found(name: str) -> None:
    assert read(Source.of(LOGS / "composed" / name), 0).memory.oom_kills == 1


def test_a_log_without_a_kill_leaves_their_number_unknown() -> None:
    assert _kills("Epoch 1/5") is None
