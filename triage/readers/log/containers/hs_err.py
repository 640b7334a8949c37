"""Java's fatal error log (hs_err_pid.log, and the part of it that goes to the console)."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Environment, Log, NativeFrame, Thread
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = ("by the Java Runtime Environment", "memory for the Java Runtime")
# The signal that Java caught; it ends itself with an abort afterwards, which a shell then reports.
_WINDOWS = r"^#\s+EXCEPTION_\w+ \((?P<code>0x[0-9a-f]{8})\) at pc="
_POSIX = r"^#\s+(?P<signal>SIG[A-Z]{2,6}) \(0x[0-9a-f]+\) at pc="
_NO_MEMORY = r"^# (?:There is insufficient memory for the Java Runtime Environment|Native memory allocation \()[^\n]*$"
_SECTION = r"^Native frames: \(J=compiled[^\n]*\n(?P<frames>(?:[^\n]+\n)*[^\n]*)"
_FRAME = (
    r"^(?:# )?(?:[CVv][ \t]+(?:\[(?P<module>[^\]+\n]+)\+0x(?P<offset>[0-9a-f]+)\]|~)"
    r"(?:[ \t]*(?P<function>[^\n]+?))?(?:\+0x[0-9a-f]+)?|"
    r"[jJ][ \t]+(?:\d+%?\s+(?:[cC][12]\s+|jvmci\s+)?)?(?P<method>[\w.$<>/]+)[^\n]*)$"
)
_PROBLEM = r"^# Problematic frame:\n(?P<frame>#[^\n]+)$"
_CPU = r"^CPU: ?[^\n]*?(?:microcode 0x[0-9a-f]+|stepping \d+),\s*(?P<flags>[a-z][a-z0-9_., ]+)$"


def extract(log: Log) -> ContainerFacts:
    """The signal, the native frames (Java's own among them) and the processor's features."""
    flags = patterns.compile(_CPU).search(log.text)
    return ContainerFacts(
        exits=statuses(log, _POSIX, _WINDOWS),
        threads=_threads(log),
        messages=notices(log, _NO_MEMORY),
        environment=Environment(cpu_flags=_flags(flags["flags"]) if flags else ()),
    )


def _threads(log: Log) -> tuple[Thread, ...]:
    """The stack of the crashed thread; the console shows only its innermost frame."""
    section = patterns.compile(_SECTION).search(log.text)
    problem = patterns.compile(_PROBLEM).search(log.text)
    text, start = "", 0
    if section is not None:
        text, start = section["frames"], section.start()
    elif problem is not None:
        text, start = problem["frame"], problem.start()
    frames = tuple(_frame(match) for match in patterns.compile(_FRAME).finditer(text))
    return (Thread("", True, native_stack=frames, place=log.place(start)),) if frames else ()


def _frame(match: Match) -> NativeFrame:
    if match["method"]:
        return NativeFrame(None, match["method"])
    return NativeFrame(match["module"], match["function"], digits.whole(match["offset"], 16))


def _flags(text: str) -> tuple[str, ...]:
    """The flags as /proc/cpuinfo spells them: sse4.1 is sse4_1 there."""
    return tuple(flag.strip().replace(".", "_") for flag in text.split(",") if flag.strip())
