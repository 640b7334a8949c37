"""Who is asked what, in which order, and what is made of the answers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from triage.crash import Thread
from triage.stacks import faults, memory_map, mixed_stacks, obstacles
from triage.stacks.callers import named_at_calls
from triage.stacks.cleaning import clean, clean_python, fault_index
from triage.stacks.collected import Collected
from triage.stacks.gdb_session import Gdb, GdbFailed, find_gdb
from triage.stacks.holding import handed_back, state_of
from triage.stacks.memory_map import MemoryMap
from triage.stacks.mixed_stacks import Mixed
from triage.stacks.modules import Modules
from triage.stacks.stacks import RawFrame, RawThread

# pystack gets the larger part of the time: without the stack the rest is of little use.
STACK_SHARE = 0.7
# A stack with fewer frames than this has lost its way: there is always a main function and what started it.
_POOR = 3


class Target(NamedTuple):
    """What gdb is pointed at, and what is known of it.

    Of a core: `closed` are the mapped files that must not be opened, `known` is the loader's name of each of the
    others, and below `root` stand those under the names that the core has for them.
    """

    commands: tuple[str, ...]
    map: MemoryMap
    names: Mapping[int, str]
    stack_limit: int | None
    executable: str | None
    is_core: bool
    closed: frozenset[str] = frozenset()
    known: Mapping[str, str] | None = None
    root: str | None = None


class Told(NamedTuple):
    """What gdb told: the fault, and stacks where it was asked for them; `failure` is why it could not."""

    found: faults.Found | None = None
    threads: tuple[RawThread, ...] = ()
    failure: str | None = None


def collect_process(pid: int, *, crashed: bool, budget: float) -> Collected:
    """The stacks of a living process, and the fault of one that crashed; see `from_process`."""
    if not sys.platform.startswith("linux"):
        return Collected(missing=(obstacles.not_linux(),))
    until = time.monotonic() + budget
    if state_of(pid) in (None, "Z", "X"):
        return Collected(missing=(obstacles.gone(pid),))
    with handed_back(pid):
        try:
            target = _process(pid)
        except PermissionError:
            return Collected(missing=(obstacles.refused(pid, crashed=crashed),))
        except OSError:
            return Collected(missing=(obstacles.gone(pid),))
        mixed = grounded(mixed_stacks.of_process(pid, _share(until)), target.map)
        suspect = suspect_in(mixed.threads) if crashed else faults.Suspect()
        told = ask_gdb(target, mixed, until, suspect, crashed=crashed)
        return collected(target, mixed, told, faults.Suspect(), crashed=crashed)._replace(
            missing=obstacles.of_process(pid, mixed, told, crashed=crashed)
        )


def _process(pid: int) -> Target:
    map = memory_map.of_process(pid)
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = None
    names, limit = memory_map.thread_names(pid), memory_map.stack_limit(pid)
    return Target((f"-target-attach {pid}",), map, names, limit, executable, is_core=False)


def grounded(mixed: Mixed, map: MemoryMap) -> Mixed:
    """The stacks as far as their addresses are code: an unwinder that went astray makes up the rest."""
    return mixed._replace(threads=_all_grounded(mixed.threads, map))


def _all_grounded(threads: Sequence[RawThread], map: MemoryMap) -> tuple[RawThread, ...]:
    return tuple(thread._replace(native=_grounded(thread.native, map)) for thread in threads)


def _grounded(frames: tuple[RawFrame, ...], map: MemoryMap) -> tuple[RawFrame, ...]:
    # The frame that faulted may stand anywhere: a jump to a wrong address is a fault of its own.
    free = fault_index(frames) or 0
    end = next((n for n, frame in enumerate(frames) if n > free and not map.is_code(frame.address)), len(frames))
    # the map has the file's real name, the unwinder sometimes the one that the loader was given, or none
    return tuple(
        frame._replace(module=map.module_at(frame.address) or (frame.module if frame.symbol else None))
        for frame in frames[:end]
    )


def _share(until: float) -> float:
    return (until - time.monotonic()) * STACK_SHARE


def ask_gdb(target: Target, mixed: Mixed, until: float, suspect: faults.Suspect, *, crashed: bool) -> Told:
    """Ask gdb for the fault of a crash, and for the stacks that pystack could not give; for nothing else."""
    poor = [thread for thread in mixed.threads if len(_below_fault(thread)) < _POOR]
    wants_stacks = len(poor) == len(mixed.threads) or any(thread.tid == suspect.tid for thread in poor)
    if not crashed and not wants_stacks:
        return Told()
    program = find_gdb()
    if program is None:
        return Told(failure="absent")
    told = Told()
    try:
        with (
            Gdb(program, max(until - time.monotonic(), 1.0), target.root) as gdb,
            closing(Modules(gdb, target.map, target.executable, target.closed, target.known)) as modules,
        ):
            for command in target.commands:
                gdb.ask(command)
            if crashed:
                found = faults.find(gdb, modules, suspect, stack_limit=target.stack_limit, is_core=target.is_core)
                told = told._replace(found=found)
            if wants_stacks:
                from triage.stacks.gdb_stacks import stacks

                only = suspect.tid if len(poor) < len(mixed.threads) else None
                told = told._replace(threads=_all_grounded(stacks(gdb, modules, target.names, only=only), target.map))
    except GdbFailed as failure:
        return told._replace(failure=str(failure))
    except (OSError, ImportError) as error:
        return told._replace(failure=str(error))
    return told


def _richer(thread: RawThread, by_gdb: RawThread | None) -> RawThread:
    return thread._replace(native=by_gdb.native) if by_gdb and _told_by(by_gdb) > _told_by(thread) else thread


def _told_by(thread: RawThread) -> tuple[int, int]:
    frames = _below_fault(thread)
    return len(frames), sum(frame.symbol is not None for frame in frames)


def _below_fault(thread: RawThread) -> tuple[RawFrame, ...]:
    return thread.native[fault_index(thread.native) or 0 :]


def _with_callers(thread: RawThread, target: Target) -> RawThread:
    return thread._replace(native=named_at_calls(thread.native, target.map, target.closed))


def suspect_in(threads: Sequence[RawThread]) -> faults.Suspect:
    """The thread whose stack leads through a signal handler, and the address below it."""
    for thread in threads:
        at = fault_index(thread.native)
        if at is not None:
            return faults.Suspect(thread.tid, thread.native[at].address, is_sure=True)
    return faults.Suspect()


def collected(target: Target, mixed: Mixed, told: Told, dumped: faults.Suspect, *, crashed: bool) -> Collected:
    """One answer from two: stacks from pystack where it has them, from gdb elsewhere, and the fault from gdb.

    `dumped` is the thread that a core names as the one that crashed.
    """
    by_gdb = {thread.tid: thread for thread in told.threads}
    raw = [_richer(thread, by_gdb.get(thread.tid)) for thread in mixed.threads]
    known = {thread.tid for thread in raw}
    raw += [thread for thread in told.threads if thread.tid not in known]
    suspect = suspect_in(raw) if crashed else faults.Suspect()
    if suspect.tid is None:
        suspect = dumped
    if told.found:
        suspect = faults.Suspect(told.found.tid, told.found.pc)
    if crashed:
        raw = [_with_callers(thread, target) if thread.tid == suspect.tid else thread for thread in raw]
    left_out = {tid: (native, python) for tid, native, python in mixed.left_out}
    threads = tuple(
        Thread(
            target.names.get(thread.tid) or thread.name,
            is_it := crashed and thread.tid == suspect.tid,
            clean_python(thread.python, left_out.get(thread.tid, (0, 0))[1]),
            clean(
                thread.native,
                crashed=is_it,
                fault_pc=suspect.pc if is_it else None,
                left_out=left_out.get(thread.tid, (0, 0))[0],
                base=target.map.base,
            ),
        )
        for thread in raw
    )
    return Collected(threads, told.found.fault if told.found else None, python=mixed.python)
