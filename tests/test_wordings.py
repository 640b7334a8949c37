"""One message alone, in each wording, leads to its cause; a log with several would hide a pattern that broke."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import LOGS

import triage
from triage.knowledge.database import Knowledge

TABLES = sorted((LOGS / "composed").glob("wordings-*.yaml"))
ROWS = [
    (cause, row if isinstance(row, dict) else {"text": row})
    for table in TABLES
    for cause, rows in yaml.safe_load(table.read_text("utf-8")).items()
    for row in rows
]


@pytest.mark.parametrize(("cause", "row"), ROWS, ids=[f"{cause}: {row['text'][:60]}" for cause, row in ROWS])
def test_a_wording_alone_puts_its_cause_first(
    cause: str, row: dict[str, Any], knowledge: Knowledge, tmp_path: Path
) -> None:
    log = tmp_path / "message.log"
    log.write_text(row["text"] + "\n", "utf-8")
    report = triage.analyze(log, exit_code=row.get("exit", 1), knowledge=knowledge)
    assert [told.cause for told in report.diagnoses][:1] == [cause]
