"""Starts the program on Windows and stays with it to its end: output, timeout, Ctrl-C, and what becomes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType

from triage.capture.command import CannotStart, Program
from triage.capture.hook_files import FaultDirectory
from triage.capture.supervision import Interrupts, StopReason
from triage.capture.windows import Ended, debugger, output, winapi
from triage.capture.windows.debug_events import Watch
from triage.capture.windows.dump_files import DumpPlaces

assert sys.platform == "win32"

_LOOK_EVERY = 100
_NOT_FOUND, _NO_PROGRAM = (2, 3), 193
# faulthandler's watchdog writes at the very moment at which we would end the program.
_STACKS_TAKE_AT_MOST = 1.0
_DYING_TAKES_AT_MOST = 10.0


class Supervisor:
    """One run of one program."""

    def __init__(
        self,
        program: Program,
        faults: FaultDirectory,
        places: DumpPlaces,
        *,
        debug: bool,
        full: bool,
        framework_log: bool,
        timeout: float | None,
    ) -> None:
        self._program = program
        self._faults = faults
        self._timeout = timeout
        self._environment = faults.environment(hold=False, framework_log=framework_log)
        if timeout is not None and faults.path is not None:
            self._environment["TRIAGE_DEADLINE"] = f"{time.time() + timeout:.3f}"
        self._output = output.Output()
        self._interrupts = Interrupts()
        self._debugged = debug
        self._child: debugger.DebuggedProgram | PlainProgram = (
            debugger.DebuggedProgram(places, faults.has_finished, full=full) if debug else PlainProgram()
        )

    def run(self) -> Ended:
        """Start the program and come back when it has ended; raises CannotStart."""
        began, stopped_after = time.monotonic(), 0.0
        stopped_by: StopReason | None = None
        with _InterruptHandlers(self._interrupted):
            self._start()
            while (code := self._child.wait(_LOOK_EVERY)) is None:
                now = time.monotonic()
                if stopped_by is not None:
                    if now - began - stopped_after > _DYING_TAKES_AT_MOST:
                        code = 1
                        break
                elif self._timeout is not None and now - began >= self._timeout:
                    stopped_by, stopped_after = "timeout", now - began
                    self._end(stopped_by)
                elif self._interrupts.have_no_effect(now, self._output.kept.passed):
                    stopped_by, stopped_after = "interrupt", now - began
                    self._end(stopped_by)
            survivors = self._child.running
            self._child.leave()
            self._output.drain()
            if survivors:
                self._output.leave_to_a_copier()
        failed = code != 0 or any(process.crashed for process in self._child.watch.processes.values())
        seen = {*self._faults.look().hooked, self._child.pid}
        return Ended(
            pid=self._child.pid,
            exit_code=code,
            processes=tuple(self._child.watch.processes.values()),
            dumps=self._child.dumps,
            notes={pid: self._faults.note(pid) for pid in seen} if failed else {},
            faults={pid: self._faults.dump(pid) for pid in seen} if failed else {},
            hanging={pid: self._faults.stacks(pid) for pid in seen} if stopped_by else {},
            peaks=self._child.peaks,
            stopped_by=stopped_by,
            stopped_after=stopped_after,
            debugged=self._debugged,
            logs=tuple(self._output.logs()) if failed else (),
            errors_are_read=self._output.errors_are_read,
            output_is_read=self._output.output_is_read,
            problems=tuple(self._child.problems),
        )

    def _start(self) -> None:
        arguments = list(self._program.arguments)
        # A batch file is run by the command interpreter, which Windows finds by itself where no program is named.
        is_program = self._program.path.lower().endswith((".exe", ".com"))
        if not is_program:
            arguments[0] = self._program.path
        path = os.path.abspath(self._program.path) if is_program else None
        line = subprocess.list2cmdline(arguments)
        try:
            self._child.start(path, line, self._environment, self._output.for_child())
        except OSError as error:
            raise CannotStart(
                _why_not(self._program.path, error), 127 if error.winerror in _NOT_FOUND else 126
            ) from None
        self._output.started()

    def _interrupted(self) -> None:
        """Ctrl-C reaches the program by itself, since it has the same console; a second one may ask us to end it."""
        self._interrupts.note(time.monotonic(), self._output.kept.passed)

    def _end(self, why: StopReason) -> None:
        """Take the stacks of what hangs, then end it all."""
        if why == "timeout":
            self._wait_for_stacks()
        hooked = [pid for pid in self._child.running if self._faults.note(pid).hooked] or list(self._child.running)
        for pid in hooked[:1]:
            self._child.dump_hanging(pid, {"writer": "triage", "hangs": why})
        self._child.end_all()

    def _wait_for_stacks(self) -> None:
        until = time.monotonic() + _STACKS_TAKE_AT_MOST
        wanted = [pid for pid in self._child.running if self._faults.note(pid).hooked]
        while time.monotonic() < until and not all(self._faults.stacks(pid) for pid in wanted):
            self._child.wait(_LOOK_EVERY // 2)


class PlainProgram:
    """A program without a debugger (--no-debugger): its exit code is all that Windows reveals of a crash.

    Of its children we know only what our hook wrote.
    """

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
        """Wait this long; the exit code once the program has ended."""
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


class _InterruptHandlers:
    """Ctrl-C belongs to the program while it runs; afterwards it is ours again."""

    def __init__(self, noted: Callable[[], None]) -> None:
        self._noted = noted
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        def note(number: int, frame: FrameType | None) -> None:
            self._noted()

        with suppress(ValueError):  # signals belong to the main thread
            for number in (signal.SIGINT, signal.SIGBREAK):
                self._before[number] = signal.signal(number, note)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _why_not(program: str, error: OSError) -> str:
    if error.winerror == _NO_PROGRAM:
        return f"{program} is not a program that Windows can run; name the one that runs it: triage run -- PROGRAM …"
    if error.winerror in _NOT_FOUND:
        return f"{program} could not be started: it does not exist."
    return f"{program} could not be started ({error.strerror}); check that you may run it."
