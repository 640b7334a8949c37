"""Starts the child and stays with it to its end: passes on its output, notices crashes, hangs and interrupts.

What takes time to import is imported only when something has gone wrong: a healthy run must not be slowed down.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.capture.command import CannotStart, Program
from triage.capture.hook_files import FaultDirectory
from triage.capture.posix.output import Output
from triage.capture.supervision import Interrupts, StopReason

if TYPE_CHECKING:
    from triage.capture.memory import OomCounters
    from triage.capture.posix.held_process import Held

# How often we look for crashes of processes that are not our own child; a crashed one waits at least four seconds.
_LOOK_EVERY = 0.1
_SWEEP_EVERY = 5.0
_MANY = 64
_ROUNDS = 3
# Reading a native stack takes a good part of a second; of many that crash together, the first ones are enough.
_READ_NATIVELY = 3


class Ended(NamedTuple):
    """How a run ended: the raw wait status, what was read of the processes that crashed or hung, and its output."""

    pid: int
    wait_status: int
    seconds: float
    peak_bytes: int
    crashed: tuple[Held, ...]
    hanging: tuple[Held, ...]
    stopped_by: StopReason | None
    stopped_after: float
    interrupted: bool
    logs: tuple[tuple[str, bytes], ...]
    output_is_read: bool
    kills_before: OomCounters
    refusals_before: int | None


class Supervisor:
    """One run of one program."""

    def __init__(
        self, program: Program, faults: FaultDirectory, *, native: bool, framework_log: bool, timeout: float | None
    ):
        self._program = program
        self._faults = faults
        self._native = native
        self._timeout = timeout
        self._environment = faults.environment(hold=native, framework_log=framework_log)
        self._output = Output()
        self._pid = 0
        self._crashed: dict[int, Held] = {}
        self._hanging: list[Held] = []
        self._stopped_by: StopReason | None = None
        self._stopped_after = 0.0
        self._adopts = False
        self._interrupts = Interrupts()
        self._look_at = self._sweep_at = 0.0

    def run(self) -> Ended:
        """Start the program and come back when it has ended; raises CannotStart."""
        with _Signals(self) as wake_up:
            began = time.monotonic()
            if self._timeout is not None:
                self._adopts = _adopt_orphans(True)
            self._start()
            # Read while the child starts, so that it does not wait for us.
            from triage.capture.memory import limits_before, refusals_before

            kills, refusals = limits_before(), refusals_before()
            poller = select.poll()
            poller.register(wake_up, select.POLLIN)
            if self._output.source >= 0:
                poller.register(self._output.source, select.POLLIN)
            while not self._has_ended():
                for descriptor, _ in poller.poll(_LOOK_EVERY * 1000):
                    if descriptor == wake_up:
                        os.read(wake_up, 4096)
                    elif not self._output.pump():
                        poller.unregister(descriptor)
                self._look(began)
            self._look_for_crashes()
            self._output.drain()
            _, wait_status, usage = os.wait4(self._pid, 0)
            if self._adopts:
                _adopt_orphans(False)
        return Ended(
            pid=self._pid,
            wait_status=wait_status,
            seconds=time.monotonic() - began,
            peak_bytes=usage.ru_maxrss * (1 if os.uname().sysname == "Darwin" else 1024),
            crashed=tuple(self._crashed.values()),
            hanging=tuple(self._hanging),
            stopped_by=self._stopped_by,
            stopped_after=self._stopped_after,
            interrupted=self._interrupts.came,
            logs=tuple(self._output.logs()),
            output_is_read=self._output.output_is_read,
            kills_before=kills,
            refusals_before=refusals,
        )

    def leave(self) -> None:
        """Let go of the streams; what a surviving grandchild prints still reaches its reader."""
        self._output.leave_to_a_copier()
        self._output.close()

    def forward(self, number: int) -> None:
        """Forward a signal that was sent to us and meant for the child."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def pass_on_unless_typed(self, number: int) -> None:
        """Ctrl-C and Ctrl-\\ reach the child by themselves; the same signal from a program reaches only us."""
        if not _is_in_foreground():
            self.forward(number)

    def resized(self) -> None:
        """Our terminal has a new size; the child is notified once its own terminal has it too."""
        self._output.follow_size()
        self.forward(signal.SIGWINCH)

    def interrupted(self) -> None:
        """Ctrl-C; a second one without effect means that we should look at the program and end it."""
        self._interrupts.note(time.monotonic(), self._output.kept.passed)
        self.pass_on_unless_typed(signal.SIGINT)

    def _start(self) -> None:
        arguments = self._program.arguments
        try:
            self._pid = os.posix_spawn(
                self._program.path,
                arguments,
                self._environment,
                file_actions=self._output.file_actions(),
                # Python ignores these two, and a child would inherit that.
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
        except OSError as error:
            self._output.close()
            raise CannotStart(
                _why_not(self._program.path, error), 127 if isinstance(error, FileNotFoundError) else 126
            ) from None
        self._output.started()

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _look(self, began: float) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._output.follow_modes()
            self._look_for_crashes()
            self._look_at = now + _LOOK_EVERY
        if now >= self._sweep_at:
            self._sweep()
            self._sweep_at = now + _SWEEP_EVERY
        if self._stopped_by is None and self._timeout is not None and now - began >= self._timeout:
            self._end("timeout", now - began)
        elif self._stopped_by is None and self._interrupts.have_no_effect(now, self._output.kept.passed):
            self._end("interrupt", now - began)

    def _look_for_crashes(self) -> None:
        seen = self._faults.look()
        for pid in seen.dumped:
            if pid not in self._crashed:
                self._take(pid, None)
        if self._native and (keep_their_dump := seen.own - self._crashed.keys()):
            from triage.capture.posix.process_tree import signal_that_was_taken

            for pid in sorted(keep_their_dump):
                if number := signal_that_was_taken(pid):
                    self._take(pid, number)

    def _take(self, pid: int, number: int | None) -> None:
        from triage.capture.posix.held_process import read_crashed

        before = len(self._crashed)
        many = self._native and pid != self._pid and before >= _READ_NATIVELY
        why_not = f"{before} others had crashed already" if many else "" if self._native else "--no-native"
        self._crashed[pid] = read_crashed(pid, self._faults, number, why_not_native=why_not)

    def _sweep(self) -> None:
        """Forget workers that came and went without a fault."""
        seen = self._faults.look()
        if len(seen.hooked) > _MANY:
            for pid in seen.hooked - {*seen.dumped, *self._crashed, self._pid}:
                if not os.path.exists(f"/proc/{pid}"):
                    self._faults.forget(pid)

    def _end(self, why: StopReason, after: float) -> None:
        """Read the stacks of every process of the tree, then end them all."""
        from triage.capture.posix import process_tree
        from triage.capture.posix.held_process import read_hanging

        self._stopped_by, self._stopped_after = why, after
        tree: list[int] = []
        # Until it is stopped, a process may start others.
        while new := self._alive_except(tree):
            for pid in new:
                process_tree.send(pid, signal.SIGSTOP)
            tree += new
        known = set(self._crashed)
        self._hanging = [read_hanging(pid, self._faults) for pid in tree if pid not in known]
        process_tree.end_all(tree)
        # One that we ask to end may first replace workers that we have ended.
        for _ in range(_ROUNDS):
            if not (left := self._alive_except([])):
                break
            process_tree.end_all(left)

    def _alive_except(self, known: list[int]) -> list[int]:
        from triage.capture.posix import process_tree

        root = os.getpid() if self._adopts else self._pid
        found = process_tree.descendants(root, self._faults.path)
        return [process.pid for process in found if process.pid not in (os.getpid(), *known)]


class _Signals:
    """The signals that we handle while a child runs, restored afterwards.

    A child inherits ignored signals but not handlers, so handlers are set before it starts, and only where the signal
    was not ignored already, as under nohup.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._handlers: dict[int, Callable[[int, object], object]] = {
            signal.SIGCHLD: lambda number, frame: None,
            signal.SIGINT: lambda number, frame: supervisor.interrupted(),
            signal.SIGQUIT: lambda number, frame: supervisor.pass_on_unless_typed(number),
            signal.SIGWINCH: lambda number, frame: supervisor.resized(),
        }
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            self._handlers[number] = lambda number, frame: supervisor.forward(number)
        self._before: dict[int, object] = {}

    def __enter__(self) -> int:
        self._wake_up, self._written = os.pipe()
        os.set_blocking(self._written, False)
        try:
            # Without this a signal would be noticed only at the next look.
            signal.set_wakeup_fd(self._written, warn_on_full_buffer=False)
        except ValueError:
            # Only the main thread may handle signals; a caller in another one goes without, and still sees the end.
            return self._wake_up
        for number, handler in self._handlers.items():
            # We inherit an ignored SIGCHLD, with which the child's status would be lost.
            if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, handler)
        return self._wake_up

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._wake_up)
        os.close(self._written)


def _is_in_foreground() -> bool:
    """Whether the terminal's keys signal our process group, and so the child."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _adopt_orphans(wanted: bool) -> bool:
    """Become the parent of descendants whose own parent dies (Linux), so that a timeout finds every one of them.

    Only with a timeout: an orphan can see that its new parent is not process 1.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    set_child_subreaper = 36
    return bool(ctypes.CDLL(None).prctl(set_child_subreaper, int(wanted), 0, 0, 0) == 0)


def _why_not(program: str, error: OSError) -> str:
    import errno

    if error.errno == errno.ENOEXEC:
        return f"{program} is not a program that this system can run; try: triage run -- sh {program}"
    if isinstance(error, FileNotFoundError):
        return f"{program} could not be started: it, or the program that its first line names, does not exist."
    return f"{program} could not be started ({error.strerror}); check that you may run it."
