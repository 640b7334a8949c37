"""The logs in fixtures/logs, each read and diagnosed once per process, however many tests look at it.

Crashes and reports are tuples all the way down, so no test can spoil them for the next. scheduling.py sends the tests
of one log to one process.
"""

from __future__ import annotations

import functools
from pathlib import Path

import yaml
from conftest import LOGS

import triage
from triage.crash import Crash
from triage.knowledge.database import Knowledge
from triage.readers import Source, read
from triage.report import Report

ROWS = yaml.safe_load((LOGS / "index.yaml").read_text("utf-8"))
EXITS: dict[str, int] = {row["file"]: row["exit"] for row in ROWS}
ALL_LOGS = sorted(path.relative_to(LOGS).as_posix() for path in LOGS.rglob("*.log"))


@functools.cache
def our_knowledge() -> Knowledge:
    """Our signatures."""
    return triage.load_knowledge()


@functools.cache
def crash_in(log: Path) -> Crash:
    """The crash that a log shows."""
    return read(Source.of(log), 0)


@functools.cache
def report_of(log: Path, exit_code: int | str | None = None) -> Report:
    """The report on a log and an exit code."""
    return triage.analyze(log, exit_code=exit_code, knowledge=our_knowledge())
