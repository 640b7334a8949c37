"""What the supervisors of all systems share: which output is kept, and when and why a run is stopped."""

from __future__ import annotations

import os
from collections import deque
from typing import Literal

StopReason = Literal["timeout", "interrupt"]
# The exit code of `triage run` for a program that it had to end, as timeout(1) and a shell have it.
STOPPED_CODES: dict[StopReason, int] = {"timeout": 124, "interrupt": 130}

PIECE = 65536
_FIRST = 1024 * 1024
_LAST = 3 * 1024 * 1024
# Two interrupts this close together, with nothing printed in between, mean that the first had no effect.
_INSISTENCE = 60.0
# How long a program may take to obey the second one, say to save its work; a third one ends the wait.
_REACTING_TAKES_AT_MOST = 5.0


class Kept:
    """The first and the last part of a stream; what lies between is only counted."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._last: deque[bytes] = deque()
        self._size = 0
        self.dropped = 0
        self._dropped_line_ends = 0
        self.passed = 0

    def add(self, data: bytes) -> None:
        """Keep a piece, and drop the oldest of the last part when there is too much."""
        self.passed += len(data)
        room = _FIRST - len(self._first)
        if room > 0:
            self._first += data[:room]
            data = data[room:]
        if data:
            self._last.append(data)
            self._size += len(data)
        while self._last and self._size - len(self._last[0]) > _LAST:
            gone = self._last.popleft()
            self._size -= len(gone)
            self.dropped += len(gone)
            self._dropped_line_ends += gone.count(b"\n")

    @property
    def content(self) -> bytes:
        """What was kept; a line of its own, which the log reader knows, marks what is missing."""
        mark = b"\n[triage: %d bytes with %d line ends left out here]\n" % (self.dropped, self._dropped_line_ends)
        return bytes(self._first) + (mark if self.dropped else b"") + b"".join(self._last)


def tail_of(path: str, start: int) -> bytes:
    """What was written to a file since it had `start` bytes, without the middle where that is much."""
    kept = Kept()
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            # A file that became smaller was emptied meanwhile: then all of it is new.
            file.seek(start if start <= size else 0)
            while data := file.read(PIECE):
                kept.add(data)
    except OSError:
        pass
    return kept.content


class Interrupts:
    """The times of Ctrl-C, each with how much the program had printed by then.

    Ctrl-C goes to the program; we end it only when it does not react.
    """

    def __init__(self) -> None:
        self.came = False
        self._noted: list[tuple[float, int]] = []

    def note(self, now: float, printed: int) -> None:
        """Another one; those that the program has answered with output no longer count."""
        self.came = True
        self._noted = [(at, had) for at, had in self._noted if now - at < _INSISTENCE and had == printed]
        self._noted.append((now, printed))

    def have_no_effect(self, now: float, printed: int) -> bool:
        """Whether the program had time to react to a second one and did not, or a third one came."""
        if len(self._noted) != 2:
            return len(self._noted) > 2
        at, had = self._noted[-1]
        return now - at >= _REACTING_TAKES_AT_MOST and had == printed
