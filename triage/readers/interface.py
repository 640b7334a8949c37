"""What a reader must do, and how it says that it cannot."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from triage.crash import Crash


class Unreadable(Exception):
    """An input that could not be read; the text is one sentence with what to try."""


class Reader(Protocol):
    """Turns the bytes of one kind of input into facts."""

    def read(self, name: str, input_id: int, head: bytes, rest: BinaryIO) -> Crash:
        """The facts in an input whose first bytes are `head` and whose other bytes are still in `rest`."""
        ...
