"""MPI jobs: the stacks of Open MPI's and UCX's signal handlers, and how mpirun and horovodrun report dead ranks."""

from __future__ import annotations

from itertools import dropwhile

from triage import digits, patterns
from triage.crash import Log, NativeFrame, Thread, base_name
from triage.readers.log.containers.interface import ContainerFacts, statuses
from triage.readers.log.containers.printed_stacks import FrameLine, by_number, qualified_name

TRIGGERS = (
    "*** Process received signal ***",
    "Caught signal ",
    "noticed that process rank",
    "WITH THE EXIT STRING",
    "EXIT CODE: ",
    "KILLED BY SIGNAL",
    " exit with status code ",
)
_SIGNALS = (
    r"^(?:\[[^\]\n]+\] )?Signal: [\w /-]+ \((?P<number>\d{1,2})\)$",
    r"Caught signal (?P<number>\d{1,2}) \([^\n]*\)$",  # UCX
    r"^=?\s*(?:YOUR )?APPLICATION TERMINATED WITH THE EXIT STRING: [^\n]*\(signal (?P<number>\d{1,2})\)",  # MPICH
    r"^=\s+KILLED BY SIGNAL: (?P<number>\d{1,2}) \(",  # Intel MPI
    r"^=\s+EXIT CODE: (?P<code>-?\d{1,10})$",
    r"^[ \t]*Exit code:\s+(?P<code>\d{1,3})$",
    r"noticed that process rank \d+ with PID \d+ on node \S+ exited on signal (?P<number>\d{1,2})\b",
)
# horovodrun stops the other ranks once one has failed: only the first matters.
_HOROVOD = r"Process \d+ exit with status code (?P<code>-?\d{1,10})\b"
# `[host:pid] [ 3] library(function+0x12)[0x7f...]`, and UCX's ` 3  library(function+0x12) [0x7f...]`.
_FRAME = (
    r"^(?P<rank>\[[^\]\s]+:\d+\])? ?(?:\[ ?(?P<number>\d+)\]| ?(?P<plain>\d+)) +(?:\[\d+,\d+\]<\w+>:)?"
    r"(?P<path>/?[^\s()\[]+)\((?P<function>[^()\s+]*)(?:\([^\n]*\))?(?:\+0x(?P<offset>[0-9a-f]+))?\) ?\[0x[0-9a-f]+\]$"
)


def extract(log: Log) -> ContainerFacts:
    """The signals, and one stack for each rank that printed one."""
    ranks: dict[str, list[FrameLine]] = {}
    for match in patterns.compile(_FRAME).finditer(log.text):
        function = qualified_name(match["function"]) if match["function"] else None
        frame = NativeFrame(base_name(match["path"]), function, digits.whole(match["offset"], 16))
        if (number := digits.whole(match["number"] or match["plain"])) is not None:
            ranks.setdefault(match["rank"] or "", []).append(FrameLine(number, match.start(), frame))
    stacks = [stack for lines in ranks.values() for stack in by_number(lines)]
    threads = [
        Thread("", True, native_stack=_below_handler(stack.frames), place=log.place(stack.offset)) for stack in stacks
    ]
    return ContainerFacts(exits=(*statuses(log, _HOROVOD)[:1], *statuses(log, *_SIGNALS)), threads=tuple(threads))


def _below_handler(frames: tuple[NativeFrame, ...]) -> tuple[NativeFrame, ...]:
    """The stack without UCX's own handler at its top."""
    return tuple(dropwhile(lambda frame: (frame.module or "").startswith("libucs.so"), frames)) or frames
