"""Stacks as a collector hands them over, before they are cleaned for people."""

from __future__ import annotations

from typing import NamedTuple

from triage.crash import PythonFrame


class RawFrame(NamedTuple):
    """A native frame with its address in the process; `module` is the path of the file that it was loaded from."""

    address: int
    symbol: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None


class RawThread(NamedTuple):
    """A thread's two stacks, innermost frame first."""

    tid: int
    name: str = ""
    python: tuple[PythonFrame, ...] = ()
    native: tuple[RawFrame, ...] = ()
