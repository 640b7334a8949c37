"""Stacks as debuggers and crash reporters print them: numbered frames, values of variables, mangled C++ names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from triage import digits, patterns
from triage.crash import Log, NativeFrame, Thread, base_name
from triage.frames import from_fault
from triage.patterns import Match


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


def by_lines(log: Log, lines: Iterable[FrameLine]) -> list[Stack]:
    """Frames on lines that follow each other are one stack, whatever their numbers; so are rising numbers."""
    stacks: list[list[FrameLine]] = []
    end = -1
    for line in lines:
        follows = line.offset == end
        if not stacks or (not follows and line.number <= stacks[-1][-1].number):
            stacks.append([])
        stacks[-1].append(line)
        stop = log.text.find("\n", line.offset)
        end = stop + 1 if stop >= 0 else len(log.text)
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


# ---------------------------------------------------------------- frames that begin with a number and an address

_NUMBERED = r"^[ \t]{0,12}#(?P<number>\d{1,4}):?[ \t]+(?P<rest>[^\s][^\n]*)$"
_ADDRESS = r"^(?:pc )?(?:0x[0-9a-fA-F]{1,16}|[0-9a-fA-F]{8,16})(?:[ \t]+(?:in )?[ \t]*|$)"
# What follows the place: the build, the debug information's own remark, the file inside a package.
_EXTRAS = r"(?: \((?:BuildId: ?[0-9a-fA-F]+|discriminator \d+|offset 0x[0-9a-f]+)\)| \[inlined\])+$"
_IN_MODULE = r"(?:^|[ \t])[(<]?(?P<module>[^\s()<>][^()\n<>]*?)>?\+0x(?P<offset>[0-9a-fA-F]+)\)?$"
# Android's way: the library first, then the function with its offset.
_MODULE_FIRST = r"^(?P<module>[/\[<][^\n]*?)(?:[ \t]+\((?P<function>[^\n]+?)(?:\+(?P<offset>\d+))?\))?$"
_SOURCE = r"(?:^|[ \t])\[?(?P<file>(?:[A-Za-z]:[\\/])?[^\s:()<>\[]*[^\s:()<>?\[]):(?P<line>\d+)(?::\d+)?\]?$"
_NO_SOURCE = r"(?:[ \t]+(?:\?\?:[?0](?::[?0])?|<null>|\(<unknown module>\)|ld-temp\.o:\?))+$"
_NO_NAME = ("", "??", "???", "<null>", "<unknown>", "(<unknown module>)", "<unknown module>", "(deleted)")
_OF_GDB = r"[ \t](?:at|from) \S+$"


def numbered_frames(log: Log) -> list[FrameLine]:
    """Frames as the sanitizers, Chromium and Android print them: a number, an address, a function and where it is."""
    found: list[FrameLine] = []
    for match in patterns.compile(_NUMBERED).finditer(log.text):
        frame = _numbered_frame(match["rest"].rstrip())
        number = digits.whole(match["number"])
        if frame is None or number is None:
            continue
        # One frame without a name shows as much as fifty of them.
        if number and found and frame == found[-1].frame == NativeFrame(None, None):
            continue
        found.append(FrameLine(number, match.start(), frame))
    return found


def _numbered_frame(text: str) -> NativeFrame | None:
    if patterns.compile(_OF_GDB).search(text):
        return None
    address = patterns.compile(_ADDRESS).match(text)
    rest = patterns.compile(_EXTRAS).sub("", text[address.end() :] if address else text).strip()
    if address and text.startswith("pc ") and (first := patterns.compile(_MODULE_FIRST).match(rest)):
        function = first["function"]
        name = qualified_name(function) if function and not function.startswith("BuildId") else None
        return NativeFrame(base_name(first["module"]), name, digits.whole(first["offset"]))
    module = offset = source = None
    placed = patterns.compile(_IN_MODULE).search(rest)
    if placed and _is_module(rest, placed):
        module, offset = base_name(placed["module"]), digits.whole(placed["offset"], 16)
        rest = rest[: placed.start()].rstrip()
    rest = patterns.compile(_NO_SOURCE).sub("", " " + rest).strip()
    if line := patterns.compile(_SOURCE).search(rest):
        source = f"{base_name(line['file'])}:{line['line']}"
        rest = rest[: line.start()].rstrip()
    if address is None and module is None and source is None:
        return None
    if module is None and patterns.compile(r"^/\S+$").match(rest):
        return NativeFrame(base_name(rest), None, offset, source=source)
    function = None if rest in _NO_NAME else qualified_name(patterns.compile(r" /\S+$").sub("", rest))
    return NativeFrame(module, function, offset, source=source)


def _is_module(text: str, placed: Match) -> bool:
    """Whether it is a library with an offset: `function+0x1f` is none."""
    in_brackets = text[placed.start() : placed.start() + 2].strip()[:1] in ("(", "<")
    return in_brackets or "/" in placed["module"] or "\\" in placed["module"]


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
