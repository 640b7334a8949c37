"""The report that macOS writes about a crash: found by the number of the process, soon, and never an old one."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from conftest import LOGS

import triage
from triage.capture.posix.system_records import crash_report_of

OURS = 4711
TEXT = (LOGS / "containers" / "macos_crash.log").read_text("utf-8")
# The header of an .ips is one line of JSON, and the number stands in the JSON below it.
HEADER, BODY = (LOGS / "containers" / "macos_crash_ips.log").read_text("utf-8").split("\n", 1)
IPS = f'{HEADER}\n{{\n  "pid" : {{}},\n{BODY.removeprefix("{")}'.replace("{}", str(OURS), 1)
COMPACT = IPS.replace('"pid" : ', '"pid":')


def written(directory: Path, name: str, content: str, ago: float = 0.0) -> Path:
    """A report that was written so many seconds ago."""
    path = directory / name
    path.write_text(content, "utf-8")
    os.utime(path, (time.time() - ago,) * 2)
    return path


def found(
    directory: Path, pid: int = OURS, *, ran_for: float = 10.0, patience: float = 0.0
) -> tuple[str, bytes] | None:
    """What is found for a process that ended now and had run for so many seconds."""
    return crash_report_of(pid, time.time() - ran_for, str(directory), patience)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Python-2022-06-01-101112.crash", TEXT),
        ("python3.11-2023-11-16-101112.ips", IPS),
        ("python3.11-2023-11-16-101112.ips", COMPACT),
    ],
    ids=["crash", "ips", "ips-without-spaces"],
)
def test_both_forms_are_found_by_the_number_of_the_process(tmp_path, name, content):
    written(tmp_path, name, content)
    assert found(tmp_path) == (name, content.encode())


@pytest.mark.parametrize(("content", "signal"), [(TEXT, "SIGILL"), (IPS, "SIGSEGV")], ids=["crash", "ips"])
def test_what_is_found_is_what_the_reader_reads(tmp_path, knowledge, content, signal):
    written(tmp_path, "report.ips", content)
    _, report = found(tmp_path) or ("", b"")
    crash = triage.analyze(report, knowledge=knowledge).crash
    assert crash.exit is not None and crash.exit.signal == signal
    assert any(thread.crashed and thread.native_stack for thread in crash.threads)


@pytest.mark.parametrize("pid", [471, 47110, 1, 4712])
@pytest.mark.parametrize("content", [TEXT, IPS], ids=["crash", "ips"])
def test_the_report_of_another_process_is_not_taken(tmp_path, pid, content):
    written(tmp_path, "Python.crash", content)
    assert found(tmp_path, pid) is None


@pytest.mark.parametrize("name", ["Parent Process:        Python", "Responsible:           Python"])
def test_the_report_of_a_child_is_not_taken_for_that_of_its_parent(tmp_path, name):
    of_the_child = TEXT.replace("[4711]", "[4712]") + f"{name} [{OURS}]\n"
    written(tmp_path, "Python.crash", of_the_child)
    assert found(tmp_path) is None


def test_among_the_reports_of_others_ours_is_found(tmp_path):
    written(tmp_path, "Safari.crash", TEXT.replace("[4711]", "[815]"))
    written(tmp_path, "Python.ips", IPS, ago=2.0)
    written(tmp_path, "Mail.ips", IPS.replace("4711", "816"))
    assert found(tmp_path) == ("Python.ips", IPS.encode())


def test_an_older_report_is_of_a_process_that_had_the_number_before(tmp_path):
    written(tmp_path, "Python.crash", TEXT, ago=60.0)
    assert found(tmp_path, ran_for=10.0) is None
    assert found(tmp_path, ran_for=120.0) is not None


def test_of_two_reports_the_newer_one_counts(tmp_path):
    written(tmp_path, "first.crash", TEXT, ago=5.0)
    written(tmp_path, "second.ips", IPS, ago=1.0)
    assert found(tmp_path) == ("second.ips", IPS.encode())


@pytest.mark.parametrize("name", ["Python.diag", "Python.crash.tmp", "notes.txt", "Python"])
def test_a_file_of_another_kind_is_not_looked_into(tmp_path, name):
    written(tmp_path, name, TEXT)
    assert found(tmp_path) is None


def test_a_directory_named_like_a_report_is_none(tmp_path):
    (tmp_path / "Retired.crash").mkdir()
    assert found(tmp_path) is None


def test_a_report_that_appears_a_moment_later_is_waited_for(tmp_path):
    # macOS writes under another name first.
    unfinished = written(tmp_path, ".Python.ips.tmp", IPS)
    writer = threading.Timer(0.5, lambda: unfinished.rename(tmp_path / "Python.ips"))
    writer.start()
    try:
        assert found(tmp_path, patience=20.0) == ("Python.ips", IPS.encode())
    finally:
        writer.join()


def test_a_report_that_is_written_in_two_goes_is_found_once_it_names_the_process(tmp_path):
    written(tmp_path, "Python.ips", HEADER)
    writer = threading.Timer(0.5, lambda: written(tmp_path, "Python.ips", IPS))
    writer.start()
    try:
        assert found(tmp_path, patience=20.0) == ("Python.ips", IPS.encode())
    finally:
        writer.join()


def test_where_none_comes_the_wait_has_an_end(tmp_path):
    begun = time.monotonic()
    assert found(tmp_path, patience=0.5) is None
    assert 0.5 <= time.monotonic() - begun < 5.0


def test_where_no_reports_are_kept_nothing_is_waited_for(tmp_path):
    begun = time.monotonic()
    assert found(tmp_path / "DiagnosticReports", patience=30.0) is None
    assert time.monotonic() - begun < 5.0


def test_a_report_that_may_not_be_read_is_passed_over(tmp_path):
    (tmp_path / "gone.crash").symlink_to(tmp_path / "nowhere")
    written(tmp_path, "Python.crash", TEXT)
    assert found(tmp_path) == ("Python.crash", TEXT.encode())


def test_the_directory_may_be_given_from_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "Library" / "Logs" / "DiagnosticReports"
    folder.mkdir(parents=True)
    written(folder, "Python.crash", TEXT)
    report = crash_report_of(OURS, time.time() - 10.0, patience=0.0)
    assert report is not None and report[0] == "Python.crash"
