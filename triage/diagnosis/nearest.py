"""What came closest where nothing decides: of each candidate what was seen, and the clue that failed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from triage import patterns
from triage.clues import KINDS, patterns_of
from triage.clues.facts import Facts
from triage.clues.findings import Hit, Unseen
from triage.clues.interface import Clue, Observable
from triage.crash import Crash
from triage.diagnosis.evidence import PLACEHOLDER, in_words, shown
from triage.diagnosis.ranking import Ranking, Scored, Term
from triage.knowledge.database import Knowledge
from triage.report import UNCERTAIN, UNKNOWN, Near, Verdict

_MOST = 3
_CLUES = 2
# Of the usual causes of a status only the first ones come to a person's mind.
_SUSPECTED = 5
# A hit that says less than this is seen with everything.
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


def nearest(facts: Facts, knowledge: Knowledge, ranking: Ranking, verdict: Verdict) -> tuple[Near, ...]:
    """The signatures of different causes that came closest; the usual suspects where nothing else was seen."""
    crash = facts.crash
    if verdict not in (UNKNOWN, UNCERTAIN) or crash.is_empty:
        return ()
    chosen = {s.signature.cause: s for s, _ in ranking.causes if any(_is_telling(term) for term in s.hits)}
    usual = _usual(crash, knowledge)[:_SUSPECTED] if verdict == UNKNOWN else ()
    for cause in (s.signature.cause for s, _ in ranking.causes if s.signature.cause in usual):
        if cause not in chosen and (best := _best_of(cause, ranking)) is not None:
            chosen[cause] = best
    told = (_near(scored, facts) for scored in chosen.values())
    return tuple(near for near in told if near.missing)[:_MOST]


def _is_telling(term: Term) -> bool:
    """Whether a hit is about this failure: where it happened is not, and its exit status has many causes."""
    return not KINDS[term.clue.kind].is_setting and not _is_exit(term) and term.weight >= _TELLING


def _is_exit(term: Term) -> bool:
    """Whether the exit status is what was seen, be it as one of several signs."""
    return isinstance(term.finding, Hit) and term.finding.is_exit


def _usual(crash: Crash, knowledge: Knowledge) -> tuple[str, ...]:
    """The usual causes of this exit status, or else of this exception."""
    pages = [knowledge.status_page(crash.exit)] if crash.exit is not None and crash.exit.is_failure else []
    pages += [knowledge.exceptions.get(error.short_type) or {} for error in reversed(crash.exceptions)]
    return next((tuple(page["causes"]) for page in pages if page.get("causes")), ())


def _best_of(cause: str, ranking: Ranking) -> Scored | None:
    """The cause's signature of which most was seen; one that the facts contradict is not near."""
    own = [s for s in ranking.scored if s.signature.cause == cause and not s.against and not s.on_other_system]
    return max(own, key=lambda s: (bool(s.hits), s.score), default=None)


def _near(scored: Scored, facts: Facts) -> Near:
    seen = sorted(scored.hits, key=lambda term: -term.weight)
    failed = [term for term in scored.terms if not isinstance(term.finding, Hit)]
    failed = [term for term in failed if not KINDS[term.clue.kind].is_setting]
    failed.sort(key=lambda term: -term.clue.p * math.log(term.clue.p / term.clue.b))
    return Near(
        signature=scored.signature.id,
        cause=scored.signature.cause,
        seen=tuple(_seen(term) for term in seen if not KINDS[term.clue.kind].is_setting)[:_CLUES],
        missing=tuple(_missing(term, facts) for term in failed[:_CLUES]),
    )


def _seen(term: Term) -> str:
    """A clue that was seen; of an exit status only itself, since what it would mean here is not certain."""
    assert isinstance(term.finding, Hit)
    return term.finding.quote if _is_exit(term) else shown(term)


def _missing(term: Term, facts: Facts) -> str:
    """A clue that failed: it was looked for in vain, or could not be looked for."""
    if isinstance(term.finding, Unseen) and (missing := facts.missing(term.clue)):
        return f"would need {NEEDS[missing[0].what]}: {_sought(term.clue)}"
    return f"not seen: {_sought(term.clue)}"


def _sought(clue: Clue) -> str:
    """What a clue looks for: its sentence with gaps for the values, else words of the message itself."""
    if clue.says:
        return patterns.compile(PLACEHOLDER).sub(lambda _: "…", clue.says)
    texts = (text for kind, p in patterns_of(clue) if kind in ("log", "exception") for text in patterns.literals(p))
    quote = next((text.strip() for text in texts if len(text.strip()) >= _SHORTEST_QUOTE), "")
    return f"'{quote}'" if quote else in_words(clue)
