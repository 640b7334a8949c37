"""What a container's own words find in a log: exit statuses and notices of a death."""

from __future__ import annotations

from triage import digits, patterns, status
from triage.crash import ExitStatus, Log, Place, RuntimeMessage
from triage.patterns import Match

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def statuses(log: Log, *forms: str) -> tuple[ExitStatus, ...]:
    """The exit statuses that these patterns find, in the order of the text.

    The named group of a pattern says what was written: code, signal, number or words.
    """
    found = []
    for form in forms:
        for match in patterns.compile(form).finditer(log.text):
            seen = _status(match, log.place(match.start()))
            if seen is not None:
                found.append((match.start(), seen))
    return tuple(seen for _, seen in sorted(found, key=lambda pair: pair[0]))


def notices(log: Log, pattern: str) -> tuple[RuntimeMessage, ...]:
    """The sentences that prove a death without naming its cause."""
    return tuple(
        RuntimeMessage("notice", match.group().strip(), log.place(match.start()), match.start())
        for match in patterns.compile(pattern).finditer(log.text)
    )


def count(log: Log, pattern: str) -> int | None:
    """How many times a pattern is found; None where it is not, because not told is not zero."""
    return sum(1 for _ in patterns.compile(pattern).finditer(log.text)) or None


def size(number: str, unit: str = "") -> int | None:
    """Bytes from a figure such as `5.5` `GB`; every tool here counts in powers of 1024."""
    return digits.scaled(number, 1024 ** _UNITS.get(unit[:1].upper(), 0))


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
