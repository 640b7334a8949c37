"""What a report adds where nothing decides, or where people have read something false: `closest`, `note`, `if not`."""

from __future__ import annotations

import json

import pytest
from building import PRIVATE_LINE, crash_of, knowledge_of, signature_data

import triage
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.report import Report
from triage.reports import json_report, markdown, text

FAST_FAIL = "Not a stack overflow: 0xC0000409 is how Windows ends any program that aborts; a full stack is 0xC00000FD."


@pytest.fixture(scope="module")
def bare(knowledge: Knowledge) -> Report:
    """Nothing is known but the code that most people search for."""
    return triage.analyze(exit_code=-1073740791, knowledge=knowledge)


def test_a_bare_code_names_the_closest_signatures_and_the_clue_that_each_would_need(bare: Report) -> None:
    rows = [line for line in text.render(bare).splitlines() if "would need" in line]
    assert len(rows) == len(bare.nearest) == 3
    for near, row in zip(bare.nearest, rows, strict=True):
        assert near.cause in row


def test_it_says_in_one_line_why_it_is_not_what_people_read_elsewhere(bare: Report) -> None:
    assert f" note    {FAST_FAIL}" in text.render(bare)
    assert "### Common misconceptions" in markdown.render(bare)
    told = json.loads(json_report.render(bare))["hearsay"]
    assert [entry["claim"] for entry in told if entry["text"] == FAST_FAIL] == [2]


def test_the_first_screen_has_one_such_line_at_most(bare: Report) -> None:
    lines = [str(line) for line in text.layout(bare, 80)]
    assert len(lines) <= 24
    assert sum(line.startswith(" note") for line in lines) <= 1


def test_markdown_names_the_closest_signatures(bare: Report) -> None:
    told = markdown.render(bare)
    assert "### Closest matches" in told
    assert all(near.cause in told.split("### Closest matches")[1] for near in bare.nearest)


def test_a_fix_says_what_to_do_if_it_did_not_help() -> None:
    fix = [{"do": "Ask for a longer slot.", "verify": "the job ends", "if_not": "Ask who took the node."}]
    knowledge = knowledge_of({"house/scheduler": signature_data(fix=fix)}, {"host.out-of-memory": 0.3})
    report = diagnose(crash_of(PRIVATE_LINE, exit="1"), knowledge, version="test")
    assert "if not: Ask who took the node." in text.render(report)
    assert "Ask who took the node." in markdown.render(report)
    assert json.loads(json_report.render(report))["diagnoses"][0]["fix"][0]["if_not"] == "Ask who took the node."
