"""What a reader must do, and how it reports that it cannot."""

from __future__ import annotations

from typing import Protocol

from triage.crash import Crash


class Unreadable(Exception):
    """An input that could not be read; the text is one sentence that says what to try."""


class Stream(Protocol):
    """Bytes that come in order; an empty read means that there are no more."""

    def read(self, size: int = -1, /) -> bytes: ...


class Reader(Protocol):
    """Turns the bytes of one kind of input into facts."""

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in an input whose first bytes are `head` and whose other bytes are still in `rest`."""
        ...
