"""Nobody is told the same step twice, once for a framework or a wording and once for everybody."""

from __future__ import annotations

import itertools
import re

import pytest
from conftest import LOGS
from fixture_logs import ALL_LOGS, EXITS, report_of

from triage.knowledge.steps import command_only_looks
from triage.report import FixStep

# Two steps that share this part of their words, or a command and some words, are one.
SAME_WORDS = 0.7
RELATED_WORDS = 0.2
# Words that any two sentences share.
SMALL = frozenset(
    re.findall(
        r"\w+", "a an and are as at be by for from if in into is it its of on or so than that the then this to with"
    )
)


def words(step: FixStep) -> set[str]:
    return set(re.findall(r"[\w.]*\w", step.do.lower())) - SMALL


def likeness(one: FixStep, other: FixStep) -> float:
    """The part of the shorter sentence's words that both have."""
    mine, theirs = words(one), words(other)
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def say_the_same(one: FixStep, other: FixStep) -> bool:
    if likeness(one, other) >= SAME_WORDS and one.run == other.run:
        return True
    acts = one.run is not None and one.run == other.run and not command_only_looks(one.run)
    return acts and likeness(one, other) >= RELATED_WORDS


@pytest.mark.parametrize("log", ALL_LOGS)
def test_no_two_steps_of_a_fix_come_to_the_same(log: str) -> None:
    report = report_of(LOGS / log, EXITS.get(log))
    for diagnosis in report.diagnoses[:1]:
        for one, other in itertools.combinations(diagnosis.fix, 2):
            assert not say_the_same(one, other), f"{diagnosis.signature}: {one.do} | {other.do}"


def test_the_same_in_other_words_is_noticed() -> None:
    one = FixStep("Let TensorFlow make fewer threads.", "OMP_NUM_THREADS=4 python SCRIPT", "low", "it passes")
    other = FixStep("Let the libraries make fewer threads.", "OMP_NUM_THREADS=4 python SCRIPT", "low", "it passes")
    assert say_the_same(one, other)
    assert not say_the_same(one, other._replace(do="Wait.", run=None))
