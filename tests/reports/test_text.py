"""The report for people: one screen on a terminal, whole and unwrapped in a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from conftest import LOGS
from fixture_logs import ALL_LOGS, EXITS, report_of

from triage.report import Diagnosis, FixStep, Report
from triage.reports import renderer
from triage.reports.text import layout, render

OOM = LOGS / "oom_in_fit-2.21.log"


@pytest.fixture(scope="module")
def oom_report():
    return report_of(OOM, 139)


def beside_commands(lines: Iterable[str], report: Report) -> list[str]:
    """The lines that are no command: a terminal breaks commands itself, so that what is copied is one line."""
    commands = {line for one in report.diagnoses[:1] for step in one.fix for line in (step.run or "").split("\n")}
    commands |= {question.run.line(report.crash.environment.os) for question in report.next if question.run}
    return [line for line in lines if line.strip() not in commands]


def test_on_a_terminal_the_answer_is_first_the_next_command_last_and_one_screen_holds_it(in_terminal, oom_report):
    screen = in_terminal("analyze", OOM, "--exit-code", "139")
    assert screen.lines[0].startswith("Memory ran out inside a oneDNN kernel") and screen.lines[0].endswith(" %")
    assert screen.lines[1:3] == ["host.out-of-memory", ""]
    assert screen.lines[-1].split() == ["more", "triage", "explain", "host.out-of-memory"]
    assert max(map(len, beside_commands(screen.lines, oom_report))) <= 80
    assert len(screen.lines) <= 24
    assert {"died", "why", "fix"} <= {line.split()[0] for line in screen.lines if line[:1] == " " and line[1:2] != " "}


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_no_line_is_wider_than_the_terminal(in_terminal, oom_report, columns):
    screen = in_terminal("analyze", OOM, "--exit-code", "139", columns=columns)
    assert max(map(len, beside_commands(screen.lines, oom_report))) <= columns


@pytest.mark.parametrize("name", ALL_LOGS)
@pytest.mark.parametrize("columns", [60, 80])
def test_every_log_is_laid_out_within_the_width(name, columns):
    report = report_of(LOGS / name, EXITS.get(name))
    lines = layout(report, columns)
    assert max(map(len, beside_commands(map(str, lines), report))) <= columns
    if report.verdict == "diagnosed" and columns == 80:
        assert sum(line.height(columns) for line in lines) <= 24


def test_the_share_of_the_answer_is_told_with_it(oom_report):
    first = oom_report.diagnoses[0]
    assert str(layout(oom_report, 80)[0]).split()[-2:] == [f"{first.confidence * 100:.0f}", "%"]
    assert render(oom_report).splitlines()[0].split()[-2:] == [f"{first.confidence * 100:.0f}", "%"]


def test_in_a_pipe_nothing_is_wrapped_and_nothing_is_cut(run_triage, oom_report):
    done = run_triage("analyze", OOM, "--exit-code", "139")
    lines = done.stdout.splitlines()
    first = oom_report.diagnoses[0]
    for told in [
        *(evidence.text for evidence in (*first.because, *first.against)),
        *(step.do for step in first.fix),
        *(step.verify for step in first.fix),
        *(step.run for step in first.fix if step.run),
        *oom_report.not_observable,
    ]:
        assert any(told in line for line in lines), told
    assert max(map(len, lines)) > 80
    assert "…" not in done.stdout


def test_a_long_exception_is_cut_on_a_screen_only(run_triage, in_terminal, tmp_path):
    message = " ".join(f"word{number}" for number in range(200))
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {message}\n'
    (tmp_path / "long.log").write_text(log)
    assert "word199" in run_triage("analyze", "long.log").stdout
    screen = in_terminal("analyze", "long.log")
    assert "word199" not in screen.raw
    assert "…" in screen.raw
    assert max(map(len, screen.lines)) <= 80


def test_a_word_longer_than_the_screen_does_not_overflow_it(in_terminal, tmp_path):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {"x" * 300}\n'
    (tmp_path / "long.log").write_text(log)
    assert max(map(len, in_terminal("analyze", "long.log").lines)) <= 80


def test_wide_characters_do_not_overflow_the_screen(in_terminal, tmp_path):
    from rich.cells import cell_len

    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {"記憶 " * 60}\n'
    (tmp_path / "wide.log").write_text(log, encoding="utf-8")
    assert max(map(cell_len, in_terminal("analyze", "wide.log").lines)) <= 80


@pytest.mark.parametrize(
    ("log", "exit_code", "answer"),
    [
        (LOGS / "bus_error-2.21.log", -7, "unknown"),
        (LOGS / "healthy" / "fit-2.21.log", None, "no-crash"),
    ],
)
def test_without_a_cause_the_summary_comes_first_and_the_verdict_below(log, exit_code, answer):
    report = report_of(log, exit_code)
    for text in (render(report), "\n".join(map(str, layout(report, 80)))):
        *sentence, below = text.split("\n\n")[0].strip().splitlines()
        assert (" ".join(sentence), below) == (report.summary, answer)


def test_an_uncertain_cause_is_not_sold_as_the_answer():
    report = report_of(LOGS / "killed_by_watchdog-2.21.log", -9)
    assert report.verdict == "uncertain", "choose another log for this test"
    sentence, cause, *_ = render(report).splitlines()
    assert sentence.startswith(f"Perhaps: {report.diagnoses[0].title} ")
    assert cause == report.diagnoses[0].cause


def test_what_could_not_be_looked_at_is_said(run_triage):
    assert "native stack: the log holds none" in run_triage("analyze", OOM).stdout


def test_with_several_inputs_each_reason_names_its_file(run_triage, tmp_path):
    (tmp_path / "first.log").write_text("epoch 1\n")
    (tmp_path / "second.log").write_bytes(OOM.read_bytes())
    assert "second.log:53" in run_triage("analyze", "first.log", "second.log").stdout


def test_a_terminal_and_a_pipe_tell_the_same_answer_and_the_same_next_command(run_triage, in_terminal):
    piped = run_triage("analyze", OOM).stdout.splitlines()
    shown = in_terminal("analyze", OOM).lines
    assert piped[0].split() == shown[0].split() and piped[1] == shown[1]
    assert piped[-1] == shown[-1]


SEVERAL = "%pip install 'a  b'\n%env A=1\npython \"my x.py\" " + "--long-option " * 8


def with_command(report: Report, run: str) -> Report:
    step = FixStep("Do this.", run, "low", "it passes")
    first: Diagnosis = report.diagnoses[0]._replace(fix=(step,))
    return report._replace(diagnoses=(first,))


@pytest.mark.parametrize("width", [None, 80])
def test_each_line_of_a_command_is_a_line_of_the_report(oom_report, width):
    lines = [str(line).strip() for line in layout(with_command(oom_report, SEVERAL.strip()), width)]
    wanted = SEVERAL.strip().split("\n")
    at = lines.index(wanted[0])
    assert lines[at : at + 3] == wanted


def test_each_line_of_a_command_is_a_line_in_markdown_and_json(oom_report):
    report = with_command(oom_report, SEVERAL.strip())
    markdown = renderer("markdown")(report).splitlines()
    at = markdown.index("   ```")
    assert [line.removeprefix("   ") for line in markdown[at : at + 5]] == ["```", *SEVERAL.strip().split("\n"), "```"]
    assert json.loads(renderer("json")(report))["diagnoses"][0]["fix"][0]["run"] == SEVERAL.strip()


def test_a_fence_is_longer_than_any_in_a_command(oom_report):
    markdown = renderer("markdown")(with_command(oom_report, "echo ```\nls")).splitlines()
    assert markdown.count("   ````") == 2
