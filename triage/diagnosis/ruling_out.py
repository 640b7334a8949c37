"""What a person would suspect here, and why it is not that."""

from __future__ import annotations

from triage.clues.findings import Absent, Hit
from triage.clues.interface import Clue
from triage.crash import Crash
from triage.diagnosis.evidence import fill, in_words, placeholders
from triage.diagnosis.ranking import Ranking, Scored, Term
from triage.knowledge.database import Knowledge
from triage.phrases import Phrase
from triage.report import Diagnosis, RuledOut

# A cause this likely is an alternative, not ruled out.
STILL_POSSIBLE = 0.05
# Only a clue that is nearly always there says something by its absence.
NEARLY_ALWAYS = 0.9
_MOST = 4
# Of the usual causes of a status only the first ones come to a person's mind.
_SUSPECTED = 5


def ruled_out(
    crash: Crash, knowledge: Knowledge, ranking: Ranking, diagnoses: tuple[Diagnosis, ...]
) -> tuple[RuledOut, ...]:
    """Suspects with a reason: those whose clue was seen but is explained away, and the usual ones for this status."""
    told = {diagnosis.cause for diagnosis in diagnoses}
    suspects = _suspects(crash, knowledge)
    found: dict[str, str] = {}
    for scored, share in ranking.causes:
        cause = scored.signature.cause
        if cause in told or (share >= STILL_POSSIBLE and scored.hits):
            continue
        seen = cause in suspects or any(term.clue.kind != "exit" for term in (*scored.hits, *scored.explained))
        reason = _contradiction(scored) if seen else ""
        if not reason and cause in suspects:
            others = (_contradiction(other) for other in ranking.scored if other.signature.cause == cause)
            reason = next(filter(None, others), "")
            if not reason and share < STILL_POSSIBLE:
                reason = _missing_hallmark(ranking, cause)
        if reason:
            found[cause] = reason
    return tuple(RuledOut(cause, because) for cause, because in list(found.items())[:_MOST])


def _suspects(crash: Crash, knowledge: Knowledge) -> set[str]:
    """The usual causes of this exit status."""
    if crash.exit is None or not crash.exit.is_death:
        return set()
    return set(tuple(knowledge.status_page(crash.exit).get("causes") or ())[:_SUSPECTED])


def _contradiction(scored: Scored) -> str:
    for term in scored.explained:
        return f"its line is explained by {term.explained_by}"
    reasons: dict[tuple[object, ...], str] = {}
    for term in scored.against if scored.hits else ():
        # Of two sentences about the same figure the first, which says more, is enough.
        reasons.setdefault(_figure(term), _in_numbers(term))
    return Phrase.of(*[part for text in reasons.values() for part in (", and ", text)][1:])


def _figure(term: Term) -> tuple[object, ...]:
    """What a clue is about: those that measure the same thing have caught the same values, each other stands alone."""
    assert isinstance(term.finding, Hit)
    measured = term.finding.place is None and term.finding.values
    return (term.clue.kind, *term.finding.values.items()) if measured else (term.clue.id,)


def _in_numbers(term: Term) -> str:
    assert isinstance(term.finding, Hit)
    said = fill(term.clue.says, dict(term.finding.values)) if term.clue.says else None
    return said or term.finding.quote


def _missing_hallmark(ranking: Ranking, cause: str) -> str:
    """Why a usual suspect is out: none of its signatures' hallmarks was seen, although each could have been."""
    reasons = []
    for scored in ranking.scored:
        if scored.signature.cause != cause:
            continue
        hallmarks = [term for term in scored.terms if term.clue.p >= NEARLY_ALWAYS and term.clue.kind != "exit"]
        absent = next((term for term in hallmarks if isinstance(term.finding, Absent)), None)
        if absent is None:
            return ""
        reasons.append(_no_sign(absent.clue))
    return reasons[0] if reasons else ""


def _no_sign(clue: Clue) -> str:
    """That a clue is missing, as a sentence that cannot be read the other way round."""
    if clue.says and not placeholders(clue.says):
        return f"nothing shows that {clue.says}"
    return f"there is no sign of it ({in_words(clue)})"
