"""What a debugger's events mean: when a dump is worth writing, and when it is thrown away. No call of Windows.

A debugger sees an exception twice: at the first chance before the program's own handlers, at the second when none of
them handled it, which is a crash. A fast fail comes only at the second chance. Some errors never get there, because
the handler itself fails: for these a provisional dump is kept until it is known how the process ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from triage import status

STACK_OVERFLOW = 0xC00000FD
# No stack is left for a handler (stack overflow), or none is supposed to run any more.
PROVISIONAL = frozenset({STACK_OVERFLOW, 0xC0000374, 0xC0000409, 0xC0000602, 0xC000041D})
MOST_DUMPS = 3
# The loader stops each process once; one of 32 bits below a 64-bit debugger once more with the second code.
_BREAKPOINTS = frozenset({0x80000003, 0x4000001F})
_SMALLEST_STATUS = 0x40000000
_NO_CRASH = ("noise", "ended-by-user")


class ExceptionEvent(NamedTuple):
    """An exception as the debugger sees it."""

    thread: int
    code: int
    first_chance: bool
    parameters: tuple[int, ...] = ()


class Reaction(NamedTuple):
    """What to do about an exception: whether it counts as handled, and which dump to write (provisional or final)."""

    handled: bool = False
    dump: str | None = None


@dataclass
class Watched:
    """One process of the run, as far as its events show."""

    pid: int
    exit_code: int | None = None
    crash: ExceptionEvent | None = None
    provisional: ExceptionEvent | None = None
    finished: bool | None = None
    _stops: set[int] = field(default_factory=set)

    def stops_at(self, code: int) -> bool:
        """Whether this is the loader's own breakpoint, which each process has once."""
        if code not in _BREAKPOINTS or code in self._stops:
            return False
        self._stops.add(code)
        return True

    @property
    def fatal(self) -> ExceptionEvent | None:
        """The exception that ended it, None while it runs or when it ended by itself."""
        if self.crash is not None:
            return self.crash
        return self.provisional if self.exit_code is not None and not self.lived_on else None

    @property
    def crashed(self) -> bool:
        """Whether it ended by an exception: one that we saw, or one that its exit code names."""
        return self.fatal is not None or is_death(self.exit_code)

    @property
    def lived_on(self) -> bool:
        """Whether it survived what looked fatal: it exited as a program does, and Python ended by itself.

        `finished` is what the hook reports of the latter, None where no hook ran. A process whose handler failed with
        the same error again may be gone with the exit code 0.
        """
        return not is_death(self.exit_code) and self.finished is not False


class Watch:
    """All processes of a run, in the order in which they began."""

    def __init__(self, most_dumps: int = MOST_DUMPS) -> None:
        self.processes: dict[int, Watched] = {}
        self._left = most_dumps

    def began(self, pid: int) -> None:
        """A process of the run has started; a number that was used before is a new process."""
        self.processes.pop(pid, None)
        self.processes[pid] = Watched(pid)

    def raised(self, pid: int, error: ExceptionEvent) -> Reaction:
        """What to do about an exception."""
        process = self.processes.setdefault(pid, Watched(pid))
        if error.first_chance:
            if process.stops_at(error.code):
                return Reaction(handled=True)
            if error.code not in PROVISIONAL or process.provisional or not self._left:
                return Reaction()
            process.provisional = error
            return Reaction(dump="provisional")
        if process.crash is not None:
            return Reaction()
        process.crash = error
        if process.provisional is None and not self._left:
            return Reaction()
        return Reaction(dump="final")

    def written(self) -> None:
        """A dump was written that will be kept."""
        self._left -= 1

    def ended(self, pid: int, exit_code: int, finished: bool | None) -> bool:
        """A process is gone; returns whether its provisional dump is now the dump of a crash."""
        process = self.processes.setdefault(pid, Watched(pid))
        process.exit_code, process.finished = exit_code, finished
        return process.crash is None and process.provisional is not None and not process.lived_on


def is_death(exit_code: int | None) -> bool:
    """Whether an exit code is the status of an exception, and not a number that the program chose or Ctrl-C left."""
    if exit_code is None or exit_code < _SMALLEST_STATUS:
        return False
    meaning = status.from_code(exit_code)
    return meaning.ntstatus is not None and meaning.kind not in _NO_CRASH


def signed(exit_code: int) -> int:
    """An exit code as Python must be given it to leave with the same 32 bits."""
    return exit_code - (1 << 32) if exit_code >= 1 << 31 else exit_code
