"""Runs a program without a debugger (--no-debugger): all that Windows then tells of a crash is an exit code."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from triage.capture.command import Program
from triage.capture.windows import error_reporting
from triage.capture.windows.live import winapi
from triage.capture.windows.watching import Watch

if TYPE_CHECKING:
    from triage.capture.windows.remains import Ended


class PlainProgram:
    """A program that nobody debugs; of its children we know only what our hook wrote."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.pid = 0
        self.dumps: dict[int, Path] = {}
        self.problems: list[str] = []
        self.peaks: dict[int, int] = {}
        self._handle = 0

    def start(self, path: str | None, command_line: str, environment: dict[str, str], streams: dict[int, int]) -> None:
        """Start it; raises OSError."""
        self.pid, self._handle = winapi.start(path, command_line, environment, streams, debug=False)
        self.watch.began(self.pid)

    def wait(self, milliseconds: int) -> int | None:
        """Wait so long; the exit code once the program has ended."""
        code = winapi.exit_code_of(self._handle, milliseconds)
        if code is not None:
            self.watch.ended(self.pid, code, None)
            if peak := winapi.peak_memory_of(self._handle):
                self.peaks[self.pid] = peak
        return code

    @property
    def running(self) -> tuple[int, ...]:
        """The process, while it runs."""
        return () if winapi.exit_code_of(self._handle, 0) is not None else (self.pid,)

    def leave(self) -> None:
        """Nothing holds those that outlive the program."""

    def dump_hanging(self, pid: int, comment: dict[str, object]) -> None:
        """No dump without a debugger: that is what was asked for."""

    def end_all(self) -> None:
        """End the program and everything that it started."""
        import psutil

        with suppress(psutil.Error):
            for process in psutil.Process(self.pid).children(recursive=True):
                with suppress(psutil.Error):
                    process.kill()
        winapi.end_process(self._handle, 1)


def dumps_of_windows(program: Program, ended: Ended) -> tuple[dict[int, Path], tuple[str, ...]]:
    """The dumps that Windows itself has kept of a crash, by process, and what to say of them."""
    name = Path(program.path).name
    folder = error_reporting.folder_for(name)
    if folder is None:
        return {}, (error_reporting.how_to_set_up(name),)
    found = {pid: dump for pid in (ended.pid, *ended.notes) if (dump := error_reporting.dump_of(name, pid, folder))}
    if not found:
        return {}, (f"Windows keeps dumps of {name} in {folder}, but there is none of this run.",)
    return found, tuple(f"the dump is {path}" for path in found.values())
