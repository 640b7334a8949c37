"""What looking for a clue gives: it is seen (a Hit), absent although it could be seen, or not observable."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from triage import patterns
from triage.clues.interface import At
from triage.crash import Place
from triage.phrases import Phrase, quote

_NO_VALUES: Mapping[str, str] = {}


class Hit(NamedTuple):
    """A clue that was seen: where, in which words, with which named values; `at` orders hits within a log.

    Words and values that stand in the input are Phrases, so that they stay apart from our own. `is_exit` says that it
    is how the process ended, which a log may say again in words of its own.
    """

    place: Place | None
    quote: str
    at: At = (0, 0)
    values: Mapping[str, str] = _NO_VALUES
    is_exit: bool = False


class Absent:
    """A clue that could have been seen and was not."""


class Unseen:
    """A clue of a kind that the inputs do not hold."""


ABSENT, UNSEEN = Absent(), Unseen()
Finding = Hit | Absent | Unseen


def seen_if(holds: bool, quote: str, **values: str) -> Finding:
    """A hit without a place in a log, where something holds."""
    return Hit(None, quote, values=values) if holds else ABSENT


def told(value: str | None, holds: Callable[[str], bool], words: str) -> Finding:
    """A hit where a fact is told and something holds of it; `words` has a gap for the fact."""
    return seen_if(holds(value), words.format(value)) if value else UNSEEN


def all_of(findings: list[Finding]) -> Finding:
    """One finding for parts that must all hold: one that does not makes it absent, one that is not told unseen."""
    if any(finding == ABSENT for finding in findings):
        return ABSENT
    hits = [finding for finding in findings if isinstance(finding, Hit)]
    if not hits or len(hits) < len(findings):
        return UNSEEN
    values = {name: text for hit in hits for name, text in hit.values.items()}
    words = [part for hit in hits for part in (", ", hit.quote)][1:]
    return Hit(None, Phrase.of(*words), values=values)


def fits(pattern: str | None, text: str | None) -> bool:
    """Whether a pattern, if one is asked for, matches somewhere in a text, if there is one."""
    return pattern is None or (text is not None and patterns.compile(pattern).search(text) is not None)


def caught(match: patterns.Match) -> dict[str, str]:
    """The named groups of a match that were caught: words of the input."""
    return {name: quote(text) for name, text in match.groupdict().items() if text is not None}
