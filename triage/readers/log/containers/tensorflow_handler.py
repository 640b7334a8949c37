"""The stack that TensorFlow's own signal handler prints, in its tests and where a program asks for it.

It prints it twice: with modules and mangled names, then with readable names only. The first is preferred.
"""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, NativeFrame, Thread, base_name
from triage.frames import from_fault
from triage.readers.log.containers.interface import ContainerFacts
from triage.readers.log.containers.printed_stacks import qualified_name

TRIGGERS = ("BEGIN MANGLED STACK TRACE", "*** Begin stack trace ***")
_MANGLED = r"\*\*\* BEGIN MANGLED STACK TRACE \*\*\*\n"
_READABLE = r"\*\*\* Begin stack trace \*\*\*\n"
_END = r"^\*\*\* E(?:ND|nd) "
_LINUX = r"^(?P<path>/?[^\s()\[]+)\((?P<function>[^()\s+]*)(?:\+0x(?P<offset>[0-9a-f]+))?\) ?\[0x[0-9a-f]+\]"
_MACOS = r"^\d+ +(?P<path>\S+) +0x[0-9a-f]{8,16} (?P<function>\S+) \+ (?P<offset>\d+)"
_HANDLER = "StacktraceHandler"


def extract(log: Log) -> ContainerFacts:
    """One crashed thread, from the interrupted frame outwards."""
    for opening, read in ((_MANGLED, _mangled), (_READABLE, _readable)):
        begin = patterns.compile(opening).search(log.text)
        if begin is None:
            continue
        end = patterns.compile(_END).search(log.text, begin.end())
        lines = log.text[begin.end() : end.start() if end else len(log.text)].split("\n")
        frames = from_fault(_below_handler([frame for line in lines if (frame := read(line)) is not None]))
        if frames:
            return ContainerFacts(threads=(Thread("", True, native_stack=frames, place=log.place(begin.start())),))
    return ContainerFacts()


def _mangled(line: str) -> NativeFrame | None:
    match = patterns.compile(_LINUX).match(line)
    if match is not None:
        offset = digits.whole(match["offset"], 16)
        return NativeFrame(base_name(match["path"]), qualified_name(match["function"]) or None, offset)
    match = patterns.compile(_MACOS).match(line)
    if match is None or match["path"] == "???":
        return None
    return NativeFrame(match["path"], qualified_name(match["function"]), digits.whole(match["offset"]))


def _readable(line: str) -> NativeFrame | None:
    name = line.strip()
    return NativeFrame(None, name) if name and "CurrentStackTrace" not in name else None


def _below_handler(frames: list[NativeFrame]) -> list[NativeFrame]:
    """Without the handler, and without the frame of the C library that called it."""
    at = [position for position, frame in enumerate(frames) if _HANDLER in (frame.function or "")]
    if not at:
        return frames
    below = frames[at[-1] + 1 :]
    return below[1:] if below and below[0].function is None and len(below) > 1 else below
