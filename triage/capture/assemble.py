"""What a run left behind -> one Crash, on every system.

Each system says in its own `remains.py` what is left of the processes. Decided here: what part each process had, which
of them the incident is about, which Python and native stacks belong together, and what could not be seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import NamedTuple

from triage import digits, patterns, status
from triage.capture.command import Program as Started
from triage.capture.hook_files import Note, is_ours
from triage.capture.supervision import STOPPED_CODES, StopReason
from triage.crash import (
    Crash,
    Duplicates,
    Environment,
    ExitStatus,
    Gap,
    Input,
    Library,
    Log,
    Memory,
    Process,
    Program,
    PythonException,
    PythonFrame,
    Resources,
    Role,
    Thread,
    merge,
    merge_environment,
    program_of,
)
from triage.programs import program_of_libraries
from triage.readers import Source, Unreadable, read

# The signals of a crash, for which our handler waits or the system writes a report.
CRASH_SIGNALS = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"})
# From this level on, TensorFlow does not print the lines that name the cause.
_HIDES_WARNINGS = 2
# What a shell, subprocess, a pool of workers and a dying Python print: the process's number, or fixed words.
_BY_ITS_PARENT = (
    r"line \d+:\s+\d+ |^\[\d+\]\s*[-+]?\s+\d+ |\(?pid(?:\(s\))?[ =:]*\d+|"
    r" died with <Signals\.|returned non-zero exit status|^Fatal Python error: "
)
_BY_TORCH_LOADER = r"DataLoader worker \(pid(?:\(s\))?[\d, ]{0,60}\) is killed by signal: "
_LAST_LINES = 50
# The first line of a faulthandler dump, and the line of the thread that raised the error.
_HEAD = r"^(Windows fatal exception|Fatal Python error): (.*)$"
_CURRENT = r"^Current thread 0x([0-9a-fA-F]{1,16})"
# abort() on Windows ends in one of these: no exception handler runs, but the C runtime raises SIGABRT first.
_ABORTED = (status.FAST_FAIL_STATUS, 0x40000015, 3)


class Text(NamedTuple):
    """A text that a run left, with its name in the report."""

    name: str
    content: bytes


class Member(NamedTuple):
    """What is left of one process of a run.

    `process` holds what is known before any text or dump is read; its role is decided here. `fault_text` is what
    faulthandler wrote to our file about its crash or hang. The figures are those from shortly before it was gone.
    """

    process: Process
    note: Note = Note()
    fault_text: bytes = b""
    minidump: Path | None = None
    memory: Memory = Memory()
    resources: Resources = Resources()
    libraries: tuple[Library, ...] = ()
    loaded_twice: tuple[Duplicates, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Remains(NamedTuple):
    """What is left of a run.

    `members` has the main process first, then those that crashed, then those that hung; `crashed` has the pids in the
    order of the crashes. `texts` are what was printed and what the system wrote about the death. `debugger` matters
    on Windows only, where a dump needs one.
    """

    members: tuple[Member, ...]
    crashed: tuple[int, ...] = ()
    texts: tuple[Text, ...] = ()
    gaps: tuple[Gap, ...] = ()
    on_windows: bool = False
    debugger: bool = True
    output_is_read: bool = True
    errors_are_read: bool = True

    @property
    def main(self) -> Member:
        """The process that the person started."""
        return self.members[0]

    @property
    def hung(self) -> bool:
        """Whether we had to end it."""
        return self.main.process.exit is not None and self.main.process.exit.kind == "timeout"


class _Inputs(NamedTuple):
    """What was read: the texts, each process's own faulthandler stacks and minidump, and all of it merged."""

    texts: Crash
    stacks: dict[int | None, tuple[Thread, ...]]
    minidumps: dict[int | None, Process]
    merged: Crash


def crash_of(program: Started, remains: Remains) -> Crash:
    """The facts of a run that failed."""
    from triage.capture.machine import environment_of, modules_not_found

    inputs = _read_all(remains)
    facts = inputs.merged
    processes = _processes(remains, inputs)
    primary = _primary(processes, remains)
    processes = _with_printed_program(processes, primary, inputs.texts)
    process, main = processes[primary], remains.main
    # A process of which only the output reports left nothing; the figures are then those of its parent.
    own = next((one for one in remains.members if one.process.pid == process.pid), None)
    member = own or main
    measured = environment_of(
        member.note.python or main.note.python or program.python,
        member.libraries,
        libraries_complete=bool(member.libraries),
        not_found=modules_not_found(facts.exceptions),
    )
    environment = environment_of_run(measured._replace(loaded_twice=member.loaded_twice), facts.environment)
    libraries = environment.libraries if environment.libraries_complete else ()
    return facts._replace(
        exceptions=_without_hook(facts.exceptions),
        processes=processes,
        primary=primary,
        memory=_memory(member.memory, facts.memory),
        resources=member.resources,
        environment=environment._replace(hidden_log=hidden_log(member.note, libraries)),
        gaps=(
            *_gaps_of_inputs(facts.gaps, process),
            *(Gap("program", "not-told", detail=note) for note in program.notes),
            *remains.gaps,
            *member.gaps,
            *_stack_gaps(process, own or Member(process), remains, inputs.texts),
            *_output_gaps(remains),
        ),
    )


def status_of_stopped(stopped_by: StopReason | None, after: float) -> ExitStatus | None:
    """The exit status of a program that we ended, for its time or for a Ctrl-C without effect; None for any other."""
    if stopped_by is None:
        return None
    meanings = {
        "timeout": f"it was still running after {after:.0f} s, and triage ended it",
        "interrupt": f"Ctrl-C did not end it, nor did a second one, and triage ended it after {after:.0f} s",
    }
    code = STOPPED_CODES[stopped_by]
    return ExitStatus(code=code, name="timeout", kind="timeout", meaning=meanings[stopped_by])


def part_of_crash(text: str, code: int, thread: int | None = None) -> slice:
    """Where faulthandler's last dump about a Windows status is in a text, and about this thread where that is known.

    faulthandler on Windows sees every exception at its first chance and prints a stack for it, also where ctypes turns
    it into an OSError and the program goes on. So its text alone proves no crash, and of several dumps only one is of
    the crash. The slice is empty where none is.
    """
    end = len(text)
    for head in reversed(list(patterns.compile(_HEAD).finditer(text))):
        part = slice(head.start(), end)
        current = patterns.compile(_CURRENT).search(text[part])
        in_thread = thread is None or current is None or int(current[1], 16) == thread
        if in_thread and _is_about(head[1], head[2].strip(), code):
            return part
        end = part.start
    return slice(0, 0)


def _is_about(kind: str, words: str, code: int) -> bool:
    if kind == "Fatal Python error":
        return code in _ABORTED or words == "Segmentation fault"
    name, _, number = words.partition(" ")
    named = status.parse(number) if name == "code" else status.from_words(words)
    return named is not None and named.ntstatus == code


def _read_all(remains: Remains) -> _Inputs:
    numbers = count()
    texts = [read_text(text, next(numbers)) for text in remains.texts]
    fault_texts = {
        one.process.pid: read_text(Text(f"faulthandler of {one.process.pid}", one.fault_text), next(numbers))
        for one in remains.members
        if one.fault_text
    }
    minidumps = {
        one.process.pid: _read_minidump(one.minidump, next(numbers)) for one in remains.members if one.minidump
    }
    return _Inputs(
        merge(texts),
        {pid: _subject(crash).threads for pid, crash in fault_texts.items()},
        {pid: _subject(crash) for pid, crash in minidumps.items() if crash.processes},
        merge([*texts, *fault_texts.values(), *minidumps.values()]),
    )


def read_text(text: Text, number: int) -> Crash:
    """The facts of one text; one that cannot be read is a gap."""
    try:
        return read(Source(text.name, BytesIO(text.content)), number)
    except Unreadable as error:
        return _unreadable(text.name, number, error)


def _read_minidump(path: Path, number: int) -> Crash:
    """The facts of a dump. Its frames are stored beside it: only here are the DLLs at hand that name them."""
    from triage.readers.minidump.stored_frames import store

    try:
        crash = read(Source.of(str(path)), number)
    except Unreadable as error:
        return _unreadable(str(path), number, error)
    with suppress(OSError):
        store(path, crash.threads)
    return crash


def _unreadable(name: str, number: int, error: Unreadable) -> Crash:
    gap = Gap("input", "unreadable", None, name, str(error))
    return Crash(inputs=(Input(number, "unreadable", name, complete=False),), gaps=(gap,))


def _subject(crash: Crash) -> Process:
    """The process that an input is about."""
    return crash.processes[crash.primary] if crash.processes else Process()


def _processes(remains: Remains, inputs: _Inputs) -> tuple[Process, ...]:
    """The main process first, then those that crashed or hung, then one whose death only the output reports."""
    found = [_process(member, remains, inputs) for member in remains.members]
    main, printed = found[0], _subject(inputs.texts)
    if not remains.crashed and _is_death_of_child(printed.exit, inputs.texts, main.exit, on_windows=remains.on_windows):
        role: Role = "worker" if _is_of_torch_loader(inputs.texts) else "child"
        child = Process(None, role, None, printed.exit)
        found.append(child._replace(threads=_printed_stacks(child, remains, inputs)))
    elif not any(process.threads for process in found):
        threads = _printed_stacks(main, remains, inputs)
        found[0] = main._replace(threads=threads, fault=main.fault or printed.fault)
    return tuple(process._replace(threads=_without_hook_frames(process.threads)) for process in found)


def _process(member: Member, remains: Remains, inputs: _Inputs) -> Process:
    """One process with its role and all its stacks."""
    process = member.process
    pid = process.pid
    if dumped := inputs.minidumps.get(pid):
        process = dumped._replace(pid=pid, command=process.command, exit=process.exit)
    if pid in inputs.stacks:
        python = inputs.stacks[pid]
    else:
        # A script that arms faulthandler itself has its dump in the output.
        python = _printed_stacks(process, remains, inputs) if pid in remains.crashed else ()
    threads = _joined(process.threads, python)
    return process._replace(
        role="main" if member is remains.main else _role(member),
        threads=threads,
        forked_with=member.note.forked_with,
        program=process.program or _program(member, threads),
    )


def _program(member: Member, threads: Sequence[Thread]) -> Program | None:
    """What the process was, from its interpreter or program file, its libraries and its stacks."""
    file = member.note.python or next(iter((member.process.command or "").split()), "")
    names = [file, *(library.name for library in member.libraries)]
    return program_of_libraries(names, threads, None, complete=bool(member.libraries))


def _with_printed_program(processes: tuple[Process, ...], primary: int, texts: Crash) -> tuple[Process, ...]:
    """The processes; what was printed says whose crash it is only where the process itself does not show it."""
    known = [program for program in (processes[primary].program, texts.program) if program]
    program = program_of(reason for one in known for reason in one.because)
    return tuple(p._replace(program=program) if number == primary else p for number, p in enumerate(processes))


def _role(member: Member) -> Role:
    """A worker is a Python, as multiprocessing or a fork makes one; anything else that was started is a child."""
    command = member.process.command or ""
    is_python = member.note.hooked or "multiprocessing" in command or "loky" in command
    return "worker" if is_python else "child"


def _is_death_of_child(printed: ExitStatus | None, texts: Crash, main: ExitStatus | None, *, on_windows: bool) -> bool:
    """Whether the output reports the death of a child, and does not only mention one.

    A parent hands the status on as its own, or names the child that it waited for, near the end of what it prints.
    """
    if printed is None or printed.place is None or (main and main.is_death):
        return False
    number = printed.ntstatus if on_windows else printed.signal_number
    if number is None:
        return False
    if main and not on_windows and main.code == 128 + number:
        return True
    log = next((log for log in texts.logs if log.input == printed.place.input), None)
    if log is None or printed.place.line not in log.numbers:
        return False
    index = log.numbers.index(printed.place.line)
    line = next(text for number, (_, text) in enumerate(log.lines()) if number == index)
    return len(log.numbers) - index <= _LAST_LINES and patterns.compile(_BY_ITS_PARENT).search(line) is not None


def _is_of_torch_loader(texts: Crash) -> bool:
    """Whether PyTorch's DataLoader says that a signal ended one of its workers."""
    return any(patterns.compile(_BY_TORCH_LOADER).search(log.text) for log in texts.logs)


def _printed_stacks(process: Process, remains: Remains, inputs: _Inputs) -> tuple[Thread, ...]:
    """The stacks in the output that may be of this process's crash."""
    threads = _subject(inputs.texts).threads
    if not remains.on_windows:
        return threads
    died_of = process.exit.ntstatus if process.exit else None
    if died_of is None:
        return ()
    lines = {log.input: _lines_of_crash(log, died_of) for log in inputs.texts.logs}
    return tuple(thread for thread in threads if thread.place and thread.place.line in lines[thread.place.input])


def _lines_of_crash(log: Log, died_of: int) -> range:
    part = part_of_crash(log.text, died_of)
    first, last = log.place(part.start).line, log.place(max(part.start, part.stop - 1)).line
    return range(first, last + 1) if part.stop and first and last else range(0)


def _joined(native: tuple[Thread, ...], python: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The collected threads, completed by the Python stacks that faulthandler wrote.

    On Windows faulthandler calls a thread by the system's number, and so does a dump: each finds its own, and one that
    the dump lacks is added. Elsewhere it writes pthread's number, which no collector knows: only the crashed thread
    can be paired, and the others are the collector's already.
    """
    if not native:
        return python
    stacks = {thread.name: thread for thread in python if thread.python_stack}
    crashed = next((thread.name for thread in stacks.values() if thread.crashed), "")
    names = [f"0x{thread.id:08x}" if thread.id is not None else "" for thread in native]
    same_numbers = any(name in stacks for name in names)
    found = []
    for thread, name in zip(native, names, strict=True):
        its_own = stacks.pop(name, None) or (stacks.pop(crashed, None) if thread.crashed else None)
        found.append(_completed(thread, its_own.python_stack) if its_own else thread)
    return (*found, *(stacks.values() if same_numbers else ()))


def _completed(thread: Thread, dumped: tuple[PythonFrame, ...]) -> Thread:
    """The dump's Python stack where the collector has none, and its lines where that has names only."""
    if not thread.python_stack:
        return thread._replace(python_stack=dumped)
    if len(dumped) != len(thread.python_stack):
        return thread
    pairs = zip(thread.python_stack, dumped, strict=True)
    return thread._replace(python_stack=tuple(f if f.line else f._replace(line=d.line) for f, d in pairs))


def _primary(processes: Sequence[Process], remains: Remains) -> int:
    """The process that crashed first, else the child whose death only the output reports, else the main one."""
    first = next(iter(remains.crashed), None)
    if first is None and remains.hung:
        # Of a hanging tree the worker that can't go on is the root, and the others wait for it.
        stuck = (member for member in remains.members if member.note.forked_with)
        first = next(stuck, remains.main).process.pid
    return next((number for number, process in enumerate(processes) if process.pid == first), 0)


def _memory(measured: Memory, reported: Memory) -> Memory:
    """The figures that we measured; those that a dump or the output reports where we have none."""
    limit = measured if measured.limit_bytes is not None else reported
    return reported._replace(
        peak_bytes=measured.peak_bytes if measured.peak_bytes is not None else reported.peak_bytes,
        limit_bytes=limit.limit_bytes,
        limit_source=limit.limit_source,
        oom_kills=measured.oom_kills if measured.oom_kills is not None else reported.oom_kills,
    )


def environment_of_run(measured: Environment, reported: Environment) -> Environment:
    """The machine as we found it, completed by what the output and the dumps say about it."""
    both = merge_environment([measured, reported])
    # A log may call the same cards and libraries by other names: what we measured is not mixed with what it says.
    return both._replace(
        cpu_flags=measured.cpu_flags or reported.cpu_flags,
        gpus=measured.gpus or reported.gpus,
        libraries=measured.libraries or reported.libraries,
    )


def hidden_log(note: Note, libraries: Sequence[Library]) -> str | None:
    """What hid TensorFlow's log, None where TensorFlow was not even loaded; no libraries means that nobody knows."""
    level = digits.whole(note.log_level)
    if level is None or level < _HIDES_WARNINGS:
        return None
    if libraries and not any("tensorflow" in library.name for library in libraries):
        return None
    return f"TF_CPP_MIN_LOG_LEVEL={note.log_level}, set by the {note.log_level_set_by}"


def _without_hook_frames(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    """The threads without the frame of the hook that started them."""
    return tuple(thread._replace(python_stack=_theirs(thread.python_stack)) for thread in threads)


def _without_hook(exceptions: Iterable[PythonException]) -> tuple[PythonException, ...]:
    """The exceptions without the frame of the hook that started the program."""
    return tuple(error._replace(frames=_theirs(error.frames)) for error in exceptions)


def _theirs(frames: tuple[PythonFrame, ...]) -> tuple[PythonFrame, ...]:
    return tuple(frame for frame in frames if not is_ours(os.path.normpath(frame.file)))


def _has_python(process: Process) -> bool:
    return any(thread.python_stack for thread in process.threads)


def _has_full_dump(process: Process) -> bool:
    return process.dump is not None and process.dump.full_memory


def _gaps_of_inputs(gaps: Iterable[Gap], process: Process) -> list[Gap]:
    """What the readers missed, without a Python stack that another input has or of which we know more: --full."""
    known = _has_python(process) or not _has_full_dump(process)
    return [gap for gap in gaps if not (known and gap.what == "Python stack")]


def _stack_gaps(process: Process, member: Member, remains: Remains, texts: Crash) -> Iterator[Gap]:
    """Which stacks of a process that died could not be seen, and why."""
    died_of = process.exit or ExitStatus()
    if died_of.signal == "SIGKILL":
        yield Gap("native stack", "killed", detail="a process that is killed leaves none")
    elif died_of.signal in CRASH_SIGNALS and process.pid not in remains.crashed:
        yield _only_printed(texts) if process.pid is None else _not_held(member.note)
    elif died_of.ntstatus is not None:
        if member.minidump is None:
            yield from _not_dumped(died_of, debugger=remains.debugger)
        if not _has_python(process) and not _has_full_dump(process):
            why = "a fast fail runs no handler" if _is_fast_fail(died_of) else "faulthandler wrote none"
            detail = f"{why}; with --full the dump itself may hold it"
            yield Gap("Python stack", "no-handler", "run-with-full-dump", detail=detail)


def _not_held(note: Note) -> Gap:
    """Why a crashed process did not wait for us to read its stack."""
    if not note.hooked:
        detail = (
            "our hook did not run in this process (python -I, -E or -S, an emptied environment, no Python at "
            "all, or no room for its files in /dev/shm and TMPDIR)"
        )
        return Gap("native stack", "not-hooked", detail=detail)
    if not note.has_file:
        detail = "the limit on open files is too low for a file of ours (raise it: ulimit -n 1024)"
        return Gap("native stack", "open-files", "raise-limit", detail=detail)
    detail = (
        "the process died before its handler could run; its stack was used up, it has handlers of its own, "
        "or it closed our file"
    )
    return Gap("native stack", "no-handler", detail=detail)


def _only_printed(texts: Crash) -> Gap:
    """Why there is no stack of a process whose death only its parent's words tell."""
    if _is_of_torch_loader(texts):
        detail = (
            "PyTorch's DataLoader puts signal handlers of its own in the place of ours in its workers, and they write "
            "no stack (with num_workers=0 it happens where ours are)"
        )
    else:
        detail = (
            "only the output tells of this process: its handlers took the place of ours, it emptied its environment, "
            "or it is no Python"
        )
    return Gap("native stack", "no-handler", detail=detail)


def _not_dumped(died_of: ExitStatus, *, debugger: bool) -> Iterator[Gap]:
    """What a crash on Windows does not show without a dump."""
    if debugger:
        yield Gap("native stack", "not-written", detail="no dump was written")
    else:
        detail = "without a debugger (--no-debugger) there was no dump"
        yield Gap("native stack", "not-written", "run-with-debugger", detail=detail)
    if _is_fast_fail(died_of) and died_of.subcode is None:
        detail = "the exit code alone does not tell it; a dump does"
        yield Gap("fast fail", "not-told", "run-with-debugger", detail=detail)


def _is_fast_fail(died_of: ExitStatus) -> bool:
    return died_of.ntstatus == status.FAST_FAIL_STATUS


def _output_gaps(remains: Remains) -> Iterator[Gap]:
    """Which of the program's streams went where we could not read them."""
    if not remains.errors_are_read:
        yield Gap("standard error", "not-read", detail="it went to a device and was not read")
    elif not remains.output_is_read:
        detail = "it went elsewhere than standard error, and was not read"
        yield Gap("standard output", "not-read", detail=detail)
