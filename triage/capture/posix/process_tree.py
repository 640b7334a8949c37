"""The processes of a run: who descends from whom, what state they are in, and how they are ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import NamedTuple

# In the order of their numbers on Linux; the hook arms these five.
_FATAL = {"SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGSEGV": 11}
# The system calls behind sleep(), by their numbers on x86-64 and on arm64.
_NANOSLEEP, _CLOCK_NANOSLEEP = {"35", "101"}, {"230", "115"}
# How long a process may take to obey SIGTERM before it gets SIGKILL, and to be gone after that.
_GRACE = 2.0


class Running(NamedTuple):
    """A process as the system lists it."""

    pid: int
    parent: int
    state: str


def descendants(root: int, marker: str | None = None) -> list[Running]:
    """The process and all below it, parents first; with `marker` also those that carry it in their environment.

    A process whose parent has died has a new parent outside the run; the marker, the run's directory, still finds it.
    """
    listed = {process.pid: process for process in _all()}
    found: dict[int, Running] = {root: listed[root]} if root in listed else {}
    wanted = {root}
    while wanted:
        below = {p.pid: p for p in listed.values() if p.parent in wanted and p.pid not in found}
        found.update(below)
        wanted = set(below)
    if marker is not None:
        ours = (os.getpid(), *found)
        found.update({p.pid: p for p in listed.values() if p.pid not in ours and _carries(p.pid, marker)})
    return [process for process in found.values() if process.state != "Z"]


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty where it can't be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [part.decode("utf-8", "replace") for part in file.read(65536).split(b"\0") if part]
    except OSError:
        return []


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be reaped has."""
    process = _read(pid)
    return process is None or process.state in "ZX"


def signal_that_was_taken(pid: int) -> int | None:
    """Which of the five armed signals has come to a process whose dump goes elsewhere: its handler is no longer set.

    The hook's handlers are put back to the default by the signal itself, and the kernel shows which are set. A script
    can put one back as well, so a thread must also be in the sleep that the hook's handler is.
    """
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    gone = [number for number in _FATAL.values() if not caught >> (number - 1) & 1]
    # A process in which none is set was never armed, or something else has replaced them all.
    return gone[0] if len(gone) == 1 and _sleeps_in_handler(pid) else None


def _sleeps_in_handler(pid: int) -> bool:
    """Whether a thread is in libc's sleep(), which waits for a span of time; Python's own waits for a point of time."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    for thread in threads:
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            call, *arguments = file.read().split()
            if call in _NANOSLEEP or (call in _CLOCK_NANOSLEEP and arguments[:2] == ["0x0", "0x0"]):
                return True
    return False


def send(pid: int, number: int) -> None:
    """Send a signal; a process that is gone does not matter."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end_all(pids: list[int]) -> None:
    """End processes: SIGTERM first, SIGKILL after two seconds; stopped ones are woken so that they can react."""
    for pid in pids:
        send(pid, signal.SIGTERM)
        send(pid, signal.SIGCONT)
    left = _wait_for(pids)
    for pid in left:
        send(pid, signal.SIGKILL)
    _wait_for(left)


def _wait_for(pids: list[int]) -> list[int]:
    """Wait until they are gone, for the time of grace at most; returns those that are still there."""
    until = time.monotonic() + _GRACE
    left = [pid for pid in pids if not is_gone(pid)]
    while left and time.monotonic() < until:
        time.sleep(0.02)
        left = [pid for pid in left if not is_gone(pid)]
    return left


def _all() -> list[Running]:
    if os.path.isdir("/proc/self"):
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [process for process in map(_read, pids) if process]
    return _through_psutil()


def _read(pid: int) -> Running | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name is in parentheses and may contain anything, even parentheses and spaces.
            _, _, rest = file.read().decode("utf-8", "replace").rpartition(") ")
    except OSError:
        return _one_through_psutil(pid)
    state, parent = rest.split()[:2]
    return Running(pid, int(parent), state)


def _carries(pid: int, marker: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return marker.encode() in file.read()
    except OSError:
        return False


def _through_psutil() -> list[Running]:
    """All processes on macOS, which has no /proc."""
    import psutil

    found = []
    for process in psutil.process_iter(["pid", "ppid", "status"]):
        listed = process.info
        state = "Z" if listed["status"] == psutil.STATUS_ZOMBIE else "S"
        found.append(Running(listed["pid"], listed["ppid"] or 0, state))
    return found


def _one_through_psutil(pid: int) -> Running | None:
    if os.path.isdir("/proc/self"):
        return None
    return next((process for process in _through_psutil() if process.pid == pid), None)
