"""Everything that a run on Windows left behind -> one Crash. No call of Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage import status
from triage.capture.assemble import (
    Text,
    dump_of,
    environment_of_run,
    hidden_log,
    notes_as_gaps,
    output_gaps,
    read_text,
    unreadable,
    without_our_frames,
    without_ours,
)
from triage.capture.command import Program, shortened
from triage.capture.faults import Note
from triage.capture.stopping import status_of_stopped
from triage.capture.windows.fault_texts import text_of_crash
from triage.capture.windows.frames import read_at_once
from triage.capture.windows.watching import Watched, is_death, signed
from triage.crash import Crash, ExitStatus, Gap, Memory, Process, Thread, merge
from triage.readers import Unreadable

if TYPE_CHECKING:
    from triage.capture.windows.ended import Ended


def crash_of(program: Program, ended: Ended) -> Crash:
    """The facts of a run that failed."""
    from triage.capture.installed import modules_not_found
    from triage.capture.machine import environment_of

    main = main_process(ended)
    texts = _texts(ended, main)
    parts = [read_text(text, number) for number, text in enumerate(texts)]
    dumped = {pid: _dump(str(path), len(texts) + n) for n, (pid, path) in enumerate(ended.dumps.items())}
    told = merge([*parts, *dumped.values()])
    python_threads = {text.pid: part.threads for text, part in zip(texts, parts, strict=True) if text.pid is not None}
    processes = _processes(program, ended, main, dumped, python_threads)
    primary = _primary(processes, ended)
    pid = processes[primary].pid or main
    note = ended.notes.get(pid, Note())
    environment = environment_of(note.python or program.python, not_found=modules_not_found(told.exceptions))
    libraries = told.environment.libraries if told.environment.libraries_complete else ()
    return told._replace(
        exceptions=without_ours(told.exceptions),
        processes=processes,
        primary=primary,
        memory=_memory(told.memory, ended.peaks.get(pid)),
        environment=environment_of_run(
            environment._replace(os="windows", hidden_log=hidden_log(note, libraries)), told.environment
        ),
        gaps=(
            *_still_missing(told.gaps, processes[primary]),
            *notes_as_gaps(program.notes),
            *(Gap("dump", "not-written", detail=problem) for problem in ended.problems),
            *_missing(processes[primary], ended),
        ),
    )


def main_process(ended: Ended) -> int:
    """The process that the person started: of a launcher, as virtual environments have, the Python that it started."""
    if ended.notes.get(ended.pid, Note()).hooked:
        return ended.pid
    order = [process.pid for process in ended.processes if process.pid != ended.pid] or sorted(ended.notes)
    return next((pid for pid in order if ended.notes.get(pid, Note()).hooked), ended.pid)


def status_of(process: Watched) -> ExitStatus:
    """How a process ended: by the exception that was seen, which knows the subcode, else by its exit code."""
    if fatal := process.fatal:
        return status.from_code(signed(fatal.code), fatal.parameters[0] if fatal.parameters else None)
    code = process.exit_code or 0
    if is_death(code) or code == 0xFFFFFFFF:
        return status.from_code(signed(code))
    # Numbers that mean a signal elsewhere are on Windows the program's own choice.
    return ExitStatus(code=signed(code), name=f"exit {code}", kind="exit", meaning=f"the program exited with {code}")


def _processes(
    program: Program, ended: Ended, main: int, dumped: dict[int, Crash], stacks: dict[int, tuple[Thread, ...]]
) -> tuple[Process, ...]:
    """The main process first, then the others that crashed, then those that hang."""
    by_pid = {process.pid: process for process in ended.processes}
    root = by_pid.get(main) or by_pid.get(ended.pid) or Watched(ended.pid, ended.exit_code)
    stopped = status_of_stopped(ended.stopped_by, ended.stopped_after)
    found = [Process(main, "main", program.shown, stopped or status_of(root))]
    found += [
        Process(
            p.pid, "worker" if ended.notes.get(p.pid, Note()).hooked else "child", _command(p.pid, ended), status_of(p)
        )
        for p in ended.crashed
        if p.pid not in (main, ended.pid)
    ]
    found += [
        Process(pid, "worker", _command(pid, ended), stopped)
        for pid, text in ended.hanging.items()
        if text and pid != main
    ]
    return tuple(_with_stacks(process, dumped, stacks) for process in found)


def _with_stacks(process: Process, dumped: dict[int, Crash], stacks: dict[int, tuple[Thread, ...]]) -> Process:
    pid = process.pid or 0
    python = stacks.get(pid, ())
    from_dump = dumped.get(pid, Crash())
    if not from_dump.processes:
        return process._replace(threads=without_our_frames(python))
    of_dump = from_dump.processes[from_dump.primary]
    threads = _joined(of_dump.threads, python)
    return process._replace(
        threads=without_our_frames(threads),
        fault=of_dump.fault,
        faulting_module=of_dump.faulting_module,
        dump=of_dump.dump,
    )


def _joined(native: tuple[Thread, ...], python: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The dump's threads with the Python stacks that faulthandler wrote, which calls each thread by its number."""
    stacks = {thread.name: thread for thread in python if thread.python_stack}
    crashed = next((thread for thread in stacks.values() if thread.crashed), None)
    found = []
    for thread in native:
        told = stacks.pop(f"0x{thread.id:08x}", None) if thread.id is not None else None
        if told is None and thread.crashed and crashed is not None:
            told = stacks.pop(crashed.name, None)
        found.append(thread._replace(python_stack=told.python_stack) if told and not thread.python_stack else thread)
    return (*found, *stacks.values())


def _texts(ended: Ended, main: int) -> list[Text]:
    """What there is to read: the output, and faulthandler's stacks of the processes that crashed or hang."""
    texts = [Text(name, content) for name, content in ended.logs if content.strip()]
    for process in ended.crashed:
        fatal = process.fatal
        code = fatal.code if fatal else process.exit_code or 0
        pid = main if process.pid == ended.pid else process.pid
        if part := text_of_crash(ended.faults.get(pid, b""), code, fatal.thread if fatal else None):
            texts.append(dump_of(pid, part))
    texts += [dump_of(pid, text) for pid, text in ended.hanging.items() if text]
    # A launcher that hands on its child's status is a second teller of the same crash.
    return list({text.name: text for text in reversed(texts)}.values())[::-1]


def _dump(path: str, number: int) -> Crash:
    from pathlib import Path

    try:
        return read_at_once(Path(path), number)
    except Unreadable as error:
        return unreadable(path, number, error)


def _primary(processes: tuple[Process, ...], ended: Ended) -> int:
    """The process that crashed first is what the incident is about, else the main one."""
    pids = [process.pid for process in processes]
    return next((pids.index(process.pid) for process in ended.crashed if process.pid in pids), 0)


def _command(pid: int, ended: Ended) -> str:
    return shortened([ended.notes.get(pid, Note()).python or f"process {pid}"])


def _memory(told: Memory, peak: int | None) -> Memory:
    import psutil

    highest = max(peak or 0, told.peak_bytes or 0)
    if not highest:
        return told
    return Memory(highest, psutil.virtual_memory().total, "the machine's memory", told.oom_kills)


def _has_python(process: Process) -> bool:
    return any(thread.python_stack for thread in process.threads)


def _is_full(process: Process) -> bool:
    return process.dump is not None and process.dump.full_memory


def _still_missing(gaps: tuple[Gap, ...], process: Process) -> list[Gap]:
    """What a reader missed, without what another teller has told or what we say better: --full is ours."""
    told_better = _has_python(process) or not _is_full(process)
    return [gap for gap in gaps if not (told_better and gap.what == "Python stack")]


def _missing(process: Process, ended: Ended) -> list[Gap]:
    """What could not be seen of this run, and why."""
    missing = []
    died_of = process.exit.ntstatus if process.exit else None
    if died_of is not None and process.pid not in ended.dumps:
        if ended.debugged:
            missing.append(Gap("native stack", "not-written", detail="no dump was written"))
        else:
            detail = "without a debugger (--no-debugger) there was no dump"
            missing.append(Gap("native stack", "not-written", "run-with-debugger", detail=detail))
        if died_of == status.FAST_FAIL_STATUS and process.exit and process.exit.subcode is None:
            detail = "the exit code alone does not tell it; a dump does"
            missing.append(Gap("fast fail", "not-told", "run-with-debugger", detail=detail))
    if died_of is not None and not _has_python(process) and not _is_full(process):
        why = "a fast fail runs no handler" if died_of == status.FAST_FAIL_STATUS else "faulthandler wrote none"
        detail = f"{why}; with --full the dump itself may hold it"
        missing.append(Gap("Python stack", "no-handler", "run-with-full-dump", detail=detail))
    return [*missing, *output_gaps(output_is_read=ended.output_is_read, errors_are_read=ended.errors_are_read)]
