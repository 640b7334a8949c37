"""lldb: why it stopped, and the stacks of `bt` and `bt all`."""

from __future__ import annotations

from triage import digits, patterns, status
from triage.crash import ExitStatus, Log, NativeFrame, Thread
from triage.readers.log.containers.interface import ContainerFacts
from triage.readers.log.containers.printed_stacks import FrameLine, by_number, crashed_first, without_values

TRIGGERS = ("frame #0: 0x", "stop reason = ")
_STOPPED = r"stop reason = (?:signal (?P<signal>SIG[A-Z]{2,6})|(?P<exception>EXC_[A-Z_]+))"
_SIGNALS = {"EXC_BAD_ACCESS": "SIGSEGV", "EXC_BAD_INSTRUCTION": "SIGILL", "EXC_ARITHMETIC": "SIGFPE"}
_HEAD = r"^(?P<mark>[* ]) thread #\d+(?P<rest>[^\n]*)$"
_NAME = r"name = '(?P<name>[^'\n]*)'"
_FRAME = (
    r"^[ \t]*\*?\s*frame #(?P<number>\d+): 0x[0-9a-f]+ (?P<module>[^`\n]+)`(?P<function>[^\n]+?)"
    r"(?: \+ (?P<offset>\d+))?(?: at [^\s()]+:\d+(?::\d+)?)?(?: \[opt\])?[ \t]*$"
)
_UNNAMED = "___lldb_unnamed_symbol"
_INLINED = " [inlined] "


def extract(log: Log) -> ContainerFacts:
    """The signal and the stacks; the crashed thread is the one lldb stopped in."""
    heads = list(patterns.compile(_HEAD).finditer(log.text))
    threads = []
    for stack in by_number(_frames(log)):
        head = next((match for match in reversed(heads) if match.start() < stack.offset), None)
        name = patterns.compile(_NAME).search(head["rest"]) if head else None
        crashed = head is None or head["mark"] == "*" or patterns.compile(_STOPPED).search(head["rest"]) is not None
        threads.append(Thread(name["name"] if name else "", crashed, (), stack.frames, log.place(stack.offset)))
    return ContainerFacts(exits=_exits(log), threads=crashed_first(threads))


def _exits(log: Log) -> tuple[ExitStatus, ...]:
    found = []
    for match in patterns.compile(_STOPPED).finditer(log.text):
        signal = match["signal"] or _SIGNALS.get(match["exception"])
        seen = status.from_signal(signal, place=log.place(match.start())) if signal else None
        if seen is not None:
            found.append(seen)
    return tuple(found)


def _frames(log: Log) -> list[FrameLine]:
    found = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        text = match["function"].rsplit(_INLINED, 1)[-1]
        function = None if text.startswith(_UNNAMED) else without_values(text) if "=" in text else text
        offset = digits.whole(match["offset"]) if function else None
        if (number := digits.whole(match["number"])) is not None:
            found.append(FrameLine(number, match.start(), NativeFrame(match["module"], function, offset)))
    return found
