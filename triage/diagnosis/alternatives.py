"""What else it could be: causes that are ruled out, signatures that came close, and claims that do not hold here."""

from __future__ import annotations

import math
from collections.abc import Mapping

from triage import patterns
from triage.clues import KINDS, patterns_of
from triage.clues.facts import Facts
from triage.clues.findings import Absent, Hit, Unseen
from triage.clues.interface import Clue
from triage.crash import Crash, Observable
from triage.diagnosis.evidence import NEARLY_ALWAYS, in_words, not_shown, shown
from triage.diagnosis.ranking import Ranking, Scored, Term
from triage.knowledge.claim import Claim
from triage.knowledge.database import Knowledge
from triage.phrases import Phrase, fill, without_values
from triage.report import UNCERTAIN, UNKNOWN, Diagnosis, NearMiss, RefutedClaim, RuledOut, Verdict

# People suspect only the first few of a status's usual causes.
_SUSPECTED = 5

# ---------------------------------------------------------------- ruled out

# A cause this likely is an alternative, not ruled out.
STILL_POSSIBLE = 0.05
_MOST_RULED_OUT = 4


def ruled_out(
    crash: Crash, knowledge: Knowledge, ranking: Ranking, diagnoses: tuple[Diagnosis, ...]
) -> tuple[RuledOut, ...]:
    """Causes that people would suspect, and why they are out: their clue has another explanation, or is missing."""
    diagnosed = {diagnosis.cause for diagnosis in diagnoses}
    believed = [term.finding.quote for term in ranking.causes[0][0].hits if isinstance(term.finding, Hit)]
    suspects = _suspects(crash, knowledge)
    found: dict[str, str] = {}
    for scored, share in ranking.causes:
        cause = scored.signature.cause
        if cause in diagnosed or (share >= STILL_POSSIBLE and scored.hits):
            continue
        seen = cause in suspects or any(term.clue.kind != "exit" for term in (*scored.hits, *scored.explained))
        # What the first answer itself takes for its evidence rules nothing out: both may be said of it.
        shared = any(_is_within(term, believed) for term in scored.explained)
        reason = _contradiction(scored) if seen and not shared else ""
        if not reason and cause in suspects:
            others = (_contradiction(other) for other in ranking.scored if other.signature.cause == cause)
            reason = next(filter(None, others), "")
            if not reason and share < STILL_POSSIBLE and _comes_to_mind(cause, diagnoses, knowledge):
                reason = _missing_hallmark(ranking, cause)
        if reason:
            found[cause] = reason
    return tuple(RuledOut(cause, because) for cause, because in list(found.items())[:_MOST_RULED_OUT])


def _is_within(term: Term, quotes: list[str]) -> bool:
    return isinstance(term.finding, Hit) and any(term.finding.quote in quote for quote in quotes)


def _suspects(crash: Crash, knowledge: Knowledge) -> set[str]:
    """The usual causes of this exit status."""
    if crash.exit is None or not crash.exit.is_death:
        return set()
    return set(tuple(knowledge.status_page(crash.exit).get("causes") or ())[:_SUSPECTED])


def _comes_to_mind(cause: str, diagnoses: tuple[Diagnosis, ...], knowledge: Knowledge) -> bool:
    """Whether somebody who reads the answer would still ask for this cause: one of the two is mistaken for the other.

    The status alone makes people think of it only where there is no answer.
    """
    if not diagnoses:
        return True
    answer = diagnoses[0].cause
    return any(
        other in (knowledge.causes[one].page.get("mistaken_for") or {})
        for one, other in ((answer, cause), (cause, answer))
    )


def _contradiction(scored: Scored) -> str:
    for term in scored.explained:
        return f"its line is explained by {term.explained_by}"
    reasons: dict[tuple[object, ...], str] = {}
    for term in scored.against if scored.hits else ():
        # Of two sentences about the same figure the first, which says more, is enough.
        reasons.setdefault(_figure(term), _in_numbers(term))
    return Phrase.of(*[part for text in reasons.values() for part in (", and ", text)][1:])


def _figure(term: Term) -> tuple[object, ...]:
    """What a clue is about. Clues that measure the same thing have the same values; any other is about itself alone."""
    assert isinstance(term.finding, Hit)
    measured = term.finding.place is None and term.finding.values
    return (term.clue.kind, *term.finding.values.items()) if measured else (term.clue.id,)


def _in_numbers(term: Term) -> str:
    assert isinstance(term.finding, Hit)
    says = term.finding.says or term.clue.says
    sentence = fill(says, term.finding.values) if says else None
    return sentence or term.finding.quote


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
        reasons.append(not_shown(absent.clue) or f"there is no sign of it ({in_words(absent.clue)})")
    return reasons[0] if reasons else ""


# ---------------------------------------------------------------- came close

_MOST_NEAR = 3
_CLUES = 2
# Hits that weigh less than this turn up in all sorts of crashes.
_TELLING = 2.0
_SHORTEST_QUOTE = 8
# What a clue that could not be looked for would need.
NEEDS: Mapping[Observable, str] = {
    "exit status": "the exit status",
    "log": "the log",
    "native stack": "the native stack",
    "python stack": "the Python stack",
    "fault": "the instruction at the fault",
    "loaded libraries": "the loaded libraries",
    "memory figures": "figures of memory",
    "process start": "how the process was made",
    "machine": "facts about the machine",
}


def nearest(facts: Facts, knowledge: Knowledge, ranking: Ranking, verdict: Verdict) -> tuple[NearMiss, ...]:
    """The signatures of different causes that came closest; the usual suspects where nothing else was seen."""
    crash = facts.crash
    if verdict not in (UNKNOWN, UNCERTAIN) or crash.is_empty:
        return ()
    chosen = {s.signature.cause: s for s, _ in ranking.causes if any(_is_telling(term) for term in s.hits)}
    usual = _usual(crash, knowledge)[:_SUSPECTED] if verdict == UNKNOWN else ()
    for cause in (s.signature.cause for s, _ in ranking.causes if s.signature.cause in usual):
        best = _best_of(cause, ranking)
        # With a known status, a cause of which not even that fits did not come close.
        if cause not in chosen and best is not None and (best.hits or crash.exit is None):
            chosen[cause] = best
    found = (_near(scored, facts) for scored in chosen.values())
    return tuple(near for near in found if near.missing)[:_MOST_NEAR]


def _is_telling(term: Term) -> bool:
    """Whether a hit points at this failure; where it happened does not, and an exit status has many causes."""
    return not KINDS[term.clue.kind].is_setting and not _is_exit(term) and term.weight >= _TELLING


def _is_exit(term: Term) -> bool:
    """Whether what was seen is the exit status, alone or as one of several signs."""
    return isinstance(term.finding, Hit) and term.finding.is_exit


def _usual(crash: Crash, knowledge: Knowledge) -> tuple[str, ...]:
    """The usual causes of this exit status, or else of this exception."""
    pages = [knowledge.status_page(crash.exit)] if crash.exit is not None and crash.exit.is_failure else []
    pages += [knowledge.exceptions.get(error.short_type) or {} for error in reversed(crash.exceptions)]
    return next((tuple(page["causes"]) for page in pages if page.get("causes")), ())


def _best_of(cause: str, ranking: Ranking) -> Scored | None:
    """The cause's signature that most was seen of; one that the facts contradict did not come close."""
    own = [s for s in ranking.scored if s.signature.cause == cause and not s.against and not s.on_other_system]
    return max(own, key=lambda s: (bool(s.hits), s.score), default=None)


def _near(scored: Scored, facts: Facts) -> NearMiss:
    seen = sorted(scored.hits, key=lambda term: -term.weight)
    failed = [term for term in scored.terms if not isinstance(term.finding, Hit)]
    failed = [term for term in failed if not KINDS[term.clue.kind].is_setting]
    failed.sort(key=lambda term: -term.clue.p * math.log(term.clue.p / term.clue.b))
    return NearMiss(
        signature=scored.signature.id,
        cause=scored.signature.cause,
        seen=tuple(_seen(term) for term in seen if not KINDS[term.clue.kind].is_setting)[:_CLUES],
        missing=tuple(_missing(term, facts) for term in failed[:_CLUES]),
    )


def _seen(term: Term) -> str:
    """A clue that was seen. An exit status is only named: what it means here is not certain."""
    assert isinstance(term.finding, Hit)
    return term.finding.quote if _is_exit(term) else shown(term)


def _missing(term: Term, facts: Facts) -> str:
    """A clue that is missing, or that could not be looked for."""
    if isinstance(term.finding, Unseen) and (missing := facts.missing(term.clue)):
        return f"would need {NEEDS[missing[0].what]}: {_sought(term.clue)}"
    return f"not seen: {_sought(term.clue)}"


def _sought(clue: Clue) -> str:
    """What a clue looks for: its sentence with gaps for the values, or words of the message itself."""
    if clue.says:
        # A sentence that begins with a figure says nothing without it.
        return in_words(clue) if clue.says.startswith("{") else without_values(clue.says)
    texts = (text for kind, p in patterns_of(clue) if kind in ("log", "exception") for text in patterns.literals(p))
    quote = next((text.strip() for text in texts if len(text.strip()) >= _SHORTEST_QUOTE), "")
    return f"'{quote}'" if quote else in_words(clue)


# ---------------------------------------------------------------- claims that do not hold here

_MOST_CLAIMS = 2
# A cause this likely may be the real one, and then denying it would be wrong.
_LIKELY = 0.2


def refuted_claims(facts: Facts, knowledge: Knowledge, diagnoses: tuple[Diagnosis, ...]) -> tuple[RefutedClaim, ...]:
    """Claims that people read about such a crash, and what is true; those about a message come first.

    They are about frameworks, so a program that shows none is not told of them.
    """
    if facts.crash.program is not None and facts.crash.program.framework is None:
        return ()
    likely = {part for d in diagnoses if d.confidence >= _LIKELY for part in (d.cause, d.cause.split(".")[0])}
    fitting = [one for one in knowledge.claims if not likely.intersection(one.except_for) and _applies(one, facts)]
    fitting.sort(key=lambda one: one.when.kind == "exit")
    return tuple(RefutedClaim(one.number, one.document, one.instead) for one in fitting[:_MOST_CLAIMS])


def _applies(one: Claim, facts: Facts) -> bool:
    if not isinstance(facts.find(one.when.sought), Hit):
        return False
    return one.unless is None or not isinstance(facts.find(one.unless.sought), Hit)
