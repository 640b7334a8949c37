"""What a person has perhaps read about this crash, and why it is not that: at most two lines."""

from __future__ import annotations

from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.knowledge.claim import Claim
from triage.knowledge.database import Knowledge
from triage.report import Diagnosis, Heard

_MOST = 2
# A cause this likely may be the truth, and then the line that denies it would be wrong.
_LIKELY = 0.2


def heard(facts: Facts, knowledge: Knowledge, diagnoses: tuple[Diagnosis, ...]) -> tuple[Heard, ...]:
    """The lines for this crash; what is heard of a message comes before what is heard of an exit status."""
    likely = {part for d in diagnoses if d.confidence >= _LIKELY for part in (d.cause, d.cause.split(".")[0])}
    fitting = [one for one in knowledge.claims if not likely.intersection(one.except_for) and _applies(one, facts)]
    fitting.sort(key=lambda one: one.when.kind == "exit")
    return tuple(Heard(one.number, one.document, one.instead) for one in fitting[:_MOST])


def _applies(one: Claim, facts: Facts) -> bool:
    if not isinstance(facts.find(one.when.sought), Hit):
        return False
    return one.unless is None or not isinstance(facts.find(one.unless.sought), Hit)
