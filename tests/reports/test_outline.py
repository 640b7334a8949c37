"""The outline decides what a report shows and what gives way; the formats only lay it out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import get_args

import pytest
from conftest import LOGS
from fixture_logs import EXITS, report_of

import triage
from triage.crash import Harm
from triage.knowledge.database import Knowledge
from triage.report import Report
from triage.reports import markdown, text
from triage.reports.outline import _TITLES, PRIORITIES, Item, Outline, Priority, Section, SectionKind, outline

SCREEN = 24
# Reports with much to say, of every verdict that has something to say.
TALL = [
    "check_failed-2.21.log",
    "oom_in_fit-2.21.log",
    "bad_alloc_eager-2.15.log",
    "composed/install-numpy-attribute.log",
    "composed/api-keras-3-arguments.log",
    "composed/cpu-bus-error-arm.log",
    "illegal_instruction-2.21.log",
]


@pytest.fixture(params=TALL)
def report(request: pytest.FixtureRequest) -> Report:
    return report_of(LOGS / request.param, EXITS.get(request.param))


def everything(shown: Outline) -> Iterator[Item]:
    for section in shown.sections:
        for item in section.items:
            yield item
            yield from item.parts


def on_screen(report: Report, width: int = 80) -> dict[str, str]:
    """The words behind each label of a screen, without line breaks."""
    found: dict[str, str] = {}
    label = ""
    for line in map(str, text.layout(report, width)):
        label = line[:9].strip() if line.startswith(" ") and line[:9].strip() else label
        found[label] = f"{found.get(label, '')} {' '.join(line[9:].split())}".strip()
    return found


def shown_of(section: Section, screen: dict[str, str]) -> list[bool]:
    """Which items are there, by their first words; the rest is wrapped around its place in the log, or cut."""
    begin = [textwrap.wrap(item.short or item.text, 50)[0] for item in section.items]
    assert len(set(begin)) == len(begin), "they can't be told apart: choose another log for this test"
    return [words in screen.get(section.label, "") for words in begin]


def test_every_kind_of_section_has_its_place_and_its_label() -> None:
    assert list(_TITLES) == list(get_args(SectionKind))
    assert len({label for label, _ in _TITLES.values()}) == len(_TITLES)


def test_priorities_are_the_words_of_the_type() -> None:
    assert get_args(Priority) == PRIORITIES


def test_a_pipe_shows_all_of_it_in_its_order(report: Report) -> None:
    written = text.render(report)
    at = 0
    for item in everything(outline(report)):
        at = written.index(" ".join(item.text.split()), at)
    labels = [line[:9].strip() for line in written.splitlines()[3:] if line[:9].strip()]
    assert labels == [*(section.label for section in outline(report).sections), "more"]


def test_markdown_has_the_same_sections_in_the_same_order(report: Report) -> None:
    written = markdown.render(report)
    shown = outline(report).sections
    headings = [line.removeprefix("### ") for line in written.splitlines() if line.startswith("### ")]
    assert headings == [section.heading for section in shown if section.heading]
    facts = [line.split("**")[1] for line in written.splitlines() if line.startswith("- **")]
    assert list(dict.fromkeys(facts)) == [section.label for section in shown if not section.heading]


def test_markdown_shows_as_many_items_as_there_are(report: Report) -> None:
    written = markdown.render(report).splitlines()
    items = sum(len(section.items) for section in outline(report).sections)
    assert sum(line.startswith("- ") or line[:1].isdigit() for line in written) == items


def test_what_gives_way_is_less_important_than_what_stays(report: Report) -> None:
    screen = on_screen(report)
    levels: dict[bool, list[int]] = {True: [], False: []}
    for section in outline(report).sections:
        for item, is_shown in zip(section.items, shown_of(section, screen), strict=True):
            levels[is_shown].append(PRIORITIES.index(item.priority))
    assert max(levels[True]) <= min(levels[False], default=len(PRIORITIES))


def test_a_screen_is_full_where_something_was_dropped(report: Report) -> None:
    height, screen = len(text.layout(report, 80)), on_screen(report)
    assert height <= SCREEN
    dropped = [
        item
        for section in outline(report).sections
        for item, is_shown in zip(section.items, shown_of(section, screen), strict=True)
        if not is_shown and item.priority != "full report"
    ]
    tallest = max((2 + 2 * len(item.parts) for item in dropped), default=SCREEN)
    assert height + tallest >= SCREEN


def test_what_a_section_shows_first_goes_last(report: Report) -> None:
    screen = on_screen(report)
    for section in outline(report).sections:
        of_role: dict[str, list[bool]] = {}
        for item, is_shown in zip(section.items, shown_of(section, screen), strict=True):
            of_role.setdefault(item.role if section.kind == "reasons" else "", []).append(is_shown)
        for shown in of_role.values():
            assert shown == sorted(shown, reverse=True), section.kind


def test_the_first_reason_the_first_step_and_the_first_question_are_always_there(report: Report) -> None:
    screen = on_screen(report)
    for section in outline(report).sections:
        if section.kind in ("death", "reasons", "fix", "questions"):
            assert shown_of(section, screen)[0], section.kind


def test_long_sentences_are_cut_only_where_the_screen_is_full(knowledge: Knowledge) -> None:
    message = " ".join(f"word{number}" for number in range(40))
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nOddError: {message}\n'
    report = triage.analyze(log.encode(), knowledge=knowledge)
    assert "word39" in on_screen(report, 120)["error"]
    longer = triage.analyze(log.replace(message, f"{message} " * 9).encode(), knowledge=knowledge)
    assert "word39" not in on_screen(longer)["error"] and on_screen(longer)["error"].endswith("…")


def test_of_a_healthy_run_a_screen_explains_its_notices_and_nothing_else(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "healthy" / "import_only-2.21.log", knowledge=knowledge)
    assert report.verdict == "no-crash"
    shown = [str(line) for line in text.layout(report, 80)]
    assert shown[0].startswith("No sign of a crash: 3 notices")
    assert len(shown) <= 24
    assert set(on_screen(report)) == {"", "notice", "more"}


def test_the_most_frightening_notice_comes_first_and_equal_ones_are_folded(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "quiet" / "healthy-2.4-cpu.log", knowledge=knowledge)
    harms = [notice.harm for notice in report.notices]
    assert harms[0] == "no-gpu" and harms == sorted(harms, key=get_args(Harm).index)
    assert len({notice.id for notice in report.notices}) == len(report.notices)
    section = next(one for one in outline(report).sections if one.kind == "notices")
    assert section.items[0].priority == "essential"
    assert all(item.parts[0].lead == "to silence it:" for item in section.items)


def test_beside_a_failure_a_screen_has_no_room_for_notices(knowledge: Knowledge) -> None:
    log = "oneDNN custom operations are on.\nBuilding\nsomething could not go on\n"
    report = triage.analyze(log.encode(), knowledge=knowledge)
    assert report.verdict == "unknown" and report.notices
    assert "notice" not in on_screen(report)
    assert "oneDNN custom operations" in text.render(report)


def test_a_report_says_that_the_end_is_not_told_and_how_to_tell_it(knowledge: Knowledge) -> None:
    report = triage.analyze(b"Epoch 1/5\n", knowledge=knowledge)
    assert "last 30 lines" in on_screen(report)["ended"]
    assert "last 30 lines" in markdown.render(report)


def test_an_exception_that_the_program_survived_is_not_called_a_death(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "handled" / "error_caught-2.21.log", knowledge=knowledge)
    assert report.verdict == "no-crash"
    assert "death" not in {section.kind for section in outline(report).sections}
