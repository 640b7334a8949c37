"""Looks at several clues, one after the other.

sequence: [{log: …}, {exit: SIGKILL}]
"""

from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import Finding, Hit
from triage.clues.interface import At, Clue, Kind

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class InSequence(NamedTuple):
    """Clues that must be seen one after the other."""

    clues: tuple[Clue, ...]


class SequenceKind(Kind):
    """One after the other."""

    form = InSequence
    background = 0.003
    least_inner = 2

    def parse(self, written: "Written") -> InSequence:
        return InSequence(written.clues(self.least_inner))

    def find(self, sought: InSequence, facts: "Facts", after: At) -> Finding:
        values: dict[str, str] = {}
        wordings: list[str] = []
        last: Hit | None = None
        for clue in sought.clues:
            finding = facts.find(clue.sought, after)
            if not isinstance(finding, Hit):
                return finding
            values.update(finding.values)
            wordings += finding.wordings
            after, last = max(after, finding.at), finding
        assert last is not None
        return Hit(last.place, last.quote, last.at, values, last.is_exit, wordings=tuple(wordings))


KIND = SequenceKind()
