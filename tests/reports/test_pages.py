"""Explanation pages: the title first, sections under headings, the next command last."""

from __future__ import annotations

import triage
from triage.crash import Command
from triage.report import Page
from triage.reports.pages import page_lines, render_page

PAGE = Page(
    "SIGSEGV  a title",
    (("means", ("One paragraph. " + "word " * 60, "Another.")), ("likely causes", ("1. a", "2. b"))),
    Command(("triage", "analyze", "LOG")),
)


def test_title_first_and_next_command_last():
    lines = render_page(PAGE).splitlines()
    assert lines[0] == "SIGSEGV  a title"
    assert lines[-1] == " more  triage analyze LOG"
    assert [line for line in lines if line.startswith(" ") and not line.startswith("  ")][:-1] == [
        " means",
        " likely causes",
    ]


def test_a_page_without_a_next_command_names_none():
    assert "more" not in render_page(Page("title", (("means", ("text",)),)))


def test_in_a_pipe_a_paragraph_is_one_line():
    assert max(map(len, render_page(PAGE).splitlines())) > 300


def test_on_a_terminal_paragraphs_are_wrapped():
    lines = [str(line) for line in page_lines(PAGE, 60)]
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines).split()) == " ".join(render_page(PAGE).split())


def test_a_very_wide_terminal_keeps_lines_readable():
    assert max(len(str(line)) for line in page_lines(PAGE, 400)) <= 100


def test_every_page_fits_its_terminal(knowledge):
    for topic in (*knowledge.causes, *knowledge.exceptions, *knowledge.names, *knowledge.signatures):
        lines = [str(line) for line in page_lines(triage.explain(topic, knowledge=knowledge), 80)]
        assert max(map(len, lines)) <= 80, topic
    assert max(len(str(line)) for line in page_lines(triage.sources(knowledge), 80)) <= 80


def test_nothing_active_gets_through():
    page = Page("a\x1b[31mb", (("means", ("c\x07d\u202ee",)),))
    text = render_page(page)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_page_on_a_terminal(in_terminal):
    screen = in_terminal("explain", "gpu.out-of-memory")
    assert screen.lines[0].startswith("gpu.out-of-memory")
    assert screen.lines[-1].split()[:2] == ["more", "triage"]
    assert max(map(len, screen.lines)) <= 80
