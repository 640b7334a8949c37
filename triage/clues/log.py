r"""Looks at the normalised log (RE2, `^` and `$` are line ends).

log: 'Dst tensor is not initialized'
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from triage import patterns
from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, caught
from triage.clues.interface import BEGINNING, At, Kind, Request
from triage.crash import Log
from triage.phrases import quote

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written

# Five characters distinguish most texts; in a larger log the set would cost more than the searches it saves.
_PIECE = 5
_SHORT = 200_000
# Also for exceptions, which are read from the log.
LOG_REQUEST = Request("log", "run again with log")


# Patterns over the log, each with texts of which every match contains one; None: not worked out yet.
LogPatterns = Mapping[str, tuple[str, ...] | None]


class LogSeen(NamedTuple):
    """A pattern over the normalised log."""

    pattern: str


class LogKind(Kind):
    """What is printed."""

    form = LogSeen
    background = 0.004
    request = LOG_REQUEST
    patterns = ("pattern",)
    short = "text"

    def parse(self, written: "Written") -> LogSeen:
        return LogSeen(written.text())

    def find(self, sought: LogSeen, facts: "Facts", after: At) -> Finding:
        return facts.logs.first(sought.pattern, after) or (ABSENT if facts.log_is_whole else UNSEEN)


class LogSearch:
    """The search through the logs of one crash. `wanted` are the patterns to expect, but any other is found too."""

    def __init__(self, logs: Sequence[Log], wanted: LogPatterns) -> None:
        self._logs = [log for log in logs if not log.is_blank]
        self._wanted = wanted
        self._found: dict[str, Hit | None] = {}
        self._pieces: dict[int, frozenset[str]] = {}

    def first(self, pattern: str, after: At = BEGINNING) -> Hit | None:
        """The first match of a pattern after a place."""
        if after != BEGINNING:
            return self._search(pattern, after)
        if pattern not in self._found:
            self._found[pattern] = self._search(pattern, after)
        return self._found[pattern]

    def _search(self, pattern: str, after: At) -> Hit | None:
        for log in self._logs:
            if log.input < after[0]:
                continue
            start = after[1] + 1 if log.input == after[0] else 0
            match = self._match(log, pattern, start)
            if match is not None:
                at = match.start()
                return Hit(log.place(at), quote(log.line(at)), (log.input, at), caught(match))
        return None

    def every(self, pattern: str, log: Log) -> Iterator[patterns.Match]:
        """All matches of a pattern in one of the logs."""
        return patterns.compile(pattern).finditer(log.text) if self._is_possible(pattern, log, 0) else iter(())

    def _match(self, log: Log, pattern: str, start: int) -> patterns.Match | None:
        """The first match from an offset on."""
        return patterns.compile(pattern).search(log.text, start) if self._is_possible(pattern, log, start) else None

    def _is_possible(self, pattern: str, log: Log, start: int) -> bool:
        """Whether the texts that a pattern needs are there; if they are not, it is not even compiled."""
        needles = self._wanted.get(pattern)
        if needles is None:
            needles = patterns.literals(pattern)
        return not needles or any(self._may_hold(log, needle, start) for needle in needles)

    def _may_hold(self, log: Log, needle: str, start: int) -> bool:
        """Whether a log may contain a text; for a short log, a set of its pieces answers that without a search."""
        if start or len(log.text) > _SHORT or len(needle) < _PIECE:
            return log.text.find(needle, start) >= 0
        if log.input not in self._pieces:
            text = log.text
            self._pieces[log.input] = frozenset(text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))
        pieces = self._pieces[log.input]
        return needle[:_PIECE] in pieces and needle[-_PIECE:] in pieces and needle in log.text


KIND = LogKind()
