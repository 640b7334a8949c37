"""A report of ours is recognised in every format, for every kind of answer, alone and among others."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LOGS

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report
from triage.reports import FORMATS, renderer
from triage.reports.recognising import is_report

NAMES = sorted(path for folder in ("", "composed", "healthy") for path in (LOGS / folder).glob("*.log"))[::6]


@pytest.fixture(scope="module")
def reports(knowledge: Knowledge) -> list[Report]:
    return [triage.analyze(path, knowledge=knowledge) for path in NAMES] + [
        triage.analyze(b"", knowledge=knowledge),
        triage.analyze(b"", exit_code=139, knowledge=knowledge),
    ]


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_report_is_recognised(reports: list[Report], format_name: str, tmp_path: Path) -> None:
    assert {report.verdict for report in reports} >= {"diagnosed", "unknown", "no-crash"}
    file = tmp_path / "report"
    for report in reports:
        file.write_text(renderer(format_name)(report), "utf-8")
        assert is_report(str(file)), report.crash.inputs


def test_logs_are_not(tmp_path: Path) -> None:
    assert not [path for path in LOGS.rglob("*.log") if is_report(str(path))]
    assert not is_report(str(tmp_path)) and not is_report(str(tmp_path / "nowhere"))
