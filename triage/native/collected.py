"""What the collector found."""

from __future__ import annotations

from typing import NamedTuple

from triage.crash import ExitStatus, Fault, Library, Thread


class Collected(NamedTuple):
    """Threads with their stacks, innermost frame first, the fault, and a sentence for each thing that is missing.

    What follows `missing` is known of cores only, save the version of Python.
    """

    threads: tuple[Thread, ...] = ()
    fault: Fault | None = None
    missing: tuple[str, ...] = ()
    python: str | None = None
    exit: ExitStatus | None = None
    pid: int | None = None
    command: str | None = None
    executable: str | None = None
    libraries: tuple[Library, ...] = ()
    complete: bool = True
