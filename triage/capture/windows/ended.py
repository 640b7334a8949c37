"""What a run on Windows leaves to be told. No call of Windows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from triage.capture.faults import Note
from triage.capture.windows.watching import Watched


class Ended(NamedTuple):
    """How a run ended: the processes that were seen, their dumps, and what was read of them before they were gone."""

    pid: int
    exit_code: int
    seconds: float
    processes: tuple[Watched, ...]
    dumps: dict[int, Path]
    notes: dict[int, Note]
    faults: dict[int, bytes]
    hanging: dict[int, bytes]
    peaks: dict[int, int]
    stopped_by: str | None
    stopped_after: float
    interrupted: bool
    debugged: bool
    logs: tuple[tuple[str, bytes], ...]
    errors_are_read: bool
    output_is_read: bool
    problems: tuple[str, ...]

    @property
    def crashed(self) -> tuple[Watched, ...]:
        """The processes that ended by an exception; without a debugger, those of which an exit code says so."""
        return () if self.stopped_by else tuple(process for process in self.processes if process.crashed)
