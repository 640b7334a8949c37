"""What a run on Windows left behind becomes one Crash: which process, which status, which Python stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import sentences

from triage.capture.assemble import crash_of
from triage.capture.command import Program
from triage.capture.hook_files import Note
from triage.capture.windows.debug_events import ExceptionEvent, Watched
from triage.capture.windows.remains import Ended, remains_of, status_of
from triage.crash import Crash

FAST_FAIL, ACCESS_VIOLATION = 0xC0000409, 0xC0000005
HOOKED = Note(hooked=True)
FAULT = b"""Windows fatal exception: access violation

Current thread 0x00000024 (most recent call first):
  File "train.py", line 5 in step
  File "train.py", line 9 in <module>
"""


def watched(pid: int, code: int, *parameters: int, seen: bool = True) -> Watched:
    crash = (
        ExceptionEvent(0x24, code, first_chance=False, parameters=parameters) if seen and code >= 0xC0000000 else None
    )
    return Watched(pid, exit_code=code, crash=crash)


def ended(*processes: Watched, **more: Any) -> Ended:
    root = processes[0]
    settings: dict[str, Any] = {
        "pid": root.pid,
        "exit_code": root.exit_code,
        "processes": processes,
        "dumps": {},
        "notes": {process.pid: HOOKED for process in processes},
        "faults": {},
        "hanging": {},
        "peaks": {},
        "stopped_by": None,
        "stopped_after": 0.0,
        "debugged": True,
        "logs": (),
        "errors_are_read": True,
        "output_is_read": True,
        "problems": (),
    }
    return Ended(**{**settings, **more})


def crash_left_by(*processes: Watched, **more: Any) -> Crash:
    program = Program(("train.exe",), None, "train.py")
    return crash_of(program, remains_of(program, ended(*processes, **more)))


def test_the_subcode_comes_from_the_event_even_without_a_dump() -> None:
    crash = crash_left_by(watched(7, FAST_FAIL, 7))
    assert crash.exit is not None
    assert (crash.exit.ntstatus, crash.exit.subcode, crash.exit.code) == (FAST_FAIL, 7, -1073740791)
    assert "native stack: no dump was written" in sentences(crash.gaps)


def test_without_a_debugger_there_is_no_subcode_and_the_report_says_so() -> None:
    crash = crash_left_by(watched(7, FAST_FAIL, seen=False), debugged=False)
    assert crash.exit is not None
    assert crash.exit.subcode is None
    assert any("the kind of fast fail" in sentence for sentence in sentences(crash.gaps))


@pytest.mark.parametrize("code", [3, 139, 134, 255])
def test_small_codes_are_the_programs_own_choice_and_no_signal(code: int) -> None:
    status = status_of(watched(7, code))
    assert (status.code, status.signal, status.ntstatus, status.kind) == (code, None, None, "exit")


def test_faulthandlers_stack_of_the_crash_is_the_threads() -> None:
    crash = crash_left_by(watched(7, ACCESS_VIOLATION), faults={7: FAULT})
    (thread,) = crash.threads
    assert thread.crashed
    assert [frame.line for frame in thread.python_stack] == [5, 9]


def test_its_text_need_not_be_valid_utf8() -> None:
    crash = crash_left_by(watched(7, ACCESS_VIOLATION), faults={7: b"\xff\xfe\n" + FAULT.replace(b"step", b"st\xe9p")})
    assert [frame.line for frame in crash.threads[0].python_stack] == [5, 9]


def test_its_text_is_no_crash_where_the_process_lived_on() -> None:
    crash = crash_left_by(watched(7, 1), faults={7: FAULT})
    assert crash.threads == ()
    assert crash.exit is not None
    assert not crash.exit.is_death


def test_a_child_that_crashed_is_the_one_to_explain() -> None:
    crash = crash_left_by(watched(7, 1), watched(8, ACCESS_VIOLATION), faults={8: FAULT})
    assert [process.role for process in crash.processes] == ["main", "worker"]
    assert crash.processes[crash.primary].pid == 8
    assert crash.threads[0].python_stack


def test_the_launcher_of_a_virtual_environment_is_not_the_program() -> None:
    # It is no Python, so no hook runs in it, and it exits with its child's code.
    crash = crash_left_by(
        watched(7, ACCESS_VIOLATION, seen=False), watched(8, ACCESS_VIOLATION), notes={8: HOOKED}, faults={8: FAULT}
    )
    (process,) = crash.processes
    assert (process.pid, process.role) == (8, "main")
    assert process.threads[0].python_stack


def test_a_dump_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    dump = tmp_path / "train.dmp"
    dump.write_bytes(b"MDMP")
    crash = crash_left_by(watched(7, FAST_FAIL, 7), dumps={7: dump})
    assert any("train.dmp" in sentence for sentence in sentences(crash.gaps))
    assert crash.exit is not None
    assert crash.exit.subcode == 7


def test_a_timeout_has_the_stacks_that_the_watchdog_wrote() -> None:
    stacks = b'Timeout (0:00:04)!\nThread 0x00000024 (most recent call first):\n  File "train.py", line 5 in step\n'
    crash = crash_left_by(watched(7, 1), stopped_by="timeout", stopped_after=4.0, hanging={7: stacks})
    assert crash.hung
    assert [frame.function for frame in crash.threads[0].python_stack] == ["step"]


def test_peak_memory_is_compared_with_the_machines() -> None:
    crash = crash_left_by(watched(7, FAST_FAIL, 7), peaks={7: 1 << 30})
    assert crash.memory.peak_bytes == 1 << 30
    assert crash.memory.limit_source == "the machine's memory"


def test_a_script_that_arms_faulthandler_itself_has_its_stack_in_the_output() -> None:
    output = b"a step\n" + FAULT.replace(b"line 5", b"line 1") + b"handled, it goes on\n" + FAULT
    crash = crash_left_by(watched(7, ACCESS_VIOLATION), logs=(("stderr", output),))
    (thread,) = crash.threads
    assert [frame.line for frame in thread.python_stack] == [5, 9]
    assert "Python stack" not in [gap.what for gap in crash.gaps]


def test_a_stack_in_the_output_is_no_crash_where_it_is_about_another_error() -> None:
    assert crash_left_by(watched(7, 1), logs=(("stderr", FAULT),)).threads == ()
    assert crash_left_by(watched(7, FAST_FAIL, 7), logs=(("stderr", FAULT),)).threads == ()


def test_without_a_debugger_a_childs_death_is_known_from_what_its_parent_prints() -> None:
    output = b"subprocess.CalledProcessError: Command 'worker.exe' returned non-zero exit status 3221225477.\n"
    crash = crash_left_by(watched(7, 1), debugged=False, logs=(("stderr", output),))
    assert [process.role for process in crash.processes] == ["main", "child"]
    assert crash.exit is not None
    assert crash.exit.ntstatus == ACCESS_VIOLATION


def test_a_worker_that_crashed_before_the_timeout_is_the_one_to_explain() -> None:
    crash = crash_left_by(watched(7, 1), watched(8, ACCESS_VIOLATION), stopped_by="timeout", stopped_after=4.0)
    assert crash.processes[0].exit is not None
    assert crash.processes[0].exit.kind == "timeout"
    assert crash.processes[crash.primary].pid == 8


def test_a_process_that_we_ended_did_not_die_of_what_it_had_survived() -> None:
    survived = ExceptionEvent(0x24, 0xC00000FD, first_chance=True)
    crash = crash_left_by(Watched(7, 1, provisional=survived, finished=False), stopped_by="timeout", stopped_after=4.0)
    assert crash.hung


def test_an_empty_stream_that_was_read_is_an_input_too() -> None:
    assert [source.name for source in crash_left_by(watched(7, 1), logs=(("stderr", b""),)).inputs] == ["stderr"]
