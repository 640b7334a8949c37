"""Valgrind's reports: what was touched, from where, and the signal that ended the program under it."""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, NativeFrame, RuntimeMessage, Thread, base_name
from triage.frames import module_owner
from triage.readers.log.containers.interface import ContainerFacts, statuses

TRIGGERS = (
    "== Invalid ",
    "== Memcheck",
    "== Process terminating",
    "== Conditional jump",
    "== Use of uninit",
    "== Jump to",
)
_PREFIX = r"^(?:==|--|\*\*)\d+(?:==|--|\*\*) "
_FOUND = (
    _PREFIX + r"(?P<what>Invalid (?:read|write) of size \d+|Invalid free\(\)[^\n]*|Mismatched free\(\)[^\n]*"
    r"|Conditional jump or move depends on uninitialised value\(s\)|Use of uninitialised value of size \d+"
    r"|Jump to the invalid address[^\n]*|Source and destination overlap[^\n]*|Syscall param [^\n]+)$"
)
_FRAME = (
    _PREFIX + r" +(?:at|by) 0x[0-9A-F]+: (?P<function>[^\n]+?) \((?:in (?P<module>[^)\n]+)|(?P<source>[^()\n]+:\d+))\)$"
)
_SIGNAL = _PREFIX + r"Process terminating with default action of signal (?P<number>\d{1,2})\b"
_MOST = 50


def extract(log: Log) -> ContainerFacts:
    """Each finding with the stack below it; the last one before the end is the crash where a signal came."""
    found = list(patterns.compile(_FOUND).finditer(log.text))[:_MOST]
    exits = statuses(log, _SIGNAL)
    messages = tuple(
        RuntimeMessage("sanitizer", match["what"], log.place(match.start()), match.start()) for match in found
    )
    ends = [*(match.end() for match in found), *(m.end() for m in patterns.compile(_SIGNAL).finditer(log.text))]
    threads = []
    for end in ends[-1:] if exits else ends[:1]:
        frames = _frames(log.text[end : end + 16 * 1024])
        if frames:
            threads.append(Thread("", True, (), frames, log.place(end)))
    return ContainerFacts(exits=exits, threads=tuple(threads), messages=messages)


def _frames(text: str) -> tuple[NativeFrame, ...]:
    frames: list[NativeFrame] = []
    for line in text.split("\n")[1:]:
        match = patterns.compile(_FRAME).match(line)
        if match is None and frames:
            break
        if match is not None:
            module = match["module"]
            own = bool(module) and module_owner(module) == "own"
            name = None if match["function"] == "???" else match["function"]
            frames.append(NativeFrame(base_name(module) if module else None, name, source=match["source"], own=own))
    return tuple(frames)
