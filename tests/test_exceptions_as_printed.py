"""Exceptions as Python and its tools print them today: the right one, the person's own line, and few words about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import LOGS
from fixture_logs import report_of

from triage.chains import last_chain, nearest_own
from triage.crash import base_name
from triage.report import Report
from triage.reports import renderer
from triage.reports.recognition import is_report

PROGRAMS: dict[str, dict[str, Any]] = yaml.safe_load((LOGS.parent / "exceptions.yaml").read_text("utf-8"))
RAISING = sorted(name for name, program in PROGRAMS.items() if "type" in program)
# What ended it was a signal, about which there is more to say than about an exception.
OF_A_SIGNAL = {"calledproc-sig"}


def report_on(name: str, *, with_exit: bool = True) -> Report:
    exit = PROGRAMS[name]["exit"] if with_exit else None
    return report_of(LOGS / "exceptions" / f"{name}.log", exit)


def rows(report: Report) -> list[str]:
    return [line for line in renderer("text")(report).splitlines() if line]


def wanted_line(name: str) -> tuple[str, int] | None:
    """The file and line that are marked in the program."""
    for file, text in PROGRAMS[name]["files"].items():
        for number, line in enumerate(text.split("\n"), 1):
            if "# HERE" in line:
                return Path(file).name, number
    return None


def test_each_program_has_a_log_and_each_log_a_program() -> None:
    assert {path.stem for path in (LOGS / "exceptions").glob("*.log")} == set(PROGRAMS)


@pytest.mark.parametrize("with_exit", [True, False], ids=["exit told", "exit not told"])
@pytest.mark.parametrize("name", RAISING)
def test_the_exception_and_the_own_line_are_named(name: str, with_exit: bool) -> None:
    report = report_on(name, with_exit=with_exit)
    chain = last_chain(report.crash)
    assert chain is not None
    assert chain.root.short_type == PROGRAMS[name]["type"]
    wanted = wanted_line(name)
    assert wanted is not None, "the program marks no line"
    # A thread or a task that failed while the program itself ended with 0 has no row about a death.
    died = next(line for line in rows(report) if line.startswith((" died", " error")))
    assert f"at {wanted[0]}:{wanted[1]}" in died


@pytest.mark.parametrize("name", sorted(set(RAISING) - OF_A_SIGNAL))
def test_a_plain_exception_gets_at_most_six_lines(name: str) -> None:
    for with_exit in (True, False):
        assert len(rows(report_on(name, with_exit=with_exit))) <= 6


def test_a_code_of_the_programs_own_choice_gets_two_lines() -> None:
    sentence, verdict = rows(report_on("sysexit3"))
    assert "exit 3" in sentence
    assert "without an exception" in sentence
    assert verdict == "unknown"


@pytest.mark.parametrize("name", ["sysexit3", "custom-exc", "requests"])
def test_a_short_report_is_still_recognised_as_ours(name: str, tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_text(renderer("text")(report_on(name)), "utf-8")
    assert is_report(str(file))


def test_a_failure_without_an_exception_is_not_called_one() -> None:
    for name in ("argparse", "pytest-nofixture"):
        assert last_chain(report_on(name).crash) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none-attr", "stands before .group there is None"),
        ("argcount", "Pass 'b' to f()"),
        ("recursion", "Give the recursion an end"),
        ("requests", "connections on 127.0.0.1:9:"),
        ("sqlite-locked", "commit or close it"),
        ("sqlite-bind", "Pass a tuple with 2 values instead of 1"),
        ("pandas-key", "no column or label 'price'"),
        ("pandas-csv", "Line 3 of the file has 3 fields instead of 2"),
        ("gen", "next() found nothing more"),
        ("pickle", "top level of a module"),
        ("calledproc-sig", "killed from outside"),
    ],
)
def test_one_sentence_helps_where_something_true_can_be_said(name: str, says: str) -> None:
    assert says in report_on(name).diagnoses[0].fix[0].do


@pytest.mark.parametrize("name", ["custom-exc", "fut-chain", "nested-groups", "asyncio-timeout"])
def test_where_nothing_can_be_said_no_step_is_shown(name: str) -> None:
    report = report_on(name)
    assert not any(line.startswith(" fix") for line in rows(report))
    assert report.diagnoses[0].fix[0].is_general


def test_the_root_stands_before_what_it_ended_as() -> None:
    (error,) = [line for line in rows(report_on("fut-chain")) if line.startswith(" error")]
    assert error.split()[1:] and error.index("KeyError: 3") < error.index("it ended as RuntimeError: job failed")


def test_a_message_that_rich_broke_at_its_width_is_whole_again() -> None:
    chain = last_chain(report_on("rich-lib").crash)
    assert chain is not None
    assert chain.root.gist.endswith("line 1 column 2 (char 1)")


def test_the_first_of_several_failed_tests_is_told() -> None:
    text = "\n".join(rows(report_on("pytest-two")))
    assert "KeyError: 'x'; the first of 2 failures" in text
    assert "AssertionError" not in text


def test_the_frames_of_cython_are_nobodys_own() -> None:
    errors = report_on("pandas-key").crash.exceptions
    assert any(frame.file.endswith((".pyx", ".pxi")) for error in errors for frame in error.frames)
    own = [nearest_own(error.frames) for error in errors]
    assert {base_name(frame.file) for frame in own if frame} == {"main.py"}
