"""Markdown for an issue tracker: text from a log formats nothing, links nothing and mentions nobody."""

from __future__ import annotations

import re

import pytest
from conftest import LOGS
from markdown_it import MarkdownIt

import triage
from triage.report import Diagnosis, Evidence, FixStep, Question, RuledOut
from triage.reports.markdown import render

NASTY = (
    "`code` ``more`` @name <script>alert(1)</script> | a | b | fixes #1 **bold** _it_"
    " [x](http://x.example) ![i](y) &lt; ~~s~~"
)
# GitHub looks for mentions and references in the rendered text, where a backslash is gone
# (github.com/github/markup/issues/1168); only code is left alone.
MENTION = re.compile(r"(?<![\w/@`])@[A-Za-z0-9][\w-]*")
REFERENCE = re.compile(r"(?<!\w)(?:#\d|GH-\d)")


def tokens(markdown: str):
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown):
        yield token
        yield from token.children or ()


def plain_text(markdown: str) -> str:
    """What is rendered outside code; comments that keep a mention apart are not rendered."""
    return "".join(
        "\0" if token.type == "code_inline" else token.content if token.type == "text" else ""
        for token in tokens(markdown)
    )


def kinds(markdown: str) -> set[str]:
    return {token.type for token in tokens(markdown)}


@pytest.fixture
def nasty_report(knowledge):
    """A report in which every text that can come from an input is hostile."""
    report = triage.analyze(LOGS / "oom_in_fit-2.21.log", exit_code=139, knowledge=knowledge)
    diagnosis = Diagnosis(
        1, "host.out-of-memory", "host/x", NASTY, 0.9, (Evidence(NASTY, None, 1.0),), (Evidence(NASTY, None, -1.0),),
        (FixStep(NASTY, NASTY, "low", NASTY),), "claimed", (NASTY,),
    )  # fmt: skip
    return report._replace(
        summary=NASTY,
        stack_key=NASTY,
        diagnoses=(diagnosis, diagnosis._replace(rank=2)),
        ruled_out=(RuledOut("gpu.out-of-memory", NASTY),),
        not_observable=(NASTY,),
        next=(Question(NASTY, NASTY, ()),),
    )


def test_a_log_line_formats_nothing(run_triage):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {NASTY}\n'
    output = run_triage("analyze", "-", "--format", "markdown", input=log).stdout
    assert "alert(1)" in output
    assert not kinds(output) & {"link_open", "image", "em_open", "s_open", "table_open", "html_block"}
    assert {token.content for token in tokens(output) if token.type == "html_inline"} <= {"<sub>", "</sub>"}


def test_no_text_of_a_report_formats_anything(nasty_report):
    output = render(nasty_report)
    assert not kinds(output) & {"link_open", "image", "em_open", "s_open", "table_open", "html_block", "fence"}
    html = {token.content for token in tokens(output) if token.type == "html_inline"}
    assert all(tag in ("<sub>", "</sub>") or tag.startswith("<!--") for tag in html)


def test_a_backtick_does_not_end_a_code_span(nasty_report):
    spans = [token.content for token in tokens(render(nasty_report)) if token.type == "code_inline"]
    assert NASTY in spans


def test_nobody_is_mentioned(nasty_report):
    assert not MENTION.findall(plain_text(render(nasty_report)))


def test_no_issue_is_referred_to(nasty_report):
    assert not REFERENCE.findall(plain_text(render(nasty_report)))


def test_the_mentions_of_a_log_are_harmless(run_triage):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {NASTY}\n'
    output = plain_text(run_triage("analyze", "-", "--format", "markdown", input=log).stdout)
    assert not MENTION.findall(output) and not REFERENCE.findall(output)


def test_a_line_of_a_log_cannot_start_a_heading_or_a_list(run_triage):
    log = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: x\n'
    log += "# heading\n- item\n1. one\n\n> quoted\n"
    output = run_triage("analyze", "-", "--format", "markdown", input=log).stdout
    headings = [line for line in output.splitlines() if line.startswith("#")]
    assert all(line.startswith(("## triage: ", "### ")) for line in headings)
    assert "heading" not in "".join(headings)


def test_the_whole_report_is_told(knowledge):
    report = triage.analyze(LOGS / "oom_in_fit-2.21.log", exit_code=139, knowledge=knowledge)
    text = plain_text(render(report))
    first = report.diagnoses[0]
    for told in (*(e.text for e in first.because), *(step.verify for step in first.fix), *report.not_observable):
        assert " ".join(told.split()) in text
    for heading in ("Why", "Fix", "Not seen"):
        assert f"### {heading}\n" in render(report)


def test_what_was_hidden_is_counted(knowledge):
    log = b"Traceback (most recent call last):\nFileNotFoundError: /home/alice/x\n"
    assert "hidden: " in render(triage.analyze(log, knowledge=knowledge))
