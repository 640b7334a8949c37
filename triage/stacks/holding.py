"""A stopped process is handed back as it came: stopped, and traced by nobody."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 3.0
# The signal that stops a process is sent in an instant and takes a moment to reach all of its threads.
_MOMENT = 0.1


@contextmanager
def handed_back(pid: int) -> Iterator[None]:
    """Whatever happens inside, a process that was stopped before is stopped and untraced after."""
    was_stopped = _has_stopped(pid)
    try:
        yield
    finally:
        if was_stopped:
            _stop_again(pid)


def _has_stopped(pid: int) -> bool:
    until = time.monotonic() + _MOMENT
    while state_of(pid) in ("R", "S", "D") and time.monotonic() < until:
        time.sleep(0.002)
    return state_of(pid) == "T"


def _stop_again(pid: int) -> None:
    """The kernel stops it by itself once its tracer is gone; this makes sure, and waits until it is so."""
    until = time.monotonic() + _PATIENCE
    while state_of(pid) not in ("T", None, "Z", "X") and time.monotonic() < until:
        if state_of(pid) != "t":  # it runs: a tracer let it go
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                return
        time.sleep(0.005)


def state_of(pid: int) -> str | None:
    """The state letter that the kernel gives a process: T stopped, t traced, Z dead; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b") ")[2][:1].decode("ascii", "replace") or None
    except OSError:
        return None
