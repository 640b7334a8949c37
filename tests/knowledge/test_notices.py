"""Notices: each knows its own lines, has a page, and survives what pastes do to a line."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import line_with, write_pack

import triage
from triage.diagnosis.explain import explain
from triage.diagnosis.notices import notice_of
from triage.knowledge.database import Knowledge, load
from triage.knowledge.notice import Notice
from triage.maintain.prove import lint_packs
from triage.report import NO_CRASH

NOTICE = {
    "match": ["the house greets you"],
    "lines": ["the house greets you, visitor"],
    "from": "the house",
    "means": "You are in.",
    "harm": "none",
    "silence": "leave the house",
    "sources": ["house/wiki#1"],
}
FACTORY = (
    "2025-01-06 12:46:04.065693: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:477] Unable to register "
    "cuFFT factory: Attempting to register factory for plugin cuFFT when one has already been registered"
)


def test_there_are_enough_and_each_knows_its_own_lines(knowledge: Knowledge) -> None:
    assert len(knowledge.notices) >= 80
    stolen = {}
    for notice in knowledge.notices.values():
        for line in notice.lines:
            found = notice_of(line, knowledge)
            if found is None or found.id != notice.id:
                stolen[line] = (notice.id, found and found.id)
    assert stolen == {}


def test_a_page_says_what_it_means_what_it_costs_and_how_to_silence_it(knowledge: Knowledge) -> None:
    for notice in knowledge.notices.values():
        sections = dict(explain(notice.id, knowledge).sections)
        assert {"means", "what it costs", "to silence it", "who prints it", "documented in"} <= set(sections)


@pytest.mark.parametrize(
    "pasted",
    ["Unable to register cuFFT factory", FACTORY, "when one has already been registered", "xla/factory-registered"],
)
def test_any_part_of_a_line_leads_to_its_page(pasted: str, knowledge: Knowledge) -> None:
    assert explain(pasted, knowledge).title.startswith("xla/factory-registered")


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 166])
def test_a_console_may_break_the_line_anywhere(width: int, knowledge: Knowledge) -> None:
    broken = "\n".join(FACTORY[at : at + width] for at in range(0, len(FACTORY), width))
    report = triage.analyze(f"{broken}\n2.17.0\n".encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH
    assert [notice.id for notice in report.notices] == ["xla/factory-registered"]
    assert report.notices[0].times == 1


@pytest.mark.parametrize("prefix", ["web_1  | ", "2024-05-01T08:00:00.1234567Z ", "04:15:53  ", "(pid=11300) ", "> "])
def test_whatever_stands_before_it(prefix: str, knowledge: Knowledge) -> None:
    lines = [
        FACTORY,
        FACTORY.replace("cuFFT", "cuDNN"),
        "WARNING: All log messages before absl::InitializeLog() is called",
    ]
    report = triage.analyze("\n".join(prefix + line for line in lines).encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH
    assert "xla/factory-registered" in [notice.id for notice in report.notices]


@pytest.mark.parametrize("cut", [-40, -12, 125])
def test_a_paste_may_begin_or_end_in_the_middle_of_a_line(cut: int, knowledge: Knowledge) -> None:
    part = FACTORY[:cut] if cut < 0 else FACTORY[cut:]
    report = triage.analyze(f"{FACTORY}\n{part}".encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH


@pytest.mark.parametrize("letter", ["I", "W", "E"])
def test_its_level_letter_does_not_matter(letter: str, knowledge: Knowledge) -> None:
    report = triage.analyze(FACTORY.replace(": E ", f": {letter} ").encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH and report.notices


def test_a_private_pack_has_notices_of_its_own(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"notices/house": {"greeting": NOTICE}})
    both = load((str(pack),))
    assert both.problems == ()
    assert isinstance(both.notices["house/greeting"], Notice)
    report = triage.analyze(b"the house greets you, visitor\n", knowledge=both)
    assert (report.verdict, report.notices[0].means) == (NO_CRASH, "You are in.")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"harm": "some"}, "unknown harm 'some'"),
        ({"harm": "slower"}, "what is not harmless has a cost, what is harmless has none"),
        ({"means": ""}, "no 'means'"),
        ({"mean": "x"}, "unknown field 'mean'"),
        ({"becomes": "house.fire"}, "unknown cause 'house.fire'"),
        ({"match": ["an (open group"]}, "RE2 does not take"),
        ({"match": "not a list"}, "'match' is a list of texts"),
    ],
    ids=str,
)
def test_a_broken_notice_is_named_with_its_place(tmp_path: Path, change: dict[str, object], what: str) -> None:
    pack = write_pack(tmp_path / "house", {"notices/house": {"fine": NOTICE, "bad": {**NOTICE, **change}}})
    both = load((str(pack),))
    (problem,) = both.problems
    file = pack / "notices" / "house.yaml"
    assert problem.file == str(file) and (problem.line or 0) >= line_with(file, "bad:")
    assert what in problem.what
    assert "house/fine" in both.notices and "house/bad" not in both.notices


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"match": [r"\w+"]}, "no fixed text"),
        ({"lines": ["other words"]}, "no pattern of house/bad finds any of its own lines"),
    ],
    ids=["explains anything", "not its lines"],
)
def test_lint_refuses_what_would_explain_anything_away(tmp_path: Path, change: dict[str, object], what: str) -> None:
    pack = write_pack(tmp_path / "house", {"notices/house": {"bad": {**NOTICE, **change}}})
    assert any(what in problem.what for problem in lint_packs((str(pack),)).problems)
