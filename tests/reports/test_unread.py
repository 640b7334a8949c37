"""What was not read is said before anything else, with the right figures, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LOGS

import triage
from triage.crash import Crash, Gap, Input, Log
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.readers.log import lines
from triage.report import Report
from triage.reports import markdown, text
from triage.reports.json_report import as_dict

SAID = " of train.log, so no cause can count as found; analyze the part around the failure on its own"


@pytest.fixture
def report(knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A log of 30,000 bytes and 1,000 lines more than is kept, with a failure at its end."""
    failure = (LOGS / "oom_in_fit-2.21.log").read_bytes()
    cost = 29 + lines._LINE_COST
    monkeypatch.setattr(lines, "KEEP_HEAD", 100 * cost)
    monkeypatch.setattr(lines, "KEEP_TAIL", len(failure) + failure.count(b"\n") * lines._LINE_COST + 500 * cost)
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_bytes(b"all is well in this long log.\n" * 1_600 + failure)
    return triage.analyze("train.log", exit_code=139, knowledge=knowledge)


def test_the_first_row_of_the_text_says_how_much(report: Report) -> None:
    headline, cause, blank, first, *others = text.render(report).splitlines()
    assert (headline.startswith("Perhaps: "), cause, blank) == (True, "host.out-of-memory", "")
    whole = Path("train.log").stat().st_size
    assert first.startswith(" unread  ")
    assert f" of {whole / 1024:,.1f} KiB (lines 101 to 1," in first
    assert first.endswith(SAID)
    assert not any("KiB (lines" in row for row in others)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_screen_says_it_first_too(report: Report, width: int) -> None:
    shown = [str(line) for line in text.layout(report, width)]
    labels = [line[1:9].strip() for line in shown[shown.index("") :] if line[:1] == " " and line[1:9].strip()]
    assert labels[0] == "unread"


def test_markdown_says_it_above_what_happened(report: Report) -> None:
    output = markdown.render(report)
    assert output.index("- **unread**: ") < output.index("- **died**")
    assert output.count("KiB (lines") == 1


def test_a_log_whose_end_could_not_be_unpacked_says_so_without_a_figure(knowledge: Knowledge, tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress((LOGS / "oom_in_fit-2.21.log").read_bytes() + bytes(range(32, 127)) * 9_000)
    path = tmp_path / "train.log.gz"
    path.write_bytes(packed[:-20])
    report = triage.analyze(path, exit_code=139, knowledge=knowledge)
    assert report.verdict == "uncertain"
    first = text.render(report).splitlines()[3]
    assert first.startswith(f" unread  the rest of {path}, so no cause can count as found")


def test_a_file_of_windows_that_could_not_be_read_is_named_on_a_screen_by_more_than_its_drive(
    knowledge: Knowledge,
) -> None:
    name = r"C:\logs\train.dmp"
    gap = Gap("input", "unreadable", None, name, f"{name}: this is a picture; paste the text of the log instead.")
    crash = Crash(gaps=(gap,), logs=(Log(0, ["some words"]),), inputs=(Input(0, "log", "-"),))
    report = diagnose(crash, knowledge, version="test")
    (row,) = [str(line) for line in text.layout(report, 200) if str(line).startswith(" missing")]
    assert row.split(None, 1)[1].split(", ")[0] == name


def test_what_is_missing_is_told_to_programs_in_words_of_a_closed_set(knowledge: Knowledge) -> None:
    report = triage.analyze(b"some words of the program\n", exit_code=139, knowledge=knowledge)
    written = as_dict(report)
    gaps = written["crash"]["gaps"]
    assert ("native stack", "no-frames-in-log", "run-under-triage") in [
        (gap["what"], gap["why"], gap["remedy"]) for gap in gaps
    ]
    assert len(gaps) == len(written["not_observable"])
