"""Fitting the ranking to labelled reports: reading them, counting clues, fitting the weights, and how good it gets.

Each report is judged by numbers that were fitted without any report of its project, so no wording, habit or author is
on both sides. What the figures still cannot show: the patterns themselves were written by people who had read these
reports. So an answer that is right here counts as right a little less than wholly when confidences are fitted.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from triage import analyze
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.diagnosis.ranking import SURE, Matches, Ranking, match, rank_matches, says_more_than_how_it_ended
from triage.knowledge.calibration import (
    UNFITTED,
    Bin,
    Calibration,
    Counts,
    Weights,
    calibrated,
    calibrated_priors,
)
from triage.knowledge.database import Knowledge
from triage.knowledge.pack_files import load_yaml
from triage.knowledge.signature import Signature
from triage.report import NO_CRASH

_NOT_A_CRASH, _NO_CAUSE, _SOMETHING_ELSE = "not-a-crash", "unknown", "other."
FOLDS = 10
# Keeps the curve near a straight line where there are few reports.
_CURVE = (0.0, 0.0)
_CURVE_PULL = 0.01
# How many of a hundred answers that are right here would be right on reports whose wordings nobody had read.
_RIGHT_ELSEWHERE = 0.985
_FIRST_STEP, _LAST_STEP = 0.4, 0.04
_NEVER = 1e-9
# The last bins are narrow: most answers are sure ones, and there a person wants to know how sure.
_BINS = (0.0, 0.5, SURE, 0.9, 0.97)


class BadCases(Exception):
    """A folder of cases that cannot be used; the text says what to try."""


class Case(NamedTuple):
    """A report as somebody pasted it, the cause that people found, and other answers that are right too."""

    id: str
    text: str
    cause: str
    alternates: tuple[str, ...]
    project: str = ""

    @property
    def is_quiet(self) -> bool:
        """Whether there is no cause that triage should name."""
        return self.cause in (_NO_CAUSE, _NOT_A_CRASH) or self.cause.startswith(_SOMETHING_ELSE)

    def accepts(self, cause: str) -> bool:
        """Whether naming this cause is right."""
        if self.cause.startswith(_SOMETHING_ELSE):
            return cause.startswith(_SOMETHING_ELSE) or cause in self.alternates
        return cause == self.cause or cause in self.alternates


class Examined(NamedTuple):
    """A case with what was found in it; `quiet` where triage says that nothing died."""

    case: Case
    found: Matches
    quiet: bool


def read_cases(directories: Sequence[str]) -> tuple[list[Case], str]:
    """All cases of several folders, and a hash over them."""
    digest = hashlib.sha256()
    cases = []
    for directory in directories:
        paths = sorted(Path(directory).glob("*.yaml"))
        if not paths:
            raise BadCases(f"There are no cases (*.yaml) in {directory}; give a folder of labelled reports.")
        for path in paths:
            raw = path.read_bytes()
            digest.update(path.name.encode() + b"\0" + raw)
            data = load_yaml(raw.decode("utf-8"))
            if not isinstance(data, dict) or not {"cause", "input"} <= set(data):
                raise BadCases(f"{path} is not a labelled report; it needs 'cause' and 'input'.")
            project = str(data.get("source") or path.stem).partition("#")[0]
            alternates = tuple(data.get("alternates") or ())
            cases.append(Case(path.stem, str(data["input"]), data["cause"], alternates, project))
    return cases, "sha256:" + digest.hexdigest()


def examine(case: Case, knowledge: Knowledge) -> Examined:
    """Read a case and look for every clue in it."""
    report = analyze(case.text.encode("utf-8", "surrogatepass"), knowledge=knowledge, redact=False)
    found = match(Facts(report.crash, knowledge.literals, knowledge.versions), knowledge)
    return Examined(case, found, report.verdict == NO_CRASH)


def counted(examined: Sequence[Examined], knowledge: Knowledge) -> Calibration:
    """How often each clue was seen in reports with its cause, and in reports with others.

    A cause shows in several ways, a signature each. A report counts for the one that explains it best.
    """
    causes: Counter[str] = Counter()
    own: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    own_hits: dict[str, Counter[str]] = {id: Counter() for id in knowledge.signatures}
    other_hits: dict[str, Counter[str]] = {id: Counter() for id in knowledge.signatures}
    crashes = [one for one in examined if one.case.cause != _NOT_A_CRASH]
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


def without_idle_counts(calibration: Calibration, knowledge: Knowledge) -> Calibration:
    """The calibration without counts that change no number, such as those of exit codes or of a clue nobody saw."""
    counts = {id: _needed(knowledge.signatures[id], counts) for id, counts in calibration.counts.items()}
    return calibration._replace(counts={id: needed for id, needed in counts.items() if needed is not None})


def _needed(signature: Signature, counts: Counts) -> Counts | None:
    def moved(by: Counts) -> Signature:
        return calibrated(signature, Calibration(counts={signature.id: by}))

    for clue in counts.clues:
        fewer = counts._replace(clues={id: hits for id, hits in counts.clues.items() if id != clue})
        if moved(fewer) == moved(counts):
            counts = fewer
    return counts if moved(counts) != signature else None


def _best_way(one: Examined, knowledge: Knowledge) -> str | None:
    ways = [s for s in rank_matches(one.found, knowledge).scored if s.signature.cause == one.case.cause and s.hits]
    return max(ways, key=lambda scored: scored.score).signature.id if ways else None


def _seen(one: Examined, id: str, knowledge: Knowledge) -> set[str]:
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


def folds(cases: Sequence[Case]) -> list[set[str]]:
    """The projects in parts of about the same size; the same cases always make the same parts."""
    parts: list[set[str]] = [set() for _ in range(FOLDS)]
    sizes = [0] * FOLDS
    counts = Counter(case.project for case in cases)
    for project, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        smallest = sizes.index(min(sizes))
        parts[smallest].add(project)
        sizes[smallest] += count
    return [part for part in parts if part]


def left_out(examined: Sequence[Examined], knowledge: Knowledge) -> list[tuple[Examined, Knowledge]]:
    """Every case with the knowledge fitted on other projects."""
    pairs = []
    for part in folds([one.case for one in examined]):
        learnt = [one for one in examined if one.case.project not in part]
        without = applied(knowledge, counted(learnt, knowledge))
        pairs += [(one, without) for one in examined if one.case.project in part]
    return pairs


def fit_weights(pairs: Sequence[tuple[Examined, Knowledge]]) -> Weights:
    """The curve that makes the confidences of the left-out cases' first answers least surprising.

    How far hits and absences are believed is not fitted: patterns are written with the labelled reports at hand, which
    makes every hit look surer than it is.
    """
    weights = UNFITTED.weights
    firsts = []
    for one, knowledge in pairs:
        named = () if one.quiet else _rank_with(one, knowledge, weights).named
        if named and says_more_than_how_it_ended(named[0][0]):
            scored, share = named[0]
            firsts.append((share, _RIGHT_ELSEWHERE if one.case.accepts(scored.signature.cause) else 0.0))

    def surprise(point: tuple[float, ...]) -> float:
        curve = _curve(weights, point)
        total = 0.0
        for share, right in firsts:
            confidence = min(max(curve.confidence(share), _NEVER), 1.0 - _NEVER)
            total -= right * math.log(confidence) + (1.0 - right) * math.log(1.0 - confidence)
        away = sum((value - began) ** 2 for value, began in zip(point, _CURVE, strict=True))
        return total / max(1, len(firsts)) + _CURVE_PULL * away

    return _curve(weights, _lowest(surprise, _CURVE))


def _rank_with(one: Examined, knowledge: Knowledge, weights: Weights) -> Ranking:
    """A case's ranking under given weights."""
    return rank_matches(one.found, knowledge._replace(calibration=knowledge.calibration._replace(weights=weights)))


def _curve(weights: Weights, point: tuple[float, ...]) -> Weights:
    offset, slope = point
    return weights._replace(offset=round(offset, 4), slope=round(math.exp(slope), 4))


def _lowest(function: Callable[[tuple[float, ...]], float], start: tuple[float, ...]) -> tuple[float, ...]:
    """A minimum, found by trying a step each way along each axis, and smaller steps where none helps."""
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


class FirstAnswer(NamedTuple):
    """The first answer to a case: its confidence (none where nothing was named), and whether it was right."""

    confidence: float | None
    right: bool
    among_three: bool
    is_quiet: bool


def answer(one: Examined, knowledge: Knowledge, weights: Weights) -> FirstAnswer:
    """What triage would answer first."""
    quiet = one.case.is_quiet
    if one.quiet:
        right = one.case.cause == _NOT_A_CRASH
        return FirstAnswer(None, right, right, quiet)
    ranking = _rank_with(one, knowledge, weights)
    named = [(scored.signature.cause, min(share, 0.99)) for scored, share in ranking.named]
    if not named or (ranking.unknown >= named[0][1] and named[0][1] < SURE):
        among = any(one.case.accepts(cause) for cause, _ in named[:3])
        return FirstAnswer(None, quiet and one.case.cause != _NOT_A_CRASH, among, quiet)
    right = one.case.accepts(named[0][0])
    return FirstAnswer(named[0][1], right, any(one.case.accepts(cause) for cause, _ in named[:3]), quiet)


def reliability(answers: Sequence[FirstAnswer]) -> tuple[Bin, ...]:
    """Of the answers of each confidence, how many were right."""
    bins = []
    for least, above in zip(_BINS, (*_BINS[1:], 2.0), strict=True):
        held = [one for one in answers if one.confidence is not None and least <= one.confidence < above]
        if held:
            bins.append(Bin(least, len(held), sum(one.right for one in held)))
    return tuple(bins)


def figures(answers: Sequence[FirstAnswer]) -> dict[str, float]:
    """The shares of right first answers, of right ones among the first three, of wrong ones given as sure, and the
    calibration error of the confidences (ten bins, first answers)."""
    expected = [one for one in answers if not one.is_quiet]
    sure = [(one.confidence, one.right) for one in expected if one.confidence is not None]
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in sure:
        bins.setdefault(min(int(confidence * 10), 9), []).append((confidence, right))
    error = sum(abs(sum(c for c, _ in held) - sum(right for _, right in held)) for held in bins.values())
    wrong = sum(one.confidence is not None and one.confidence >= SURE and not one.right for one in answers)
    return {
        "top1": round(sum(one.right for one in expected) / max(1, len(expected)), 4),
        "top3": round(sum(one.right or one.among_three for one in expected) / max(1, len(expected)), 4),
        "overclaim": round(wrong / max(1, len(answers)), 4),
        "ece": round(error / max(1, len(sure)), 4),
    }
