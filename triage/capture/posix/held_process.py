"""A crashed process is held until its stacks are read, then dies of its own signal; a hanging one is read likewise."""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

from triage import status
from triage.capture.command import shortened
from triage.capture.hook_files import FaultDirectory, Note
from triage.capture.posix import process_tree
from triage.crash import Duplicates, ExitStatus, Fault, Gap, Library, Memory, Resources, Thread

# A dump is written in one go; when it has not grown for this long it is whole.
_QUIET = 0.03
_DUMP_TAKES_AT_MOST = 2.0
_COLLECTING_TAKES_AT_MOST = 60.0
_DYING_TAKES_AT_MOST = 5.0


class Held(NamedTuple):
    """What was read of one process before it was let go."""

    pid: int
    command: str
    note: Note
    dump: bytes = b""
    exit: ExitStatus | None = None
    threads: tuple[Thread, ...] = ()
    fault: Fault | None = None
    memory: Memory = Memory()
    resources: Resources = Resources()
    libraries: tuple[Library, ...] = ()
    loaded_twice: tuple[Duplicates, ...] = ()
    missing: tuple[Gap, ...] = ()


def read_crashed(pid: int, faults: FaultDirectory, number: int | None = None, *, why_not_native: str = "") -> Held:
    """Hold a process whose fatal signal has come, read it, and let it die of that signal.

    `number` is the signal where we have no dump that names it, because the script keeps it for itself. With a reason
    in `why_not_native` the native stack is not read, and the report gives that reason.
    """
    dump = b""
    if number is None:
        dump, number = _whole_dump(pid, faults)
    if not faults.is_open_in(pid):
        # It is dead already, or the number is another process's here.
        note = faults.note(pid)
        held = Held(pid, shortened([note.python or "?"]), note, dump)
        return held._replace(exit=status.from_code(128 + number) if number else None)
    process_tree.send(pid, signal.SIGSTOP)
    try:
        held = _read(pid, faults, dump, crashed=True, why_not_native=why_not_native)
    finally:
        _let_die(pid, number)
    return held._replace(exit=status.from_code(128 + number) if number else None)


def read_hanging(pid: int, faults: FaultDirectory) -> Held:
    """The stacks of a process that hangs; it stays stopped for the caller to end."""
    process_tree.send(pid, signal.SIGSTOP)
    return _read(pid, faults, b"", crashed=False)


def _read(pid: int, faults: FaultDirectory, dump: bytes, *, crashed: bool, why_not_native: str = "") -> Held:
    try:
        return _all_of(pid, faults, dump, crashed=crashed, why_not_native=why_not_native)
    except Exception as error:  # our bug must not cost the child its own death and exit code
        missing = (Gap("process", "bug", detail=f"reading it failed, a bug in triage: {error!r}"),)
        return Held(pid, "?", faults.note(pid), dump, missing=missing)


def _all_of(pid: int, faults: FaultDirectory, dump: bytes, *, crashed: bool, why_not_native: str) -> Held:
    from triage.capture.memory import OomCounters, memory_facts, resources_of
    from triage.stacks.libraries import libraries_at, loaded_twice, paths_of

    paths = paths_of(pid)
    held = Held(
        pid=pid,
        command=shortened(process_tree.command_of(pid) or ["?"]),
        note=faults.note(pid),
        dump=dump,
        memory=memory_facts(None, None, OomCounters(), pid),
        resources=resources_of(pid),
        libraries=libraries_at(paths),
        loaded_twice=loaded_twice(paths),
    )
    if why_not_native:
        gap = Gap("native stack", "not-looked-for", detail=f"not looked for ({why_not_native})")
        return held._replace(missing=(gap,))
    from triage.stacks import from_process

    try:
        collected = from_process(pid, crashed=crashed, budget=_COLLECTING_TAKES_AT_MOST)
    except Exception as error:  # a bug in a collector must not cost the child its own death and exit code
        return held._replace(
            missing=(Gap("native stack", "bug", detail=f"reading it failed, a bug in triage: {error!r}"),)
        )
    return held._replace(threads=collected.threads, fault=collected.fault, missing=collected.missing)


def _whole_dump(pid: int, faults: FaultDirectory) -> tuple[bytes, int | None]:
    """The dump once it no longer grows, and the signal that it names."""
    until = time.monotonic() + _DUMP_TAKES_AT_MOST
    dump = faults.dump(pid)
    while time.monotonic() < until:
        time.sleep(_QUIET)
        now = faults.dump(pid)
        if now == dump and (number := _signal_in(now)):
            return dump, number
        dump = now
    return dump, _signal_in(dump)


def _signal_in(dump: bytes) -> int | None:
    """The signal that the dump's first line names; the stacks below it are read later, with the other texts."""
    from triage.readers.log.ends import fatal_signal

    lines = dump.decode("utf-8", "replace").splitlines()
    named = (fatal_signal(line) for line in reversed(lines) if "Fatal Python error: " in line)
    return next((status.signal_number for status in named if status), None)


def _let_die(pid: int, number: int | None) -> None:
    """Wake it and send the signal that it was dying of.

    The signal may reach another thread than the one that waits in its handler, while the handler is still ours; a
    second one then ends the process. One that survives even that is killed.
    """
    process_tree.send(pid, signal.SIGCONT)
    if number is None:
        return
    until = time.monotonic() + _DYING_TAKES_AT_MOST
    while time.monotonic() < until:
        process_tree.send(pid, number)
        for _ in range(10):
            if process_tree.is_gone(pid):
                return
            time.sleep(0.005)
    if os.path.exists(f"/proc/{pid}"):
        process_tree.send(pid, signal.SIGKILL)
