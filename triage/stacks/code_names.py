"""Names of files and functions that are not ASCII, which pystack cannot read: it takes every string for ASCII.

Of a name in Latin-1 it gives the bytes before it, mostly zeros; a frame with any other name it leaves out. But its log
tells where each string stands, so those are read here.
"""

from __future__ import annotations

import logging
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

# A frame as it is told: file, line, function.
Frame = list[Any]
Memory = Callable[[int, int], bytes]

_ADDRESS = r"from address (0x[0-9a-f]+)"
_HEARD = re.compile(
    rf"Copying frame number (\d+)|Copying code struct {_ADDRESS}|Copying filename Python string {_ADDRESS}"
    rf"|Copying code name Python string {_ADDRESS}|Code object location info: line_range=\((-?\d+)"
    rf"|Handling unicode object of version 3 {_ADDRESS}|Copying ASCII data for unicode object {_ADDRESS}"
)
_LONGEST = 4096
_CODE_SIZE = 256
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
UNREADABLE = "<unreadable name>"


class _Code(NamedTuple):
    """Where the code of a frame and its names stand, and its line unless pystack gave the frame up."""

    at: int
    file: int | None = None
    function: int | None = None
    line: int | None = None


class Log(logging.Logger):
    """Listens to pystack, which asks this logger at every step whether it wants to hear of it."""

    def __init__(self, name: str, level: int = logging.NOTSET) -> None:
        super().__init__(name, level)
        # one a thread that runs Python, innermost frame first
        self.chains: list[list[_Code]] = []
        # how far behind its own beginning the text of an ASCII string begins
        self.ascii_size: int | None = None
        self._string = 0

    def isEnabledFor(self, level: int) -> bool:
        """Only the finest level has addresses."""
        return level == logging.DEBUG

    def debug(self, msg: object, *args: object, **more: Any) -> None:
        """Keep the addresses of a message."""
        found = _HEARD.match(str(msg))
        if found is None:
            return
        frame, code, file, function, line, string, text = found.groups()
        if frame == "0":
            self.chains.append([])
        elif code and self.chains:
            self.chains[-1].append(_Code(int(code, 16)))
        elif file:
            self._learn(file=int(file, 16))
        elif function:
            self._learn(function=int(function, 16))
        elif line:
            self._learn(line=int(line))
        elif string:
            self._string = int(string, 16)
        elif text:
            self.ascii_size = int(text, 16) - self._string

    def _learn(self, **fact: int) -> None:
        if self.chains and self.chains[-1]:
            self.chains[-1][-1] = self.chains[-1][-1]._replace(**fact)


def listen() -> Log:
    """The log of pystack, which must not have been imported yet."""
    former = logging.getLoggerClass()
    logging.setLoggerClass(Log)
    try:
        log = logging.getLogger("pystack._pystack")
    finally:
        logging.setLoggerClass(former)
    assert isinstance(log, Log)
    return log


def repaired(
    stacks: list[list[Frame]], versions: list[tuple[int, ...] | None], log: Log, memory: Memory
) -> list[list[Frame]]:
    """The Python stacks of all threads, each innermost frame first, with every name read where it stands.

    `versions` has the version of Python in each thread that runs it.
    """
    chains = [chain for chain in log.chains if chain]
    running = [number for number, version in enumerate(versions) if version]
    found = list(stacks)
    if len(running) == len(chains) and all(map(_fits, (stacks[number] for number in running), chains)):
        has_wide_pointer = (next((version for version in versions if version), None) or ()) < (3, 12)
        names = _Names(memory, log.ascii_size or 0, has_wide_pointer=has_wide_pointer)
        for number, chain in zip(running, chains, strict=True):
            found[number] = _with_names(stacks[number], chain, names)
    return [[_marked(frame) for frame in stack] for stack in found]


def _fits(stack: list[Frame], chain: list[_Code]) -> bool:
    return [frame[1] for frame in stack] == [code.line for code in chain if code.line is not None]


def _with_names(stack: list[Frame], chain: list[_Code], names: _Names) -> list[Frame]:
    given = iter(stack)
    frames: list[Frame] = []
    for code in chain:
        file, line, function = next(given) if code.line is not None else ("\0", 0, "\0")
        if "\0" in file:
            file = names.at(code.file) or file
        if "\0" in function:
            function = names.at(code.function or names.function_of(code)) or function
        frames.append([file, line, function])
    return frames


def _marked(frame: Frame) -> Frame:
    """The frame without zeros: those are not the name but what stood before it."""
    file, line, function = frame
    return [UNREADABLE if "\0" in file else file, line, UNREADABLE if "\0" in function else function]


class _Names:
    """The strings of a process, each read once."""

    def __init__(self, memory: Memory, ascii_size: int, *, has_wide_pointer: bool) -> None:
        self._memory = memory
        self._ascii_size = ascii_size
        # length, hash and state end the head of an ASCII string, before Python 3.12 a pointer too; the head of any
        # other string goes on with the length and the place of its UTF-8, before Python 3.12 with one length more
        self._length_at = ascii_size - (32 if has_wide_pointer else 24)
        self._more = 24 if has_wide_pointer else 16
        self._known: dict[int, str | None] = {}

    def at(self, address: int | None) -> str | None:
        """The string at an address, or None where none can be read."""
        if address is None or self._length_at < 0:
            return None
        if address not in self._known:
            self._known[address] = self._read(address)
        return self._known[address]

    def function_of(self, code: _Code) -> int | None:
        """Where the name of a function stands: the code has it right behind the name of its file."""
        words = self._memory(code.at, _CODE_SIZE)
        at = words.find(struct.pack("<Q", code.file)) if code.file else -1
        return int.from_bytes(words[at + 8 : at + 16], "little") if at >= 0 else None

    def _read(self, address: int) -> str | None:
        head = self._memory(address, self._ascii_size)
        if len(head) < self._ascii_size:
            return None
        length, _, state = struct.unpack_from("<qqI", head, self._length_at)
        kind, is_compact, is_ascii = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        if kind not in _ENCODINGS or not is_compact or not 0 < length <= _LONGEST:
            return None
        start = address + self._ascii_size + (0 if is_ascii else self._more)
        text = self._memory(start, length * kind)
        if len(text) < length * kind:
            return None
        name = text.decode(_ENCODINGS[kind], "replace")
        return None if "\0" in name else name
