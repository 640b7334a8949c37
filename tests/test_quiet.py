"""What names no TensorFlow cause gets none: healthy logs, other programs, plain exceptions, bare codes, mere talk."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from conftest import REPOSITORY

import triage
from triage.diagnosis.verdict import SURE
from triage.knowledge.loading import Knowledge
from triage.report import NO_CRASH, UNKNOWN, Report

LOGS = REPOSITORY / "fixtures" / "logs" / "quiet"
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((LOGS / "expected.yaml").read_text("utf-8"))
# Below this a candidate is a question, not a claim.
A_QUESTION = 0.50


def seen(report: Report) -> tuple[str, float]:
    """The first answer and how sure it is: a cause, or the verdict where none is told."""
    if report.verdict in (NO_CRASH, UNKNOWN) or not report.diagnoses:
        return report.verdict, report.diagnoses[0].confidence if report.diagnoses else 0.0
    return report.diagnoses[0].cause, report.diagnoses[0].confidence


def test_the_table_and_the_folder_hold_the_same_logs() -> None:
    assert set(EXPECTED) == {path.name for path in LOGS.glob("*.log")}
    assert len(EXPECTED) >= 80
    kinds = {row["expected"] for row in EXPECTED.values()}
    assert {NO_CRASH, UNKNOWN} < kinds
    assert all(kind in (NO_CRASH, UNKNOWN) or kind.startswith("other.") for kind in kinds)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_nothing_that_is_not_tensorflows_is_blamed_on_it(name: str, knowledge: Knowledge) -> None:
    expected = EXPECTED[name]["expected"]
    answer, confidence = seen(triage.analyze((LOGS / name).read_bytes(), knowledge=knowledge))
    if expected == NO_CRASH:
        assert answer == NO_CRASH
    elif expected == UNKNOWN:
        below = EXPECTED[name].get("below", A_QUESTION)
        assert below <= SURE
        assert answer == UNKNOWN or answer.startswith("other.") or (answer != NO_CRASH and confidence < below)
    else:
        assert answer == expected
