"""Node: V8's fatal error with its native stack, and what npm, yarn and pm2 report of a script's end."""

from __future__ import annotations

from triage import patterns, status
from triage.crash import Log, NativeFrame, Thread, base_name
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses
from triage.readers.log.containers.printed_stacks import FrameLine, by_number

TRIGGERS = (
    "FATAL ERROR: ",
    "npm ERR!",
    "npm error",
    "ELIFECYCLE",
    "Command failed with signal",
    "code null",
    "via signal [",
)
_FATAL = r"^FATAL ERROR: [^\n]+$"
_FRAME = r"^ ?(?P<number>\d{1,3}): 0x[0-9a-f]+ (?P<function>[^\n]*) \[(?P<module>[^\]\n]+)\](?: \[[^\]\n]+\])?$"
_ENDS = (
    r"^(?:npm (?:ERR!|error) )?errno (?P<code>\d{1,3})$",
    r"^(?:npm (?:ERR!|error) )?signal (?P<signal>SIG[A-Z]{2,6})$",
    r'Command failed with signal "(?P<signal>SIG[A-Z]{2,6})"',
    r"exited with code null(?: and|,) signal:? (?P<signal>SIG[A-Z]{2,6})",
    # pm2 names the signal that it would stop the program with, also where the program ended itself
    r"exited with code \[(?P<code>[1-9]\d{0,2})\] via signal \[SIGINT\]",
    r"exited with code \[\d+\] via signal \[(?P<signal>SIG(?:[A-HJ-Z][A-Z]{1,5}|ILL))\]",
)


def extract(log: Log) -> ContainerFacts:
    """V8's fatal error, which ends in an abort, its stack, and the statuses of the scripts."""
    fatal = notices(log, _FATAL)
    aborts = [status.from_code(-6, place=message.place) for message in fatal]
    lines = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        frame = NativeFrame(base_name(match["module"]), match["function"].strip() or None)
        lines.append(FrameLine(int(match["number"]), match.start(), frame))
    threads = [Thread("", True, (), stack.frames, log.place(stack.offset)) for stack in by_number(lines)]
    return ContainerFacts(exits=(*aborts, *statuses(log, *_ENDS)), threads=tuple(threads), messages=fatal)
