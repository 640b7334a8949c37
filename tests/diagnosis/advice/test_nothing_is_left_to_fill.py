"""Where a log tells the script, no command of its report leaves the name to the person."""

from __future__ import annotations

import re

import pytest
from conftest import LOGS
from fixture_logs import ALL_LOGS, EXITS, report_of

from triage.report import Report

_BLANK = re.compile(r"\{[a-z_]+\}|\bYOUR_|<your|\bSCRIPT\b")
_FRAME = re.compile(r'^ *File "([^"<]+)", line \d+,? in <module>', re.MULTILINE)
_TYPED = re.compile(r"^[^\n]{0,60}[$>%] ?python3? ([\w./-]+\.py)\b", re.MULTILINE)
_OF_OTHERS = re.compile(
    r"(?i)(?:site|dist)-packages|[\\/]lib[\\/](?:python\d|\w+\.py)|[\\/]bin[\\/]|[\\/]python3?\d+|tensorflow"
)


def told_script(text: str) -> str | None:
    """The one file that a log can mean, read in another way than triage reads it; None where it takes more."""
    if any(
        word in text for word in ("runpy", "ipykernel", "ipython", "pytest", "torch/distributed", "multiprocessing")
    ):
        return None
    files = {file for file in _FRAME.findall(text) if not _OF_OTHERS.search(file)}
    files = files or set(_TYPED.findall(text))
    return files.pop() if len(files) == 1 else None


def shown(report: Report) -> list[str]:
    runs = [step.run for diagnosis in report.diagnoses for step in diagnosis.fix if step.run]
    return runs + [question.run.line(report.crash.environment.os) for question in report.next if question.run]


@pytest.mark.parametrize("name", ALL_LOGS)
def test_a_script_that_the_log_tells_stands_in_its_commands(name: str) -> None:
    commands = shown(report_of(LOGS / name, EXITS.get(name)))
    assert not [command for command in commands if "{" in command and re.search(r"\{[a-z_]+\}", command)]
    if told_script((LOGS / name).read_text("utf-8", "replace")):
        assert not [command for command in commands if _BLANK.search(command)]


def test_enough_logs_tell_their_script() -> None:
    told = [name for name in ALL_LOGS if told_script((LOGS / name).read_text("utf-8", "replace"))]
    assert len(told) > 100
