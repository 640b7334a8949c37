"""What the module of a container format offers, and how most of them find it in a log."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from triage import digits, patterns, status
from triage.crash import Environment, ExitStatus, Fault, Log, Memory, Place, RuntimeMessage, Thread
from triage.patterns import Match


class ContainerFacts(NamedTuple):
    """What one container reports about the process that died in it; what it does not report stays empty.

    `messages` of kind `notice` say that a process died without saying how ("restarting kernel"): they prove a death and
    name no cause.
    """

    exits: tuple[ExitStatus, ...] = ()
    threads: tuple[Thread, ...] = ()
    messages: tuple[RuntimeMessage, ...] = ()
    memory: Memory = Memory()
    environment: Environment = Environment()
    fault: Fault | None = None


class Container(Protocol):
    """A module for the format of one scheduler, crash reporter, debugger or IDE."""

    TRIGGERS: tuple[str, ...]
    """Texts of which one must be in a log before the module is even imported."""

    def extract(self, log: Log) -> ContainerFacts:
        """The facts in a log that has one of the triggers; empty where the format is not there after all."""
        ...


def statuses(log: Log, *forms: str) -> tuple[ExitStatus, ...]:
    """The exit statuses that these patterns find, in the order of the text.

    The named group of a pattern says how the status is written: code, signal, number or words.
    """
    found = []
    for form in forms:
        for match in patterns.compile(form).finditer(log.text):
            seen = _status(match, log.place(match.start()))
            if seen is not None:
                found.append((match.start(), seen))
    return tuple(seen for _, seen in sorted(found, key=lambda pair: pair[0]))


def _status(match: Match, place: Place) -> ExitStatus | None:
    for group, text in match.groupdict().items():
        if text and group == "code":
            return status.parse(text, place=place)
        if text and group == "signal":
            return status.from_signal(text, place=place)
        if text and group == "number":
            number = digits.whole(text)
            return None if number is None else status.from_code(-number, place=place)
        if text and group == "words":
            return status.from_words(text, place=place)
    return None


def notices(log: Log, pattern: str) -> tuple[RuntimeMessage, ...]:
    """The sentences that prove a death without naming its cause."""
    return tuple(
        RuntimeMessage("notice", match.group().strip(), log.place(match.start()), match.start())
        for match in patterns.compile(pattern).finditer(log.text)
    )


def longest_line(log: Log, start: int, stop: int) -> tuple[int, str]:
    """The longest line between two offsets, which tells most of a heading of several lines, and where it starts."""
    lines = log.text[start:stop].split("\n")
    longest = max(range(len(lines)), key=lambda number: len(lines[number].strip(" \t#")))
    text = lines[longest].strip()
    return start + sum(len(line) + 1 for line in lines[:longest]), text


def count(log: Log, pattern: str) -> int | None:
    """How often a pattern occurs; None where it does not, because a log that is silent does not say zero."""
    return sum(1 for _ in patterns.compile(pattern).finditer(log.text)) or None


_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def size(number: str, unit: str = "") -> int | None:
    """Bytes from a figure such as `5.5` `GB`; every tool here counts in powers of 1024."""
    return digits.scaled(number, 1024 ** _UNITS.get(unit[:1].upper(), 0))
