"""What the stacks of debuggers and crash reporters have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from triage.crash import NativeFrame, Thread
from triage.frames import from_fault


class FrameLine(NamedTuple):
    """One frame as it was printed: its number in the stack and where its line starts."""

    number: int
    offset: int
    frame: NativeFrame


class Stack(NamedTuple):
    """Frames that belong together, innermost first, and where the first one stands."""

    offset: int
    frames: tuple[NativeFrame, ...]


def by_number(lines: Iterable[FrameLine]) -> list[Stack]:
    """Frames whose numbers rise are one stack, whatever stands between them."""
    stacks: list[list[FrameLine]] = []
    for line in lines:
        if not stacks or line.number <= stacks[-1][-1].number:
            stacks.append([])
        stacks[-1].append(line)
    return [Stack(lines[0].offset, from_fault([line.frame for line in lines])) for lines in stacks]


def without_values(function: str) -> str:
    """A function without the last group of arguments, which holds the values of the user's variables."""
    text = function.rstrip()
    if not text.endswith(")"):
        return text
    depth = 0
    for position in range(len(text) - 1, 0, -1):
        depth += (text[position] == ")") - (text[position] == "(")
        if depth == 0:
            return text[:position].rstrip() or text
    return text.split(" (", 1)[0]


def crashed_first(threads: list[Thread]) -> tuple[Thread, ...]:
    """The crashed threads first, the longest stack of them leading.

    A debugger shows the frame it stopped in once by itself, before the whole stack: that one is left out.
    """
    deepest = max((len(thread.native_stack) for thread in threads if thread.crashed), default=0)
    kept = [thread for thread in threads if not (thread.crashed and len(thread.native_stack) == 1 < deepest)]
    return tuple(sorted(kept, key=lambda thread: (not thread.crashed, thread.crashed and -len(thread.native_stack))))
