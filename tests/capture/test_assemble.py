"""What a run left behind becomes one Crash, on every system."""

from __future__ import annotations

from triage.capture.assemble import (
    Member,
    Remains,
    Text,
    _joined,
    crash_of,
    environment_of_run,
    hidden_log,
    part_of_crash,
    read_text,
)
from triage.capture.command import Program
from triage.capture.hook_files import Note
from triage.crash import Environment, ExitStatus, Library, Memory, NativeFrame, Process, PythonFrame, Thread


def test_what_only_the_output_reports_of_the_machine_is_kept_beside_what_was_measured() -> None:
    measured = Environment(os="linux", packages=(("numpy", "2.0"),), gpus=("NVIDIA Tesla T4",))
    reported = Environment(
        os="windows", packages=(("numpy", "1.0"),), gpus=("Tesla T4",), driver="535.1", capability="7.5"
    )
    both = environment_of_run(measured, reported)
    assert (both.driver, both.capability) == ("535.1", "7.5")
    assert (both.os, both.package("numpy"), both.gpus) == ("linux", "2.0", ("NVIDIA Tesla T4",))


def test_a_log_is_not_hidden_where_tensorflow_was_never_loaded() -> None:
    note = Note(log_level="3", log_level_set_by="script")
    assert hidden_log(note, ()) == hidden_log(note, [Library("libtensorflow_cc.so.2")]) is not None
    assert hidden_log(note, [Library("libc.so.6")]) is None


def test_what_cannot_be_read_is_a_gap_with_its_name() -> None:
    (gap,) = read_text(Text("output", b"\x89PNG\r\n\x1a\n" + bytes(64)), 3).gaps
    assert (gap.what, gap.why, gap.subject) == ("input", "unreadable", "output")


SEGFAULT = ExitStatus(139, "SIGSEGV", 11, name="SIGSEGV", kind="signal")
PROGRAM = Program(("train",), None, "train.py")
DUMP = b"""Fatal Python error: Segmentation fault

Current thread 0x00007f0000000740 (most recent call first):
  File "train.py", line 5 in step
"""


def test_a_fault_dump_is_the_stack_of_its_process_and_its_lines_stay_to_be_found() -> None:
    main = Member(Process(7, exit=ExitStatus(1, kind="exit")), Note(hooked=True))
    worker = Member(Process(8, command="python", exit=SEGFAULT), Note(hooked=True), DUMP)
    crash = crash_of(PROGRAM, Remains((main, worker), crashed=(8,), texts=(Text("stderr", b"epoch 1\n"),)))
    assert [process.role for process in crash.processes] == ["main", "worker"]
    assert crash.processes[crash.primary].pid == 8
    (thread,) = crash.threads
    assert (thread.python_stack[0].function, thread.place) == ("step", (1, 3))
    assert [source.name for source in crash.inputs] == ["stderr", "faulthandler of 8"]
    assert "Fatal Python error: Segmentation fault" in crash.logs[1].text


def test_what_nothing_measured_is_what_the_output_reports() -> None:
    main = Member(Process(7, exit=SEGFAULT), memory=Memory(limit_bytes=100, limit_source="RLIMIT_AS"))
    text = Text("stderr", b"[1.0] Out of memory: Killed process 7\n")
    memory = crash_of(PROGRAM, Remains((main,), texts=(text,))).memory
    assert (memory.limit_bytes, memory.limit_source, memory.oom_kills) == (100, "RLIMIT_AS", 1)


def test_a_dumps_threads_and_faulthandlers_are_joined_by_their_numbers() -> None:
    native = (Thread(id=0x24, native_stack=(NativeFrame("a.dll", None, 1, "cfi"),)), Thread(id=0x30))
    frames = (PythonFrame("train.py", 5, "step"),)
    python = (Thread("0x00000024", python_stack=frames), Thread("0x00000099", python_stack=frames))
    one, other, alone = _joined(native, python)
    assert (one.native_stack, one.python_stack) == (native[0].native_stack, frames)
    assert other.python_stack == ()
    assert alone.name == "0x00000099", "a thread that the dump does not have is not lost"


def test_elsewhere_only_the_crashed_thread_is_paired_because_the_numbers_are_pthreads() -> None:
    native = (Thread("main", crashed=True, id=4711), Thread("worker", id=4712))
    frames = (PythonFrame("train.py", 5, "step"),)
    python = (
        Thread("0x00007f0000000740", crashed=True, python_stack=frames),
        Thread("0x00007f0000000741", python_stack=frames),
    )
    assert [thread.python_stack for thread in _joined(native, python)] == [frames, ()]


def test_lines_that_a_collector_lacks_are_those_of_faulthandler() -> None:
    native = (Thread(crashed=True, python_stack=(PythonFrame("train.py", None, "step"),)),)
    python = (Thread("0x00007f0000000740", crashed=True, python_stack=(PythonFrame("train.py", 5, "step"),)),)
    assert _joined(native, python)[0].python_stack[0].line == 5


def text_of_crash(text: str, code: int, thread: int | None = None) -> str:
    return text[part_of_crash(text, code, thread)]


STACK = 'Current thread 0x%08x (most recent call first):\n  File "train.py", line %d in step\n'


def part(head: str, thread: int, line: int) -> str:
    return head + "\n\n" + STACK % (thread, line)


VIOLATION = "Windows fatal exception: access violation"


def test_the_last_one_with_this_code_and_thread_is_of_the_crash() -> None:
    text = part(VIOLATION, 0x24, 1) + part(VIOLATION, 0x24, 2) + part(VIOLATION, 0x30, 3)
    assert "line 2 in" in text_of_crash(text, 0xC0000005, 0x24)
    assert "line 3 in" in text_of_crash(text, 0xC0000005)


def test_a_handled_error_says_nothing_about_a_later_fast_fail() -> None:
    assert text_of_crash(part(VIOLATION, 0x24, 1), 0xC0000409, 0x24) == ""


def test_what_abort_printed_is_of_the_fast_fail_that_ends_it() -> None:
    text = part(VIOLATION, 0x24, 1) + part("Fatal Python error: Aborted", 0x24, 9)
    assert "line 9 in" in text_of_crash(text, 0xC0000409, 0x24)


def test_codes_are_known_by_their_words_and_by_their_numbers() -> None:
    assert text_of_crash(part("Windows fatal exception: int divide by zero", 1, 1), 0xC0000094, 1)
    assert text_of_crash(part("Windows fatal exception: code 0xc0000374", 1, 1), 0xC0000374, 1)
    assert not text_of_crash(part("Windows fatal exception: code 0xc0000374", 1, 1), 0xC0000005, 1)


def test_no_text_is_no_stack() -> None:
    assert text_of_crash("", 0xC0000005) == ""
