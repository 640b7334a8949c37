"""The result of looking for a clue: it is seen (a Hit), absent although it could be seen, or not observable."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from triage import patterns
from triage.clues.interface import At
from triage.crash import Place
from triage.phrases import Phrase, quote

_NO_VALUES: Mapping[str, str] = {}


class Hit(NamedTuple):
    """A clue that was seen: where, in which words, with which named values; `at` orders hits within a log.

    Words and values from the input are Phrases, which keeps them apart from our own. `is_exit` marks how the process
    ended, which a log may repeat in its own words. `says` is the sentence of the wording that was met, where `any` has
    one for each, and `wordings` are the ids of all of its wordings that were.
    """

    place: Place | None
    quote: str
    at: At = (0, 0)
    values: Mapping[str, str] = _NO_VALUES
    is_exit: bool = False
    says: str | None = None
    wordings: tuple[str, ...] = ()


class Absent:
    """A clue that could have been seen and was not."""


class Unseen:
    """A clue that the inputs cannot show."""


ABSENT, UNSEEN = Absent(), Unseen()
Finding = Hit | Absent | Unseen


def seen_if(holds: bool, quote: str, **values: str) -> Finding:
    """A hit without a place in a log if something holds, else absent."""
    return Hit(None, quote, values=values) if holds else ABSENT


def if_known(value: str | None, holds: Callable[[str], bool], words: str) -> Finding:
    """A hit if a fact is known and something holds of it; `words` has a placeholder for the fact."""
    return seen_if(holds(value), words.format(value)) if value else UNSEEN


def all_of(findings: list[Finding]) -> Finding:
    """One finding for parts that must all hold: absent if one does not hold, unseen if one is unknown."""
    if any(finding == ABSENT for finding in findings):
        return ABSENT
    hits = [finding for finding in findings if isinstance(finding, Hit)]
    if not hits or len(hits) < len(findings):
        return UNSEEN
    values = {name: text for hit in hits for name, text in hit.values.items()}
    words = [part for hit in hits for part in (", ", hit.quote)][1:]
    return Hit(None, Phrase.of(*words), values=values)


def fits(pattern: str | None, text: str | None) -> bool:
    """Whether a pattern matches somewhere in a text; no pattern always fits, no text never does."""
    return pattern is None or (text is not None and patterns.compile(pattern).search(text) is not None)


def caught(match: patterns.Match) -> dict[str, str]:
    """The named groups that matched: words of the input."""
    return {name: quote(text) for name, text in match.groupdict().items() if text is not None}
