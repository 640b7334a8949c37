"""Which of several linked exceptions tells what went wrong.

Python prints a chain from the first exception to the last, and the last is mostly a wrapper: `RuntimeError: no config`
around the JSONDecodeError that names the line of the file. A worker's exception is printed before the parent's copy of
it, and a group above its members.
"""

from __future__ import annotations

from typing import NamedTuple

from triage.crash import Crash, PythonException

# How generators, tasks and iterators talk to their callers: never what went wrong.
_CONTROL = frozenset(("CancelledError", "StopIteration", "StopAsyncIteration", "GeneratorExit"))
_GROUPS = frozenset(("ExceptionGroup", "BaseExceptionGroup"))


class Chain(NamedTuple):
    """The exceptions that led to the end, in the order of the text, and which of them is the root."""

    links: tuple[PythonException, ...]
    at: int

    @property
    def root(self) -> PythonException:
        """What went wrong first."""
        return self.links[self.at]

    @property
    def wrapper(self) -> PythonException | None:
        """What it became in the end; None if that says nothing new."""
        last = next((error for error in reversed(self.links) if error.link != "member"), self.links[-1])
        same = (last.short_type, last.gist) == (self.root.short_type, self.root.gist)
        return None if last is self.root or same else last

    @property
    def members(self) -> int:
        """How many exceptions were raised together; 0 where there was no group."""
        starts = (error for error in self.links if error.link == "member" and not is_group(error))
        return sum(1 for _ in starts)


def is_group(error: PythonException) -> bool:
    """Whether it only holds others."""
    return error.short_type in _GROUPS


def last_chain(crash: Crash) -> Chain | None:
    """The chain that the last exception belongs to."""
    errors = crash.exceptions
    start = len(errors) - 1
    while start > 0 and errors[start].link is not None:
        start -= 1
    links = errors[max(start, 0) :]
    return Chain(links, _root(links)) if links else None


def _root(links: tuple[PythonException, ...]) -> int:
    root = 0
    for number, error in enumerate(links[1:], 1):
        says_nothing = is_group(links[root]) or links[root].short_type in _CONTROL
        # An `except` block that raises on purpose wraps what it caught. One that fails by itself has a fault of its
        # own, and what it handled was expected: `try: import a` / `except ImportError: import b`.
        failed_by_itself = error.link == "context" and error.by_raise is False
        if says_nothing or failed_by_itself:
            root = number
    return root
