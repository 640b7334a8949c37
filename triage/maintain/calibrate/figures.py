"""How good the ranking is on labelled cases: the figures, and how often answers of each confidence are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.diagnosis.ranking import SURE
from triage.knowledge.calibration import Bin, Weights
from triage.knowledge.database import Knowledge
from triage.maintain.calibrate.cases import NOT_A_CRASH, Looked
from triage.maintain.calibrate.fitting import rank_with

# The last bins are narrow: most answers are sure ones, and there a person wants to know how sure.
BINS = (0.0, 0.5, SURE, 0.9, 0.97)


class FirstAnswer(NamedTuple):
    """The first answer to a case: its confidence (none where nothing was named), and whether it was right."""

    confidence: float | None
    right: bool
    among_three: bool
    is_quiet: bool


def answer(one: Looked, knowledge: Knowledge, weights: Weights) -> FirstAnswer:
    """What the tool would say first."""
    quiet = one.case.is_quiet
    if one.quiet:
        right = one.case.cause == NOT_A_CRASH
        return FirstAnswer(None, right, right, quiet)
    ranking = rank_with(one, knowledge, weights)
    named = [(scored.signature.cause, min(share, 0.99)) for scored, share in ranking.named]
    if not named or (ranking.unknown >= named[0][1] and named[0][1] < SURE):
        among = any(one.case.accepts(cause) for cause, _ in named[:3])
        return FirstAnswer(None, quiet and one.case.cause != NOT_A_CRASH, among, quiet)
    right = one.case.accepts(named[0][0])
    return FirstAnswer(named[0][1], right, any(one.case.accepts(cause) for cause, _ in named[:3]), quiet)


def reliability(answers: Sequence[FirstAnswer]) -> tuple[Bin, ...]:
    """Of the answers of each confidence, how many were right."""
    bins = []
    for least, above in zip(BINS, (*BINS[1:], 2.0), strict=True):
        held = [one for one in answers if one.confidence is not None and least <= one.confidence < above]
        if held:
            bins.append(Bin(least, len(held), sum(one.right for one in held)))
    return tuple(bins)


def figures(answers: Sequence[FirstAnswer]) -> dict[str, float]:
    """The share of right first answers, of right ones among three, of wrong ones given surely, and the error of the
    confidences (ten bins, first answers)."""
    told = [one for one in answers if not one.is_quiet]
    sure = [(one.confidence, one.right) for one in told if one.confidence is not None]
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in sure:
        bins.setdefault(min(int(confidence * 10), 9), []).append((confidence, right))
    error = sum(abs(sum(c for c, _ in held) - sum(right for _, right in held)) for held in bins.values())
    wrong = sum(one.confidence is not None and one.confidence >= SURE and not one.right for one in answers)
    return {
        "top1": round(sum(one.right for one in told) / max(1, len(told)), 4),
        "top3": round(sum(one.right or one.among_three for one in told) / max(1, len(told)), 4),
        "overclaim": round(wrong / max(1, len(answers)), 4),
        "ece": round(error / max(1, len(sure)), 4),
    }
