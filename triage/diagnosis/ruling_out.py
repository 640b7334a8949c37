"""What a person would suspect here, and why it is not that."""

from __future__ import annotations

from triage.crash import Crash
from triage.diagnosis.evidence import in_words
from triage.diagnosis.matching import Absent, Hit
from triage.diagnosis.ranking import Ranking, Scored
from triage.knowledge.loading import Knowledge
from triage.report import Diagnosis, RuledOut

# A cause this likely is an alternative, not ruled out.
STILL_POSSIBLE = 0.05
# Only a clue that is nearly always there says something by its absence.
NEARLY_ALWAYS = 0.9
_MOST = 4


def ruled_out(
    crash: Crash, knowledge: Knowledge, ranking: Ranking, diagnoses: tuple[Diagnosis, ...]
) -> tuple[RuledOut, ...]:
    """Suspects with a reason: those whose clue was seen but is explained away, and the usual ones for this status."""
    told = {diagnosis.cause for diagnosis in diagnoses}
    found: dict[str, str] = {}
    for scored, share in ranking.causes:
        cause = scored.signature.cause
        if cause in told or share >= STILL_POSSIBLE or cause in found:
            continue
        reason = _contradiction(scored)
        if reason is None and cause in _suspects(crash, knowledge):
            reason = _missing_hallmark(ranking, cause)
        if reason:
            found[cause] = reason
    return tuple(RuledOut(cause, because) for cause, because in list(found.items())[:_MOST])


def _suspects(crash: Crash, knowledge: Knowledge) -> set[str]:
    """The usual causes of this exit status."""
    if crash.exit is None or not crash.exit.is_death:
        return set()
    return set(knowledge.status_page(crash.exit).get("causes") or ())


def _contradiction(scored: Scored) -> str | None:
    for term in scored.explained:
        return f"its line is explained by {term.explained_by}"
    for term in scored.against:
        if scored.hits and isinstance(term.finding, Hit):
            return term.clue.says or term.finding.quote
    return None


def _missing_hallmark(ranking: Ranking, cause: str) -> str | None:
    """Why a usual suspect is out: none of its signatures' hallmarks was seen, although each could have been."""
    reasons = []
    for scored in ranking.scored:
        if scored.signature.cause != cause:
            continue
        hallmarks = [term for term in scored.terms if term.clue.p >= NEARLY_ALWAYS and term.clue.kind != "exit"]
        absent = next((term for term in hallmarks if isinstance(term.finding, Absent)), None)
        if absent is None:
            return None
        reasons.append(f"not seen: {in_words(absent.clue)}")
    return reasons[0] if reasons else None
