"""Looks at several wordings of one thing; the first that is seen counts.

any: [{log: …}, {log: …}]
any: [{id: NAME, log: …, says: …}, {log: …}]  # a sentence for one wording, and a name for `for: {seen: NAME}`
"""

from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import ABSENT, UNSEEN, Absent, Finding, Hit, Unseen
from triage.clues.interface import At, Clue, Kind

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class AnyOf(NamedTuple):
    """Several wordings of one thing: the first that is seen counts, the others do not count against it."""

    clues: tuple[Clue, ...]


class AnyKind(Kind):
    """One of several."""

    form = AnyOf
    background = 0.004
    least_inner = 1
    of_a_thread = True

    def parse(self, written: "Written") -> AnyOf:
        return AnyOf(written.clues(self.least_inner))

    def find(self, sought: AnyOf, facts: "Facts", after: At) -> Finding:
        findings = [facts.find(clue.sought, after) for clue in sought.clues]
        hits = [
            finding._replace(says=clue.says or finding.says, wordings=(clue.id, *finding.wordings))
            for clue, finding in zip(sought.clues, findings, strict=True)
            if isinstance(finding, Hit)
        ]
        if hits:
            # The earliest is the evidence, but every wording may carry values of its own.
            first = min(hits, key=lambda hit: hit.at)
            values = {name: text for hit in reversed(hits) for name, text in hit.values.items()}
            # Of several wordings in one line the one that is written first has the word.
            says = next((hit.says for hit in hits if hit.place == first.place and hit.says), None)
            return first._replace(
                says=says,
                values={**values, **first.values},
                is_exit=any(hit.is_exit for hit in hits),
                wordings=tuple(dict.fromkeys(id for hit in hits for id in hit.wordings)),
            )
        # Faults, libraries, memory and the machine are often unknown, which proves nothing either way; but without a
        # log to search, the absence of the other wordings proves nothing either.
        blind = any(
            isinstance(finding, Unseen) and not facts.kinds[clue.kind].often_unknown
            for clue, finding in zip(sought.clues, findings, strict=True)
        )
        absent = any(isinstance(finding, Absent) for finding in findings)
        return ABSENT if absent and not blind else UNSEEN


KIND = AnyKind()
