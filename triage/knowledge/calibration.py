"""What labelled reports say about the hand-written numbers: `signatures/calibration.yaml`, made by `make calibrate`.

A hand-written `p`, `b` or prior is worth a fixed number of reports; what the labelled reports show is added to it.
Nothing is learnt that a person could not have written: the file only moves numbers. Those that hold for all signatures
are in `weights`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from triage.clues.interface import Clue
from triage.knowledge.signature import Signature

# How many labelled reports a hand-written number is worth.
P_STRENGTH = 100
B_STRENGTH = 200
PRIOR_STRENGTH = 5000
_LEAST, _MOST = 1e-4, 0.995
_NEVER = 1e-9


class Weights(NamedTuple):
    """The numbers that hold for all signatures.

    `hits` is how far hits are believed, `absences` how much of that an absence is worth, `unknown` what is added to the
    score of "unknown". `offset` and `slope` turn the log-odds of the first answer into those of its confidence.
    """

    hits: float = 1.0
    absences: float = 0.35
    unknown: float = 0.0
    offset: float = 0.0
    slope: float = 1.0

    def confidence(self, share: float) -> float:
        """How sure an answer with this share of the probability is."""
        if not _NEVER < share < 1.0 - _NEVER:
            return share
        return 1.0 / (1.0 + math.exp(-(self.offset + self.slope * math.log(share / (1.0 - share)))))


class Bin(NamedTuple):
    """Of `cases` reports answered with a confidence from `least` up to the next bin, `right` were answered right."""

    least: float
    cases: int
    right: int


class Reliability(NamedTuple):
    """How often answers were right on reports that nobody who writes signatures had read.

    `measured` is the day and `commit` the version that gave the answers; a version that ranks differently has other
    figures. Only such figures are quoted to people: on the reports that patterns were written from, answers are right
    more often than anywhere else.
    """

    measured: str = ""
    commit: str = ""
    reports: int = 0
    bins: tuple[Bin, ...] = ()

    def bin_of(self, confidence: float) -> Bin | None:
        """How often answers with this confidence were right."""
        return next((one for one in reversed(self.bins) if confidence >= one.least), None)


class Counts(NamedTuple):
    """How many labelled reports showed one signature, how many had other causes, and each clue's hits in both."""

    own: int
    elsewhere: int
    clues: Mapping[str, tuple[int, int]]


class Calibration(NamedTuple):
    """The fitted numbers of a pack, and how good its answers were on reports from elsewhere."""

    weights: Weights = Weights()
    reliability: Reliability = Reliability()
    cases: int = 0
    causes: Mapping[str, int] = {}
    counts: Mapping[str, Counts] = {}


UNFITTED = Calibration()


def parse_calibration(data: Mapping[str, Any]) -> Calibration:
    """The calibration from its YAML form, which only `make calibrate` writes."""
    if not data:
        return UNFITTED
    return Calibration(
        weights=Weights(**data["weights"]),
        reliability=parse_reliability(data.get("reliability") or {}),
        cases=data["cases"],
        causes=data["causes"],
        counts={
            id: Counts(row["own"], row["elsewhere"], {clue: tuple(hits) for clue, hits in row["clues"].items()})
            for id, row in data["signatures"].items()
        },
    )


def parse_reliability(data: Mapping[str, Any]) -> Reliability:
    """The figures of unread reports from their YAML form."""
    return Reliability(
        measured=str(data.get("measured", "")),
        commit=str(data.get("commit", "")),
        reports=data.get("reports", 0),
        bins=tuple(Bin(row["from"], row["answers"], row["right"]) for row in data.get("bins", ())),
    )


def calibrated(signature: Signature, calibration: Calibration) -> Signature:
    """The signature with its clues' numbers moved towards what the labelled reports show."""
    counts = calibration.counts.get(signature.id)
    if counts is None:
        return signature
    # The numbers of clues against a cause are a judgement, so they stay.
    return signature._replace(clues=tuple(_moved(clue, counts) for clue in signature.clues))


def calibrated_priors(written: Mapping[str, float], calibration: Calibration) -> dict[str, float]:
    """How common each cause is, as written and as counted.

    Their sum stays as written, so that "unknown" keeps its share: what nobody could explain is seldom labelled.
    """
    if not calibration.causes:
        return dict(written)
    seen = {cause: PRIOR_STRENGTH * prior + calibration.causes.get(cause, 0) for cause, prior in written.items()}
    scale = sum(written.values()) / sum(seen.values()) if seen else 1.0
    return {cause: count * scale for cause, count in seen.items()}


def _moved(clue: Clue, counts: Counts) -> Clue:
    if clue.kind == "exit":
        # People with nothing but a code seldom file reports, so reports make codes look more specific than they are.
        return clue
    own, other = counts.clues.get(clue.id, (0, 0))
    p = (P_STRENGTH * clue.p + own) / (P_STRENGTH + counts.own)
    # A pattern is written because it was seen nowhere else, and a `b` may be high on purpose: silence elsewhere proves
    # nothing, misfires do.
    b = max(clue.b, (B_STRENGTH * clue.b + other) / (B_STRENGTH + counts.elsewhere))
    return clue._replace(p=min(max(p, _LEAST), _MOST), b=min(b, _MOST))
