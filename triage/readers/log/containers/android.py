"""Android's tombstones and what debuggerd writes of them to logcat: signal, fault address, abort message, backtrace."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Fault, Log, RuntimeMessage, Thread
from triage.readers.log.containers.interface import ContainerFacts, statuses
from triage.readers.log.containers.printed_stacks import by_lines, numbered_frames

TRIGGERS = ("*** *** *** *** ***", "#00 pc ", "#00  pc ", "Fatal signal ", "Abort message: ", "CANNOT LINK EXECUTABLE")
_SIGNAL = r"(?:Fatal signal|\bsignal) (?P<number>\d{1,2}) \((?:SIG)?[A-Z]{2,8}\)"
_FAULT = r"\bsignal \d+ \((?P<signal>SIG[A-Z]+)\)[^\n]*?fault addr (?P<address>0x[0-9a-f]+|[0-9a-f]{8,16})\b"
_ABORT = r"Abort message: ['\"]?(?P<text>[^\n]+?)['\"]?$"
_LINKER = r"^[^\n]{0,80}?CANNOT LINK EXECUTABLE [^\n]+$"


def extract(log: Log) -> ContainerFacts:
    """The signal, and the backtrace of the crashed thread; a tombstone prints it before those of the others."""
    exits = statuses(log, _SIGNAL)
    messages = [
        RuntimeMessage("assertion", match["text"], log.place(match.start()), match.start())
        for match in patterns.compile(_ABORT).finditer(log.text)
    ]
    messages += [
        RuntimeMessage("notice", match.group().strip(), log.place(match.start()), match.start())
        for match in patterns.compile(_LINKER).finditer(log.text)
    ]
    if not exits:
        return ContainerFacts(messages=tuple(messages))
    threads: list[Thread] = []
    if " pc " in log.text:
        for stack in by_lines(log, numbered_frames(log)):
            threads.append(Thread("", not threads, (), stack.frames, log.place(stack.offset)))
    fault = patterns.compile(_FAULT).search(log.text)
    address = digits.whole(fault["address"], 16) if fault else None
    return ContainerFacts(
        exits=exits,
        threads=tuple(threads),
        messages=tuple(messages),
        fault=Fault(fault["signal"], address) if fault and address is not None else None,
    )
