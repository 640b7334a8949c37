"""The stacks of a live process on Linux: what /proc says of it, and its state, which is given back as it was."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from triage.stacks import Collected, gaps, pystack
from triage.stacks.debuggers import Target, ask_gdb, grounded, merged, pystack_seconds, suspect_in
from triage.stacks.gdb_fault import Suspect
from triage.stacks.memory_map import MemoryMap, Region

_DELETED = " (deleted)"
# states of a process that is gone or a zombie
_ENDED = (None, "Z", "X")
_PATIENCE = 3.0
# The signal that stops a process takes a moment to reach all of its threads.
_MOMENT = 0.1


def collect_process(pid: int, *, crashed: bool, budget: float) -> Collected:
    """The stacks of a live process, and the fault of one that crashed; see `from_process`."""
    if not sys.platform.startswith("linux"):
        return Collected(missing=(gaps.not_linux(),))
    until = time.monotonic() + budget
    if _state_of(pid) in _ENDED:
        return Collected(missing=(gaps.gone(pid),))
    with _given_back(pid):
        try:
            target = _target(pid)
        except PermissionError:
            return Collected(missing=(gaps.not_permitted(pid, crashed=crashed),))
        except OSError:
            return Collected(missing=(gaps.gone(pid),))
        by_pystack = grounded(pystack.of_process(pid, pystack_seconds(until)), target.map)
        suspect = suspect_in(by_pystack.threads) if crashed else Suspect()
        by_gdb = ask_gdb(target, by_pystack, until, suspect, crashed=crashed)
        missing = gaps.of_process(pid, by_pystack, by_gdb, crashed=crashed, has_ended=_state_of(pid) in _ENDED)
        return merged(target, by_pystack, by_gdb, Suspect(), crashed=crashed)._replace(missing=missing)


def _target(pid: int) -> Target:
    map = map_of(pid)
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = None
    return Target((f"-target-attach {pid}",), map, thread_names(pid), stack_limit(pid), executable, is_core=False)


def map_of(pid: int) -> MemoryMap:
    """The memory map of a live process; raises OSError if it is gone or access is denied."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        return MemoryMap(_region(line) for line in file)


def _region(line: str) -> Region:
    fields = line.rstrip("\n").split(None, 5)
    start, end = (int(part, 16) for part in fields[0].split("-"))
    path = fields[5] if len(fields) > 5 else None
    return Region(start, end, fields[1].rstrip("ps"), int(fields[2], 16), path.removesuffix(_DELETED) if path else None)


def stack_limit(pid: int) -> int | None:
    """The soft limit of the main thread's stack, or None if there is none."""
    try:
        with open(f"/proc/{pid}/limits", encoding="ascii", errors="replace") as file:
            line = next((line for line in file if line.startswith("Max stack size")), "")
    except OSError:
        return None
    words = line.split()
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else None


def thread_names(pid: int) -> dict[int, str]:
    """The name of every thread of a live process by its id."""
    names = {}
    try:
        for entry in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{entry}/comm", encoding="utf-8", errors="replace") as file:
                names[int(entry)] = file.read().rstrip("\n")
    except OSError:
        pass  # it ended meanwhile, and names are a nicety
    return names


@contextmanager
def _given_back(pid: int) -> Iterator[None]:
    """Whatever happens inside, a process that was stopped before is stopped and untraced afterwards."""
    was_stopped = _has_stopped(pid)
    try:
        yield
    finally:
        if was_stopped:
            _stop_again(pid)


def _has_stopped(pid: int) -> bool:
    until = time.monotonic() + _MOMENT
    while _state_of(pid) in ("R", "S", "D") and time.monotonic() < until:
        time.sleep(0.002)
    return _state_of(pid) == "T"


def _stop_again(pid: int) -> None:
    """The kernel stops the process by itself once its tracer is gone; make sure of it, and wait for it."""
    until = time.monotonic() + _PATIENCE
    while _state_of(pid) not in ("T", *_ENDED) and time.monotonic() < until:
        if _state_of(pid) != "t":  # it runs: a tracer let it go
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                return
        time.sleep(0.005)


def _state_of(pid: int) -> str | None:
    """The state letter of a process: T stopped, t traced, Z dead; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b") ")[2][:1].decode("ascii", "replace") or None
    except OSError:
        return None
