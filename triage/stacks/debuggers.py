"""pystack and gdb on one process or core: who is asked for what, and one answer made of both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from triage.crash import Thread
from triage.stacks import Collected, gdb_fault
from triage.stacks.gdb import Gdb, GdbFailed, GdbFailure, Modules, find_gdb, stacks
from triage.stacks.gdb_fault import FoundFault, Suspect
from triage.stacks.memory_map import MemoryMap
from triage.stacks.native_stack import RawFrame, RawThread, fault_index, named_at_calls, trimmed, trimmed_python
from triage.stacks.pystack import PystackAnswer

# pystack gets the larger part of the time: without stacks the rest is of little use.
_STACK_SHARE = 0.7
# A stack with fewer frames is incomplete: there is always a main function and what started it.
_FEWEST_FRAMES = 3


class Target(NamedTuple):
    """What gdb is pointed at, and what is known about it.

    Of a core: `closed` are mapped files that must not be opened, `known` has the loader's name of each of the others,
    and below the folder `root` are those files under their names in the core.
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


class GdbAnswer(NamedTuple):
    """The fault, and stacks where gdb was asked for them; or why it failed, and what it said."""

    found: FoundFault | None = None
    threads: tuple[RawThread, ...] = ()
    failure: GdbFailure | None = None
    detail: str = ""


def pystack_seconds(until: float) -> float:
    """How long pystack may take when all must be done by `until`."""
    return (until - time.monotonic()) * _STACK_SHARE


def grounded(answer: PystackAnswer, map: MemoryMap) -> PystackAnswer:
    """The stacks up to the first address that is not code: a lost unwinder makes up the rest."""
    return answer._replace(threads=_all_grounded(answer.threads, map))


def _all_grounded(threads: Sequence[RawThread], map: MemoryMap) -> tuple[RawThread, ...]:
    return tuple(thread._replace(native=_grounded(thread.native, map)) for thread in threads)


def _grounded(frames: tuple[RawFrame, ...], map: MemoryMap) -> tuple[RawFrame, ...]:
    # The frame that faulted may be anywhere: a jump to a wrong address is a fault too.
    free = fault_index(frames) or 0
    end = next((n for n, frame in enumerate(frames) if n > free and not map.is_code(frame.address)), len(frames))
    # the map has the real path of the file; the unwinder sometimes has the loader's name for it, or none
    return tuple(
        frame._replace(module=map.module_at(frame.address) or (frame.module if frame.symbol else None))
        for frame in frames[:end]
    )


def ask_gdb(target: Target, by_pystack: PystackAnswer, until: float, suspect: Suspect, *, crashed: bool) -> GdbAnswer:
    """Ask gdb for the fault of a crash, and for the stacks that pystack could not give; for nothing else."""
    poor = [thread for thread in by_pystack.threads if len(_below_handlers(thread)) < _FEWEST_FRAMES]
    wants_stacks = len(poor) == len(by_pystack.threads) or any(thread.tid == suspect.tid for thread in poor)
    if not crashed and not wants_stacks:
        return GdbAnswer()
    program = find_gdb()
    if program is None:
        return GdbAnswer(failure="not-installed")
    answer = GdbAnswer()
    try:
        with (
            Gdb(program, max(until - time.monotonic(), 1.0), target.root) as gdb,
            closing(Modules(gdb, target.map, target.executable, target.closed, target.known)) as modules,
        ):
            for command in target.commands:
                gdb.ask(command)
            if crashed:
                found = gdb_fault.find(gdb, modules, suspect, stack_limit=target.stack_limit, is_core=target.is_core)
                answer = answer._replace(found=found)
            if wants_stacks:
                only = suspect.tid if len(poor) < len(by_pystack.threads) else None
                threads = stacks(gdb, modules, target.names, only=only)
                answer = answer._replace(threads=_all_grounded(threads, target.map))
    except GdbFailed as failure:
        return answer._replace(failure=failure.kind, detail=str(failure))
    except (OSError, ImportError) as error:
        unusable = GdbFailed.from_exception(error)
        return answer._replace(failure=unusable.kind, detail=str(unusable))
    return answer


def suspect_in(threads: Sequence[RawThread]) -> Suspect:
    """The thread whose stack goes through a signal handler, and the address below the handler."""
    for thread in threads:
        at = fault_index(thread.native)
        if at is not None:
            return Suspect(thread.tid, thread.native[at].address, is_sure=True)
    return Suspect()


def merged(
    target: Target, by_pystack: PystackAnswer, by_gdb: GdbAnswer, dumped: Suspect, *, crashed: bool
) -> Collected:
    """The better stack of each thread, pystack's or gdb's, and gdb's fault.

    `dumped` is the thread that a core names as the one that crashed.
    """
    raw = _threads(by_pystack.threads, by_gdb.threads)
    suspect = suspect_in(raw) if crashed else Suspect()
    if suspect.tid is None:
        suspect = dumped
    if by_gdb.found:
        suspect = Suspect(by_gdb.found.tid, by_gdb.found.pc)
    left_out = {tid: (native, python) for tid, native, python in by_pystack.left_out}
    threads = tuple(
        _thread(thread, target, suspect if crashed and thread.tid == suspect.tid else None, left_out) for thread in raw
    )
    return Collected(threads, by_gdb.found.fault if by_gdb.found else None, python=by_pystack.python)


def _threads(by_pystack: Sequence[RawThread], by_gdb: Sequence[RawThread]) -> list[RawThread]:
    other = {thread.tid: thread for thread in by_gdb}
    known = {thread.tid for thread in by_pystack}
    found = [_richer(thread, other.get(thread.tid)) for thread in by_pystack]
    return found + [thread for thread in by_gdb if thread.tid not in known]


def _richer(thread: RawThread, by_gdb: RawThread | None) -> RawThread:
    return thread._replace(native=by_gdb.native) if by_gdb and _richness(by_gdb) > _richness(thread) else thread


def _richness(thread: RawThread) -> tuple[int, int]:
    frames = _below_handlers(thread)
    return len(frames), sum(frame.symbol is not None for frame in frames)


def _below_handlers(thread: RawThread) -> tuple[RawFrame, ...]:
    return thread.native[fault_index(thread.native) or 0 :]


def _thread(
    thread: RawThread, target: Target, crash: Suspect | None, left_out: Mapping[int, tuple[int, int]]
) -> Thread:
    """The thread as a person should see it; `crash` is where it crashed, if it is the one that did."""
    native_left_out, python_left_out = left_out.get(thread.tid, (0, 0))
    native = named_at_calls(thread.native, target.map, target.closed) if crash else thread.native
    return Thread(
        target.names.get(thread.tid) or thread.name,
        crash is not None,
        trimmed_python(thread.python, python_left_out),
        trimmed(
            native,
            crashed=crash is not None,
            fault_pc=crash.pc if crash else None,
            left_out=native_left_out,
            base=target.map.base,
        ),
    )
