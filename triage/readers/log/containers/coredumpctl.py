"""systemd-coredump: its journal entry, `coredumpctl info` and `coredumpctl list`."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, NativeFrame, Thread, base_name
from triage.readers.log.containers.interface import ContainerFacts, statuses
from triage.readers.log.containers.printed_stacks import FrameLine, by_number, qualified_name

TRIGGERS = ("Stack trace of thread ", "terminated abnormally with signal", "COREFILE", "dumped core")
_SIGNAL = r"^[ \t]*Signal: \d+ \((?P<signal>[A-Z]{2,6})\)"
# The first line of the journal entry since systemd 250.
_ENDED = r"terminated abnormally with signal \d+/(?P<signal>[A-Z]{2,6}), processing"
_LISTED = r"^\w{3} \d{4}-\d\d-\d\d \S+ \w+ +\d+ +\d+ +\d+ (?P<signal>SIG[A-Z]{2,6}) +(?:present|missing|none|truncated)"
_FRAME = (
    r"^[ \t]*#(?P<number>\d+)[ \t]+0x[0-9a-f]+ (?P<function>[^\n]+?) "
    r"\((?P<module>[^()\s]+) \+ 0x(?P<offset>[0-9a-f]+)\)$"
)


def extract(log: Log) -> ContainerFacts:
    """The signal and every thread's stack; the first thread is the one that dumped."""
    threads: list[Thread] = []
    for stack in by_number(_frames(log)):
        threads.append(Thread("", not threads, native_stack=stack.frames, place=log.place(stack.offset)))
    return ContainerFacts(exits=statuses(log, _LISTED, _ENDED, _SIGNAL), threads=tuple(threads))


def _frames(log: Log) -> list[FrameLine]:
    found = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        function = match["function"]
        known = None if function == "n/a" else qualified_name(function)
        frame = NativeFrame(base_name(match["module"]), known, digits.whole(match["offset"], 16))
        if (number := digits.whole(match["number"])) is not None:
            found.append(FrameLine(number, match.start(), frame))
    return found
