"""Which of several linked exceptions tells what went wrong.

Python prints a chain from the first exception to the last, and the last is mostly a wrapper: `RuntimeError: no config`
around the JSONDecodeError that names the line of the file. A worker's exception is printed before the parent's copy of
it, and a group above its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.crash import Crash, PythonException, PythonFrame, base_name
from triage.frames import distinctive, is_own, module_owner

# How generators, tasks and iterators talk to their callers: never what went wrong.
_CONTROL = frozenset(("CancelledError", "StopIteration", "StopAsyncIteration", "GeneratorExit"))
_GROUPS = frozenset(("ExceptionGroup", "BaseExceptionGroup"))
# A generator that calls next() on something empty: then StopIteration is what went wrong.
_OF_GENERATORS = ("raised StopIteration", "raised StopAsyncIteration")
# What is raised because a program that was started failed, which has printed its own traceback.
_OF_CHILDREN = frozenset(("CalledProcessError", "ChildFailedError"))
_OF_IMPORTS = frozenset(("ImportError", "ModuleNotFoundError", "OSError", "MemoryError"))


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
        links = self.links
        if self.failed_tests:
            links = links[: next(number for number, error in enumerate(links) if error.link == "member")]
        last = next((error for error in reversed(links) if error.link != "member"), links[-1])
        same = (last.short_type, last.gist) == (self.root.short_type, self.root.gist)
        return None if last is self.root or same else last

    @property
    def members(self) -> int:
        """How many exceptions were raised together; 0 where there was no group."""
        starts = (error for error in self.links if error.link == "member" and not is_group(error))
        return sum(1 for _ in starts) if is_group(self.links[0]) else 0

    @property
    def failed_tests(self) -> int:
        """How many tests failed, each with an exception of its own; 0 where it was no run of tests."""
        first = self.links[0]
        others = sum(1 for error in self.links if error.link == "member")
        return others + 1 if others and first.link is None and not is_group(first) else 0


def is_group(error: PythonException) -> bool:
    """Whether it only holds others."""
    return error.short_type in _GROUPS


def last_chain(crash: Crash) -> Chain | None:
    """The chain that the last exception belongs to; that of a program that it started, where this ended it."""
    errors = crash.exceptions
    if not errors:
        return None
    start = _start(errors, len(errors) - 1)
    last = Chain(errors[start:], _root(errors[start:]))
    if start and last.root.short_type in _OF_CHILDREN:
        first = _start(errors, start - 1)
        before = errors[first:start]
        child = before[_root(before)]
        if _ran(last.root.message, child):
            return Chain((*before, last.root), _root(before))
    return last


def nearest_own(stack: Sequence[PythonFrame]) -> PythonFrame | None:
    """The innermost frame of the person's own code; one that was made from a string only where there is no other."""
    own = [frame for frame in stack if is_own(frame)]
    return next((frame for frame in own if frame.file != "<string>"), own[0] if own else None)


def in_own_code(crash: Crash) -> bool | None:
    """Whether it failed in the person's own code: the innermost frame of the exception, else of the thread that
    crashed. None where there is no stack."""
    chain = last_chain(crash)
    for error in (*(chain.links[chain.at :] if chain else ()), *reversed(crash.exceptions)):
        if error.frames:
            return is_own(error.frames[0])
    for thread in crash.threads:
        if thread.crashed and thread.native_stack:
            innermost = distinctive(thread.native_stack)[:1]
            return any(frame.module and module_owner(frame.module) == "own" for frame in innermost)
        if thread.crashed and thread.python_stack:
            return is_own(thread.python_stack[0])
    return None


def _start(errors: tuple[PythonException, ...], end: int) -> int:
    while end > 0 and errors[end].link is not None:
        end -= 1
    return end


def _ran(message: str, child: PythonException) -> bool:
    """Whether the command that a message quotes names the script that raised an exception."""
    scripts = {base_name(frame.file) for frame in child.frames if frame.function == "<module>" and is_own(frame)}
    return any(script.endswith(".py") and script in message for script in scripts)


def _root(links: tuple[PythonException, ...]) -> int:
    root = 0
    for number, error in enumerate(links[1:], 1):
        before = links[root]
        if error.link == "member" and not is_group(before):
            break
        says_nothing = is_group(before) or (before.short_type in _CONTROL and not error.gist.endswith(_OF_GENERATORS))
        # An `except` block that raises on purpose wraps what it caught. One that fails by itself has a fault of its
        # own, and what it handled was expected: `try: import a` / `except ImportError: import b`.
        failed_by_itself = error.link == "context" and error.by_raise is False
        if says_nothing or failed_by_itself or _is_inside_package(before, error):
            root = number
    return root


def _is_inside_package(error: PythonException, after: PythonException) -> bool:
    """Whether an exception never left a package, which told the program of it in words of its own.

    A missing module or library is the root wherever it is met.
    """
    if after.link not in ("cause", "context") or error.short_type in _OF_IMPORTS or not error.frames:
        return False
    left = any(is_own(frame) for frame in error.frames)
    return not left and any(is_own(frame) for frame in after.frames)
