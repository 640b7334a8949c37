"""Each report says how often answers as sure as its own were right on reports that nobody had read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from building import PRIVATE_LINE, crash_of, knowledge_of, signature_data, write_pack

import triage
from triage.diagnosis import diagnose
from triage.report import Report
from triage.reports import json_report, markdown, text

FITTED = {
    "date": "2026-01-31",
    "cases": 60,
    "weights": {"hits": 1.0, "absences": 0.35, "unknown": 0.0},
    "reliability": {
        "measured": "2026-02-01",
        "commit": "abc1234",
        "reports": 70,
        "bins": [{"from": 0.5, "answers": 20, "right": 12}, {"from": 0.9, "answers": 40, "right": 39}],
    },
    "causes": {},
    "signatures": {},
}
SENTENCE = "39 of 40 answers this sure were right on unseen reports (2026-02-01)"


def report(*lines: str, fitted: bool = True) -> Report:
    tables = {"calibration": FITTED} if fitted else {}
    knowledge = knowledge_of({"house/scheduler": signature_data()}, {"host.out-of-memory": 0.3}, **tables)
    return diagnose(crash_of(*lines, exit="1"), knowledge, version="test")


def test_the_terminal_report_quotes_the_table() -> None:
    assert f" record  {SENTENCE}" in text.render(report(PRIVATE_LINE))


def test_it_is_one_line_at_80_columns() -> None:
    assert [str(line) for line in text.layout(report(PRIVATE_LINE), 80) if "unseen reports" in str(line)] == [
        f" record  {SENTENCE}"
    ]


def test_markdown_and_json_have_it_too() -> None:
    assert SENTENCE in markdown.render(report(PRIVATE_LINE))
    told = json.loads(json_report.render(report(PRIVATE_LINE)))["reliability"]
    assert told == {"from": 0.9, "cases": 40, "right": 39, "measured": "2026-02-01", "commit": "abc1234"}


@pytest.mark.parametrize("nothing", [report("other words"), report(PRIVATE_LINE, fitted=False)])
def test_where_nothing_is_named_or_nothing_was_fitted_nothing_is_quoted(nothing: Report) -> None:
    assert "were right" not in text.render(nothing)
    assert "were right" not in markdown.render(nothing)
    assert json.loads(json_report.render(nothing))["reliability"] is None


def test_nothing_is_quoted_for_a_private_signature(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/scheduler": signature_data()})
    knowledge = triage.load_knowledge([pack])
    private = diagnose(crash_of(PRIVATE_LINE, exit="1"), knowledge, version="test")
    assert private.diagnoses[0].signature == "house/scheduler"
    assert private.reliability is None
    ours = diagnose(crash_of("Dst tensor is not initialized"), knowledge, version="test")
    assert ours.reliability is not None, "the test would pass for the wrong reason"
