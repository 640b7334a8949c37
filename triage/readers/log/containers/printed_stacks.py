"""Stacks as debuggers and crash reporters print them: numbered frames, values of variables, mangled C++ names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from triage import digits
from triage.crash import NativeFrame, Thread
from triage.frames import from_fault


class FrameLine(NamedTuple):
    """One printed frame: its number in the stack and where its line starts."""

    number: int
    offset: int
    frame: NativeFrame


class Stack(NamedTuple):
    """Frames that belong together, innermost first, and the offset of the first one."""

    offset: int
    frames: tuple[NativeFrame, ...]


def by_number(lines: Iterable[FrameLine]) -> list[Stack]:
    """Frames whose numbers rise are one stack, whatever is printed between them."""
    stacks: list[list[FrameLine]] = []
    for line in lines:
        if not stacks or line.number <= stacks[-1][-1].number:
            stacks.append([])
        stacks[-1].append(line)
    return [Stack(lines[0].offset, from_fault([line.frame for line in lines])) for lines in stacks]


def without_values(function: str) -> str:
    """A function without its last group of arguments, which shows the values of the user's variables."""
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
    """The crashed threads first, the longest stack among them leading.

    A debugger shows the frame it stopped in by itself before it prints the whole stack: the single frame is left out.
    """
    deepest = max((len(thread.native_stack) for thread in threads if thread.crashed), default=0)
    kept = [thread for thread in threads if not (thread.crashed and len(thread.native_stack) == 1 < deepest)]
    return tuple(sorted(kept, key=lambda thread: (not thread.crashed, thread.crashed and -len(thread.native_stack))))


# ---------------------------------------------------------------- mangled C++ names

_OPENERS = "NIXLJF"
_PLAIN_TYPES = "vwbcahstijlmxynofdegzPROKVUC"
_STANDARD = {
    "St": "std",
    "Ss": "std::string",
    "Sa": "std::allocator",
    "Sb": "std::basic_string",
    "Si": "std::istream",
    "So": "std::ostream",
    "Sd": "std::iostream",
}
_OPERATORS = {"cl": "operator()", "ix": "operator[]", "aS": "operator=", "pt": "operator->", "de": "operator*"}


def qualified_name(symbol: str) -> str:
    """A mangled C++ name with its namespaces and classes, or the symbol as it is where that is not understood.

    Only the qualified name is read, which is what a person looks for: `_ZN10tensorflow6Tensor4dataEv` is
    `tensorflow::Tensor::data`. Template arguments are skipped.
    """
    if not symbol.startswith("_Z"):
        return symbol
    try:
        return _nested(symbol, 3) if symbol.startswith("_ZN") else _identifier(symbol, 2)[0]
    except (IndexError, ValueError):
        return symbol


def _nested(symbol: str, at: int) -> str:
    while symbol[at] in "KVrRO":
        at += 1
    parts: list[str] = []
    while symbol[at] != "E":
        pair = symbol[at : at + 2]
        if symbol[at].isdigit():
            name, at = _identifier(symbol, at)
            parts.append("(anonymous namespace)" if name.startswith("_GLOBAL__N") else name)
        elif symbol[at] == "I":
            at = _past_group(symbol, at)
        elif pair in _STANDARD:
            parts.append(_STANDARD[pair])
            at += 2
        elif pair[0] in "CD" and pair[1] in "0123456789":
            parts.append(("~" if pair[0] == "D" else "") + parts[-1])
            at += 2
        elif pair in _OPERATORS:
            parts.append(_OPERATORS[pair])
            at += 2
        else:
            raise ValueError(pair)
    return "::".join(parts)


def _identifier(symbol: str, at: int) -> tuple[str, int]:
    start = at
    while symbol[at].isdigit():
        at += 1
    length = digits.whole(symbol[start:at])
    end = at + (len(symbol) if length is None else length)
    if end > len(symbol):
        raise ValueError(symbol)
    return symbol[at:end], end


def _past_group(symbol: str, at: int) -> int:
    """Where the group that opens here ends; groups hold identifiers, types and other groups."""
    depth = 0
    while True:
        letter = symbol[at]
        if letter.isdigit():
            _, at = _identifier(symbol, at)
            continue
        if letter == "L":
            at = symbol.index("E", at) + 1
        elif letter in _OPENERS:
            depth += 1
            at += 1
        elif letter == "E":
            depth -= 1
            at += 1
        elif letter in "ST":
            at = at + 2 if symbol[at + 1] in "tasbiod" else symbol.index("_", at) + 1
        elif letter == "D":
            at += 2
        elif letter in _PLAIN_TYPES:
            at += 1
        else:
            raise ValueError(letter)
        if depth == 0:
            return at
