"""Reading what a person pastes into a terminal.

A terminal hands over a line at a time and cuts each at 4,096 bytes; logs have longer ones. So line mode is left for as
long as we read, and Ctrl-D ends the paste as it always does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from triage.readers.interface import Stream

# Ctrl-D; and what Linux leaves in its place when it was typed just before line mode was left.
_ENDS = (b"\x04", b"\x00")
_CHUNK = 64 * 1024


@contextmanager
def paste_from(descriptor: int) -> Iterator[Stream | None]:
    """The terminal as a stream without line mode; None where that cannot be had (Windows, a closed terminal)."""
    try:
        import termios

        before = termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):
        yield None
        return
    changed = [*before[:6], list(before[6])]
    # No line mode, and no ^D on the screen where the person ends the paste.
    changed[3] &= ~(termios.ICANON | termios.ECHOCTL)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        yield _Pasted(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class _Pasted:
    """What is typed or pasted, up to Ctrl-D."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; fewer mean that the paste has ended."""
        parts = [self._held]
        have = len(self._held)
        while not self._ended and (size < 0 or have < size):
            data = os.read(self._descriptor, _CHUNK)
            end = min((at for mark in _ENDS if (at := data.find(mark)) >= 0), default=None)
            self._ended = end is not None or not data
            data = data[:end]
            parts.append(data)
            have += len(data)
        whole = b"".join(parts)
        cut = len(whole) if size < 0 else size
        self._held = whole[cut:]
        return whole[:cut]
