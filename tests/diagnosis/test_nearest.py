"""The signatures that came closest where nothing decides: what was seen of them, and the clue that is missing."""

from __future__ import annotations

import triage
from triage.knowledge.database import Knowledge


def test_a_bare_status_gets_its_usual_causes_with_the_clue_that_would_show_each(knowledge: Knowledge) -> None:
    near = triage.analyze(exit_code="0xC0000409", knowledge=knowledge).nearest
    assert len(near) == len({entry.cause for entry in near}) == 3
    assert all(text.startswith("would need ") for entry in near for text in entry.missing)
    usual = knowledge.statuses["0xC0000409"]["causes"]
    assert all(entry.cause in usual for entry in near)


def test_a_diagnosis_has_none(knowledge: Knowledge) -> None:
    report = triage.analyze(b"free(): invalid pointer\n", exit_code=134, knowledge=knowledge)
    assert (report.verdict, report.nearest) == ("diagnosed", ())
