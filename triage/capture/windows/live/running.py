"""One run on Windows from its start to its end: output, timeout, Ctrl-C, and what was seen of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType

from triage.capture.command import CannotStart, Program
from triage.capture.faults import FaultDirectory
from triage.capture.interrupts import Interrupts
from triage.capture.windows.dumps import DumpPlaces
from triage.capture.windows.live.debugging import DebuggedProgram
from triage.capture.windows.live.plain import PlainProgram
from triage.capture.windows.live.streams import Streams
from triage.capture.windows.remains import Ended

_LOOK_EVERY = 100
_NOT_FOUND, _NO_PROGRAM = (2, 3), 193
# faulthandler's watchdog writes at the same moment at which we would end the program.
_STACKS_TAKE_AT_MOST = 1.0
_DYING_TAKES_AT_MOST = 10.0


class Runner:
    """One run of one program."""

    def __init__(
        self,
        program: Program,
        faults: FaultDirectory,
        places: DumpPlaces,
        *,
        debug: bool,
        full: bool,
        tf_log: bool,
        timeout: float | None,
    ) -> None:
        self._program = program
        self._faults = faults
        self._timeout = timeout
        self._environment = faults.environment(hold=False, tf_log=tf_log)
        if timeout is not None and faults.path is not None:
            self._environment["TRIAGE_DEADLINE"] = f"{time.time() + timeout:.3f}"
        self._streams = Streams()
        self._interrupts = Interrupts()
        self._debugged = debug
        self._child: DebuggedProgram | PlainProgram = (
            DebuggedProgram(places, faults.has_finished, full=full) if debug else PlainProgram()
        )

    def run(self) -> Ended:
        """Start the program and come back when it has ended; raises CannotStart."""
        began, stopped_by, stopped_after = time.monotonic(), None, 0.0
        with _Interrupting(self._interrupted):
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
                elif self._interrupts.have_no_effect(now, self._streams.kept.passed):
                    stopped_by, stopped_after = "interrupt", now - began
                    self._end(stopped_by)
            survivors = self._child.running
            self._child.leave()
            self._streams.drain()
            if survivors:
                self._streams.leave_to_a_copier()
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
            logs=tuple(self._streams.logs()) if failed else (),
            errors_are_read=self._streams.errors_are_read,
            output_is_read=self._streams.output_is_read,
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
            self._child.start(path, line, self._environment, self._streams.for_child())
        except OSError as error:
            raise CannotStart(
                _why_not(self._program.path, error), 127 if error.winerror in _NOT_FOUND else 126
            ) from None
        self._streams.started()

    def _interrupted(self) -> None:
        """Ctrl-C reaches the program by itself, for it has the same console; a second one may ask us to end it."""
        self._interrupts.note(time.monotonic(), self._streams.kept.passed)

    def _end(self, why: str) -> None:
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


class _Interrupting:
    """Ctrl-C is the program's while it runs; afterwards it is ours again."""

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
