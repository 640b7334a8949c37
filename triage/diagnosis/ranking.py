"""Which cause explains the facts best: log-likelihood ratios against a background, "unknown" among the causes.

    S(cause) = ln prior + a * [ sum over hits ln(p/b)  +  n * sum over absent clues ln((1-p)/(1-b)) ]

Each term is capped, and the terms are the explanation that the report prints. A hit may weigh more than an absence: a
message that only one failure prints is decisive even for a rare cause, silence never is. a and n, what is added to the
score of "unknown", and how much surer than this an answer with a clear line is, are fitted to labelled reports
(signatures/calibration.yaml).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triage.clues import KINDS
from triage.clues.facts import Facts
from triage.clues.findings import Absent, Finding, Hit
from triage.clues.interface import Clue
from triage.crash import Crash, Program
from triage.knowledge.calibration import UNFITTED, Weights
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import ANY, Signature

CAP_FOR = 6.9
CAP_AGAINST = -4.6
OTHER_SYSTEM = -3.0
# A cause at least this likely counts as found.
SURE = 0.70
# A hit this telling makes its cause a root that can explain other lines away.
TELLING = 3.5
# An answer as weak as this is not made surer.
_FAINT = 0.15
# How sure an answer may be that is still a guess: just below SURE.
_A_GUESS = 0.69
# How sure an answer about a framework may be where nothing shows that the framework was there.
_UNSHOWN = 0.49
_MEMORY = "host.out-of-memory"
_AT_LIMIT = 0.9


class Term(NamedTuple):
    """One clue's part in a score."""

    clue: Clue
    finding: Finding
    weight: float
    explained_by: str | None = None


class Scored(NamedTuple):
    """A signature with its terms; `against` holds those of its counter-clues."""

    signature: Signature
    terms: tuple[Term, ...]
    against: tuple[Term, ...]
    score: float
    on_other_system: bool = False

    @property
    def hits(self) -> tuple[Term, ...]:
        """The clues that were seen and count."""
        return tuple(term for term in self.terms if isinstance(term.finding, Hit) and term.explained_by is None)

    @property
    def explained(self) -> tuple[Term, ...]:
        """The clues that were seen but that another cause explains."""
        return tuple(term for term in self.terms if term.explained_by is not None)


class Ranking(NamedTuple):
    """Every cause by its best signature, most likely first, with its probability; and "unknown"."""

    causes: tuple[tuple[Scored, float], ...]
    unknown: float
    scored: tuple[Scored, ...]

    @property
    def named(self) -> tuple[tuple[Scored, float], ...]:
        """The causes with at least one clue seen that says what failed, not only where."""
        return tuple(
            (scored, share)
            for scored, share in self.causes
            if any(not KINDS[term.clue.kind].is_setting for term in scored.hits)
        )


class Matches(NamedTuple):
    """What was found for every clue of every signature, in order, before anything is weighed."""

    clues: Mapping[str, tuple[Finding, ...]]
    against: Mapping[str, tuple[Finding, ...]]
    os: str | None
    program: Program | None = None


def match(facts: Facts, knowledge: Knowledge) -> Matches:
    """Look for every clue of every signature. This is the part that takes time, and no weight has a say in it."""
    signatures = knowledge.signatures.items()
    return Matches(
        {id: tuple(facts.find(clue.sought) for clue in s.clues) for id, s in signatures},
        {id: tuple(facts.find(clue.sought) for clue in s.against) for id, s in signatures},
        facts.crash.environment.os,
        facts.crash.program,
    )


def rank(matches: Matches, knowledge: Knowledge, crash: Crash) -> Ranking:
    """The causes by probability, none surer than what could be seen allows."""
    return _cautious(rank_matches(matches, knowledge), crash)


def rank_matches(matches: Matches, knowledge: Knowledge) -> Ranking:
    """Score every signature, keep each cause's best, and turn scores into probabilities."""
    possible = [s for s in knowledge.signatures.values() if _may_be(s, matches)]
    roots = _roots(possible, matches)
    scored = [_score(s, matches, knowledge, roots) for s in possible]
    best: dict[str, Scored] = {}
    for one in scored:
        held = best.get(one.signature.cause)
        if held is None or one.score > held.score:
            best[one.signature.cause] = one
    # Causes without a signature are part of "unknown": the fewer signatures, the more cautious the answer.
    known = {signature.cause for signature in knowledge.signatures.values()}
    unknown_prior = max(0.05, 1.0 - sum(knowledge.causes[cause].prior for cause in known))
    unknown_score = math.log(unknown_prior) + knowledge.calibration.weights.unknown
    highest = max([unknown_score, *(one.score for one in best.values())])
    exponentials = {cause: math.exp(one.score - highest) for cause, one in best.items()}
    unknown = math.exp(unknown_score - highest)
    total = sum(exponentials.values()) + unknown
    shares = [(one, exponentials[cause] / total) for cause, one in best.items()]
    shares.sort(key=lambda pair: (-pair[1], pair[0].signature.cause))
    ranking = Ranking(tuple(shares), unknown / total, tuple(scored))
    return _of_unshown(_sharpened(ranking, knowledge.calibration.weights.sharpness), matches.program)


def _may_be(signature: Signature, matches: Matches) -> bool:
    """Whether a signature is about this process at all.

    One about a framework that was not in it is not; where nothing shows the framework, more than the way it ended must.
    """
    if signature.framework is None or signature.framework == ANY:
        return True
    if matches.program is not None and matches.program.lacks(signature.framework):
        return False
    if matches.program is not None and matches.program.framework is not None:
        return True
    pairs = zip(signature.clues, matches.clues[signature.id], strict=True)
    return any(_says_something(clue, finding) for clue, finding in pairs)


def _says_something(clue: Clue, finding: Finding) -> bool:
    """Whether a finding says what failed, not only where or how it ended."""
    return isinstance(finding, Hit) and not finding.is_exit and not KINDS[clue.kind].is_setting


def _of_unshown(ranking: Ranking, program: Program | None) -> Ranking:
    """The ranking without certainty about a framework of which nothing shows that it was in the process."""
    if program is not None and program.framework is not None:
        return ranking
    shares = [
        (scored, min(share, _UNSHOWN) if scored.signature.framework not in (None, ANY) else share)
        for scored, share in ranking.causes
    ]
    lost = sum(share for _, share in ranking.causes) - sum(share for _, share in shares)
    return ranking._replace(causes=tuple(shares), unknown=ranking.unknown + lost)


def _sharpened(ranking: Ranking, sharpness: float) -> Ranking:
    """A first answer that rests on a clear line, made as sure as labelled reports allow; the others lose as much.

    Answers from exit codes and everyday clues stay as they are: people who have nothing else file few of the reports
    that this is fitted to.
    """
    if not ranking.causes or sharpness == 1.0:
        return ranking
    first, before = ranking.causes[0]
    if not any(_is_clear(term) for term in first.hits) or before <= _FAINT or before > 1.0 - 1e-9:
        return ranking
    after = 1.0 / (1.0 + math.exp(-(_log_odds(_FAINT) + sharpness * (_log_odds(before) - _log_odds(_FAINT)))))
    rest = (1.0 - after) / (1.0 - before)
    causes = ((first, after), *((scored, share * rest) for scored, share in ranking.causes[1:]))
    return ranking._replace(causes=causes, unknown=ranking.unknown * rest)


def _is_clear(term: Term) -> bool:
    """Whether a hit is a telling line; an exit status is not one, alone or among other signs."""
    if not isinstance(term.finding, Hit) or term.finding.is_exit or term.clue.kind == "memory":
        return False
    return weigh(term.clue, term.finding) >= TELLING


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


def _cautious(ranking: Ranking, crash: Crash) -> Ranking:
    """The ranking with everything that cannot be known for sure kept below SURE.

    Where a part of a text was not read, the line that decides may be in it, whatever the rest says.
    """
    if not crash.partly_read and not _killer_is_unknown(crash):
        return ranking
    shares = [
        (scored, min(share, _A_GUESS) if crash.partly_read or scored.signature.cause == _MEMORY else share)
        for scored, share in ranking.causes
    ]
    return ranking._replace(causes=tuple(shares), unknown=1.0 - sum(share for _, share in shares))


def _killer_is_unknown(crash: Crash) -> bool:
    """Whether a program that we ran was killed well below its limit, and the kernel counted no kill for memory:
    whatever its log says, somebody else may have killed it."""
    killed = crash.rerun is not None and crash.exit is not None and crash.exit.signal == "SIGKILL"
    peak, limit = crash.memory.peak_bytes, crash.memory.limit_bytes
    return killed and not crash.memory.oom_kills and not (peak and limit and peak > _AT_LIMIT * limit)


def weigh(clue: Clue, finding: Finding, weights: Weights = UNFITTED.weights) -> float:
    """How much a finding adds to the score of its signature."""
    if isinstance(finding, Hit):
        return weights.hits * _capped(math.log(clue.p / clue.b))
    if isinstance(finding, Absent):
        return weights.hits * weights.absences * _capped(math.log((1 - clue.p) / (1 - clue.b)))
    return 0.0


def _roots(signatures: Sequence[Signature], matches: Matches) -> set[str]:
    """The causes that have a telling clue of their own, and so can explain the clues of others.

    A clue that may be a consequence is its cause's own where none of the causes that would explain it shows.
    """
    telling = [
        (signature.cause, clue.consequence_of)
        for signature in signatures
        for clue, finding in zip(signature.clues, matches.clues[signature.id], strict=True)
        if isinstance(finding, Hit) and weigh(clue, finding) >= TELLING and clue.kind != "exit"
    ]
    certain = {cause for cause, explained_by in telling if not explained_by}
    return certain | {cause for cause, explained_by in telling if not certain.intersection(explained_by)}


def _score(signature: Signature, matches: Matches, knowledge: Knowledge, roots: set[str]) -> Scored:
    weights = knowledge.calibration.weights
    terms = []
    for clue, finding in zip(signature.clues, matches.clues[signature.id], strict=True):
        explained_by = next(
            (cause for cause in clue.consequence_of if cause in roots and cause != signature.cause), None
        )
        if explained_by is not None and isinstance(finding, Hit):
            terms.append(Term(clue, finding, 0.0, explained_by))
        else:
            terms.append(Term(clue, finding, weigh(clue, finding, weights)))
    against = [
        Term(clue, finding, weigh(clue, finding, weights))
        for clue, finding in zip(signature.against, matches.against[signature.id], strict=True)
        if isinstance(finding, Hit)
    ]
    elsewhere = bool(signature.os and matches.os and matches.os not in signature.os)
    prior = math.log(knowledge.causes[signature.cause].prior)
    score = prior + sum(term.weight for term in (*terms, *against)) + (OTHER_SYSTEM if elsewhere else 0.0)
    return Scored(signature, tuple(terms), tuple(against), score, elsewhere)


def _capped(value: float) -> float:
    return max(CAP_AGAINST, min(CAP_FOR, value))
