"""Which cause explains the facts best: log-likelihood ratios against a background, "unknown" among the causes.

    S(cause) = ln prior + a * [ sum over hits ln(p/b)  +  n * sum over absent clues ln((1-p)/(1-b)) ]

Each term is capped, and the terms are the explanation that the report prints. A hit may weigh more than an absence: a
message that only one failure prints is decisive even for a rare cause, silence never is. Only causes for which
something was seen share the probability with "unknown". a and n, what is added to the score of "unknown", and the curve
from the first answer's share to its confidence are fitted to labelled reports (signatures/calibration.yaml).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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
# An answer whose best clue weighs less than this is a guess, however common its cause is.
_FAINT = 1.5
# How sure an answer may be that is still a guess: just below SURE.
_A_GUESS = 0.69
# How sure an answer about a framework may be where nothing shows that the framework was there.
_UNSHOWN = 0.49
_MEMORY = "host.out-of-memory"
_AT_LIMIT = 0.9
# -9 as some launchers pass it on.
_KILLED_BY_A_LAUNCHER = 247


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
    """Every cause by its best signature, most likely first, with its probability; and "unknown".

    A cause for which nothing was seen has none, unless an exit status is all there is. `plausible` is how likely the
    causes would be if those were counted too: what to ask next depends on them.
    """

    causes: tuple[tuple[Scored, float], ...]
    unknown: float
    scored: tuple[Scored, ...]
    plausible: tuple[tuple[Scored, float], ...] = ()

    @property
    def named(self) -> tuple[tuple[Scored, float], ...]:
        """The causes for which something was seen."""
        return tuple((scored, share) for scored, share in self.causes if _has_evidence(scored))


def _has_evidence(scored: Scored) -> bool:
    """Whether at least one clue was seen that says what failed, not only where."""
    return any(not KINDS[term.clue.kind].is_setting for term in scored.hits)


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
    plausible = _shares(best.values(), unknown_score)
    ranking = Ranking(plausible, 1.0 - sum(share for _, share in plausible), tuple(scored), plausible)
    fitted = _as_sure_as_fitted(_without_unseen(ranking), knowledge.calibration.weights)
    return _of_unshown(fitted, matches.program)


def _may_be(signature: Signature, matches: Matches) -> bool:
    """Whether a signature is about this process at all.

    One about a framework that was not in it is not; where nothing shows the framework, more than the way it ended must.
    The same holds for cards and packages in a program of another language than Python.
    """
    if signature.framework is None or signature.framework == ANY:
        return not _is_of_python_programs(signature, matches) or _is_spoken_for(signature, matches)
    if matches.program is not None and matches.program.lacks(signature.framework):
        return False
    if matches.program is not None and matches.program.framework is not None:
        return True
    return _is_spoken_for(signature, matches)


def _is_of_python_programs(signature: Signature, matches: Matches) -> bool:
    """Whether a signature is about what Python programs load, and the program is known to be of another language."""
    program = matches.program
    other = program is not None and program.framework is None and program.language not in (None, "python")
    return other and signature.cause.startswith(("gpu.", "install."))


def _is_spoken_for(signature: Signature, matches: Matches) -> bool:
    """Whether more than the way it ended speaks for a signature."""
    pairs = zip(signature.clues, matches.clues[signature.id], strict=True)
    return any(_says_something(clue, finding) for clue, finding in pairs)


def _says_something(clue: Clue, finding: Finding) -> bool:
    """Whether a finding says what failed, not only where or how it ended."""
    return isinstance(finding, Hit) and not finding.is_exit and not KINDS[clue.kind].is_setting


def _of_unshown(ranking: Ranking, program: Program | None) -> Ranking:
    """The ranking without certainty about a framework of which nothing shows that it was in the process: what such a
    cause loses is unknown."""
    if program is not None and program.framework is not None:
        return ranking
    shares = [
        (scored, min(share, _UNSHOWN) if scored.signature.framework not in (None, ANY) else share)
        for scored, share in ranking.causes
    ]
    lost = sum(share for _, share in ranking.causes) - sum(share for _, share in shares)
    return ranking._replace(causes=tuple(shares), unknown=ranking.unknown + lost)


def _shares(causes: Iterable[Scored], unknown_score: float) -> tuple[tuple[Scored, float], ...]:
    """Probabilities from scores, the most likely cause first; what they leave is "unknown"."""
    scored = sorted(causes, key=lambda one: (-one.score, one.signature.cause))
    highest = max([unknown_score, *(one.score for one in scored)])
    exponentials = [math.exp(one.score - highest) for one in scored]
    total = sum(exponentials) + math.exp(unknown_score - highest)
    return tuple((one, part / total) for one, part in zip(scored, exponentials, strict=True))


def _without_unseen(ranking: Ranking) -> Ranking:
    """The causes for which something was seen share the probability with "unknown"; the others get nothing.

    Where only the exit status was seen, the others keep theirs: an exit status is not a diagnosis, and the few causes
    that happen to list it may not divide everything among themselves.
    """
    seen = [(scored, share) for scored, share in ranking.causes if _has_evidence(scored)]
    if not any(says_more_than_how_it_ended(scored) for scored, _ in seen):
        return ranking
    total = sum(share for _, share in seen) + ranking.unknown
    unseen = ((scored, 0.0) for scored, _ in ranking.causes if not _has_evidence(scored))
    causes = (*((scored, share / total) for scored, share in seen), *unseen)
    return ranking._replace(causes=causes, unknown=ranking.unknown / total)


def _as_sure_as_fitted(ranking: Ranking, weights: Weights) -> Ranking:
    """The first answer as sure as labelled reports allow, by one curve for all; the others share what is left.

    An answer that only names the program that reports an error leaves open why, so it stays a guess. One that rests on
    nothing but an exit status stays as it is: people who have nothing else file few of the reports that the curve is
    fitted to.
    """
    if not ranking.causes or not says_more_than_how_it_ended(ranking.causes[0][0]):
        return ranking
    first, before = ranking.causes[0]
    after = weights.confidence(before)
    if max(term.weight for term in first.hits) < _FAINT or first.signature.tells == "whose":
        after = min(after, _A_GUESS)
    # What a less sure first answer gives up goes to "unknown", so that no other cause passes it.
    rest = min(1.0, (1.0 - after) / (1.0 - before)) if before < 1.0 else 0.0
    others = tuple((scored, share * rest) for scored, share in ranking.causes[1:])
    unknown = max(0.0, 1.0 - after - sum(share for _, share in others))
    return ranking._replace(causes=((first, after), *others), unknown=unknown)


def says_more_than_how_it_ended(scored: Scored) -> bool:
    """Whether anything but the exit status speaks for a cause."""
    return any(
        isinstance(term.finding, Hit) and not term.finding.is_exit and not KINDS[term.clue.kind].is_setting
        for term in scored.hits
    )


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
    """Whether a program was killed below its limit and the kernel counted no kill for memory, as far as we can see:
    whatever its log says, somebody else may have killed it. A pasted log shows no such figures."""
    peak, limit = crash.memory.peak_bytes, crash.memory.limit_bytes
    killed = crash.exit is not None and (crash.exit.signal == "SIGKILL" or crash.exit.code == _KILLED_BY_A_LAUNCHER)
    measured = crash.rerun is not None or peak is not None or crash.memory.oom_kills is not None
    return killed and measured and not crash.memory.oom_kills and not (peak and limit and peak > _AT_LIMIT * limit)


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
    return certain | {cause for cause, explained_by in telling if not _explanation(cause, explained_by, certain)}


def _explanation(cause: str, explained_by: tuple[str, ...], roots: set[str]) -> str | None:
    """The first root that explains a clue of this cause; `explained_by` names causes, or whole families."""
    others = sorted(roots - {cause})
    return next((root for name in explained_by for root in others if root == name or root.split(".")[0] == name), None)


def _score(signature: Signature, matches: Matches, knowledge: Knowledge, roots: set[str]) -> Scored:
    weights = knowledge.calibration.weights
    terms = []
    for clue, finding in zip(signature.clues, matches.clues[signature.id], strict=True):
        explained_by = _explanation(signature.cause, clue.consequence_of, roots)
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
