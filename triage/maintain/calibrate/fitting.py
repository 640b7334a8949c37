"""Fitting: counts of clues, and the numbers that hold for all signatures, tried on cases that were left out.

Each case is judged by numbers that were fitted without it (ten folds), so that the figures are those of a report that
nobody has seen. What they cannot show is that the patterns themselves were written by people who had read the cases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from triage.clues.findings import Hit
from triage.diagnosis.ranking import Ranking, rank_found
from triage.knowledge.calibration import UNFITTED, Calibration, Counts, Weights, calibrated, calibrated_priors
from triage.knowledge.database import Knowledge
from triage.maintain.calibrate.cases import NOT_A_CRASH, SOMETHING_ELSE, Looked

FOLDS = 10
# Keeps the numbers near what they are without any case. The first three hardly move, on purpose: patterns are written
# with the labelled reports at hand, which makes every hit look surer than it is, and people with nothing but an exit
# code file no reports. How sure an answer with a clear line is may move.
_START = (0.0, math.log(UNFITTED.weights.absences), 0.0, 0.0)
_PULL = (10.0, 10.0, 10.0, 0.01)
_FIRST_STEP, _LAST_STEP = 0.4, 0.04
_NEVER = 1e-9


def counted(looked: Sequence[Looked], knowledge: Knowledge) -> Calibration:
    """How often each clue was seen in reports with its cause, and in reports with others.

    A cause shows in several ways, a signature each. A report counts for the one that explains it best.
    """
    causes: Counter[str] = Counter()
    own: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    own_hits: dict[str, Counter[str]] = {id: Counter() for id in knowledge.signatures}
    other_hits: dict[str, Counter[str]] = {id: Counter() for id in knowledge.signatures}
    crashes = [one for one in looked if one.case.cause != NOT_A_CRASH]
    for one in crashes:
        causes[one.case.cause] += 1
        best = _best_way(one, knowledge)
        for id, signature in knowledge.signatures.items():
            if id == best:
                own[id] += 1
                own_hits[id].update(_seen(one, id, knowledge))
            elif not one.case.accepts(signature.cause):
                elsewhere[id] += 1
                other_hits[id].update(_seen(one, id, knowledge))
    counts = {
        id: Counts(
            own[id],
            elsewhere[id],
            {clue: (own_hits[id][clue], other_hits[id][clue]) for clue in own_hits[id] | other_hits[id]},
        )
        for id in knowledge.signatures
    }
    return Calibration(cases=len(crashes), causes=causes, counts=counts)


def _best_way(one: Looked, knowledge: Knowledge) -> str | None:
    ways = [s for s in rank_found(one.found, knowledge).scored if s.signature.cause == one.case.cause and s.hits]
    return max(ways, key=lambda scored: scored.score).signature.id if ways else None


def _seen(one: Looked, id: str, knowledge: Knowledge) -> set[str]:
    pairs = zip(knowledge.signatures[id].clues, one.found.clues[id], strict=True)
    return {clue.id for clue, finding in pairs if isinstance(finding, Hit)}


def applied(knowledge: Knowledge, calibration: Calibration) -> Knowledge:
    """Hand-written knowledge with a calibration laid over it."""
    priors = calibrated_priors({slug: cause.prior for slug, cause in knowledge.causes.items()}, calibration)
    return knowledge._replace(
        signatures={id: calibrated(s, calibration) for id, s in knowledge.signatures.items()},
        causes={slug: cause._replace(prior=priors[slug]) for slug, cause in knowledge.causes.items()},
        calibration=calibration,
    )


def left_out(looked: Sequence[Looked], knowledge: Knowledge) -> list[tuple[Looked, Knowledge]]:
    """Every case with the knowledge that the other folds give; the same cases make the same folds each time."""
    pairs = []
    ordered = sorted(looked, key=lambda one: (one.case.cause, one.case.id))
    for fold in range(FOLDS):
        learnt = [one for number, one in enumerate(ordered) if number % FOLDS != fold]
        without = applied(knowledge, counted(learnt, knowledge))
        pairs += [(one, without) for number, one in enumerate(ordered) if number % FOLDS == fold]
    return pairs


def fit_weights(pairs: Sequence[tuple[Looked, Knowledge]]) -> Weights:
    """The numbers under which the left-out cases are least surprising."""
    told = [(one, knowledge) for one, knowledge in pairs if not one.quiet and one.case.cause != NOT_A_CRASH]

    def surprise(point: tuple[float, ...]) -> float:
        weights = _weights(point)
        total = sum(-math.log(max(_NEVER, _right_share(one, rank_with(one, known, weights)))) for one, known in told)
        away = sum(pull * (value - start) ** 2 for pull, value, start in zip(_PULL, point, _START, strict=True))
        return total / max(1, len(told)) + away

    return _weights(_lowest(surprise, _START))


def rank_with(one: Looked, knowledge: Knowledge, weights: Weights) -> Ranking:
    """A case's ranking under given weights."""
    return rank_found(one.found, knowledge._replace(calibration=knowledge.calibration._replace(weights=weights)))


def _right_share(one: Looked, ranking: Ranking) -> float:
    """The probability that the ranking gives to right answers."""
    if one.case.is_quiet:
        others = (share for scored, share in ranking.causes if scored.signature.cause.startswith(SOMETHING_ELSE))
        return ranking.unknown + sum(others)
    return sum(share for scored, share in ranking.causes if one.case.accepts(scored.signature.cause))


def _weights(point: tuple[float, ...]) -> Weights:
    hits, absences, unknown, sharpness = point
    return Weights(
        round(math.exp(hits), 4), round(math.exp(absences), 4), round(unknown, 4), round(math.exp(sharpness), 4)
    )


def _lowest(function: Callable[[tuple[float, ...]], float], start: tuple[float, ...]) -> tuple[float, ...]:
    """A minimum by trying a step each way along each axis, and smaller steps where none helps."""
    here, lowest, step = start, function(start), _FIRST_STEP
    while step >= _LAST_STEP:
        ways = [
            tuple(value + (sign * step if axis == moved else 0.0) for axis, value in enumerate(here))
            for moved in range(len(here))
            for sign in (1, -1)
        ]
        best, there = min((function(way), way) for way in ways)
        if best < lowest:
            here, lowest = there, best
        else:
            step /= 2
    return here
