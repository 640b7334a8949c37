"""What came closest where nothing decides: what was seen of it, and the clue that failed."""

from __future__ import annotations

import triage
from triage.clues.log import LogSeen
from triage.diagnosis.questions import Awaited, expected_gain
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


def test_what_separates_two_causes_teaches_more_than_what_both_show() -> None:
    shares = {"a.a": 0.45, "b.b": 0.45}
    one, both = LogSeen("one"), LogSeen("both")
    separating = expected_gain(shares, {"a.a": Awaited(one, 0.9, 0.01)})
    shared = expected_gain(shares, {"a.a": Awaited(both, 0.9, 0.01), "b.b": Awaited(both, 0.9, 0.01)})
    assert separating > shared > 0
    assert abs(expected_gain(shares, {"a.a": Awaited(one, 0.3, 0.3)})) < 1e-9
