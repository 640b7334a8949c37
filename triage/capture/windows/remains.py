"""What a run on Windows left: its processes with their exit codes, dumps and faulthandler texts. No call of Windows."""

from __future__ import annotations

from triage import status
from triage.capture.assemble import Member, Remains, Text, part_of_crash, status_of_stopped
from triage.capture.command import Program, shortened
from triage.capture.hook_files import Note
from triage.capture.windows import Ended
from triage.capture.windows.debug_events import Watched, is_death, signed
from triage.crash import ExitStatus, Gap, Memory, Process


def remains_of(program: Program, ended: Ended) -> Remains:
    """What is left of a run that failed."""
    main = _main_process(ended)
    # A launcher exits with its child's code, so its crash is that of the Python it started.
    crashed = {main if process.pid == ended.pid else process.pid: process for process in ended.crashed}
    hanging = [pid for pid, text in ended.hanging.items() if text and pid not in (main, *crashed)]
    by_pid = {process.pid: process for process in ended.processes}
    root = by_pid.get(main) or by_pid.get(ended.pid) or Watched(ended.pid, ended.exit_code)
    exit_status = status_of_stopped(ended.stopped_by, ended.stopped_after) or status_of(root)
    members = [_member(main, program.shown, exit_status, crashed.get(main), ended)]
    members += [
        _member(pid, _command(pid, ended), status_of(process), process, ended)
        for pid, process in crashed.items()
        if pid != main
    ]
    members += [_member(pid, _command(pid, ended), exit_status, None, ended) for pid in hanging]
    return Remains(
        members=tuple(members),
        crashed=tuple(crashed),
        texts=tuple(Text(name, content) for name, content in ended.logs),
        gaps=tuple(Gap("dump", "not-written", detail=problem) for problem in ended.problems),
        on_windows=True,
        debugger=ended.debugged,
        output_is_read=ended.output_is_read,
        errors_are_read=ended.errors_are_read,
    )


def status_of(process: Watched) -> ExitStatus:
    """How a process ended: by the exception that was seen, which knows the subcode, else by its exit code."""
    if fatal := process.fatal:
        return status.from_code(signed(fatal.code), fatal.parameters[0] if fatal.parameters else None)
    code = process.exit_code or 0
    if is_death(code) or code == 0xFFFFFFFF:
        return status.from_code(signed(code))
    # Numbers that mean a signal elsewhere are on Windows the program's own choice.
    return ExitStatus(code=signed(code), name=f"exit {code}", kind="exit", meaning=f"the program exited with {code}")


def _main_process(ended: Ended) -> int:
    """The process that the person started: of a launcher, as virtual environments have, the Python that it started."""
    if ended.notes.get(ended.pid, Note()).hooked:
        return ended.pid
    order = [process.pid for process in ended.processes if process.pid != ended.pid] or sorted(ended.notes)
    return next((pid for pid in order if ended.notes.get(pid, Note()).hooked), ended.pid)


def _member(pid: int, command: str, exit_status: ExitStatus, crashed: Watched | None, ended: Ended) -> Member:
    return Member(
        Process(pid, command=command, exit=exit_status),
        ended.notes.get(pid, Note()),
        _fault_text(ended.faults.get(pid, b""), crashed) if crashed else ended.hanging.get(pid, b""),
        ended.dumps.get(pid),
        memory=_memory(ended.peaks.get(pid)),
    )


def _fault_text(text: bytes, crashed: Watched) -> bytes:
    """The part of faulthandler's text that is about the exception that ended the process."""
    fatal = crashed.fatal
    code = fatal.code if fatal else crashed.exit_code or 0
    # One character a byte, so that the part has the same place in both.
    return text[part_of_crash(text.decode("latin-1"), code, fatal.thread if fatal else None)]


def _command(pid: int, ended: Ended) -> str:
    return shortened([ended.notes.get(pid, Note()).python or f"process {pid}"])


def _memory(peak: int | None) -> Memory:
    import psutil

    return Memory(peak or None, psutil.virtual_memory().total, "the machine's memory")
