"""A whole log -> one Crash: every kind of fact is there, and the most informative exit status is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import sentences
from conftest import LOGS
from fixture_logs import ROWS as RUNS
from fixture_logs import crash_in

from triage import status
from triage.crash import Crash
from triage.frames import name_of
from triage.readers import Source, read

EVERY_LOG = sorted(LOGS.rglob("*.log"))


def _read(text: str) -> Crash:
    return read(Source.of(text.encode()), 0)


def test_a_real_crash_gives_every_kind_of_fact() -> None:
    crash = read(Source.of(LOGS / "encode_png-2.21.log"), 5)
    assert crash.inputs[0].id == 5
    assert crash.exit is not None
    assert crash.exit.label == "SIGABRT (exit 134)"
    assert [record.severity for record in crash.records] == ["F"]
    python, native = crash.threads
    assert python.python_stack[-1].file == "/home/user/project/fixtures/crashers/encode_png.py"
    assert name_of(native.native_stack[2]) == "tensorflow::png::WriteImageToBuffer"
    assert (crash.environment.os, crash.environment.python) == ("linux", "3.11")
    assert crash.exceptions == ()
    assert sentences(crash.gaps) == ()


# Another process crashed with a dump, and Python ended because of it (one that was killed leaves none).
CHILD_DIED = ("process_crash_spawn", "process_pool_crash", "shell_child")
# One exception came of another, or two threads raised one each.
CHAINED = ("disk_full", "numpy_for", "tfdata_python_error", "thread_exception")


@pytest.mark.parametrize("run", [run for run in RUNS if run["exit"] == 1], ids=lambda run: run["file"])
def test_a_run_that_python_ended_has_its_exception_and_no_death(run: dict[str, str]) -> None:
    crash = crash_in(LOGS / run["file"])
    assert (len(crash.exceptions) == 1) is not run["file"].startswith(CHAINED)
    outermost = [error.frames[-1].file for error in crash.exceptions if error.frames]
    assert any(file.startswith("/home/user/project/fixtures/crashers/") for file in outermost)
    assert (crash.exit is not None and crash.exit.is_death) is run["file"].startswith(CHILD_DIED)


@pytest.mark.parametrize("path", sorted((LOGS / "healthy").glob("*.log")), ids=lambda path: path.name)
def test_a_run_that_went_well_has_no_sign_of_a_death(path: Path) -> None:
    crash = crash_in(path)
    assert (crash.exit, crash.threads, crash.exceptions, crash.messages) == (None, (), (), ())
    assert not crash.is_empty


@pytest.mark.parametrize("path", EVERY_LOG, ids=lambda path: path.name)
def test_every_place_points_at_the_line_that_holds_the_fact(path: Path) -> None:
    original = path.read_text("utf-8").split("\n")
    crash = crash_in(path)
    for record in crash.records:
        assert record.message in original[record.place.line - 1]
    for message in crash.messages:
        assert message.text in original[message.place.line - 1]
    for exception in crash.exceptions:
        assert exception.place is not None
        # AWS Lambda words an import that failed in its own way, and keeps the message.
        line = original[exception.place.line - 1]
        assert exception.type in line or exception.message in line
    for thread in crash.threads:
        assert thread.place is None or original[thread.place.line - 1].strip()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("worker exited with code 1\nSegmentation fault (core dumped)\nmake: exit status 2", "SIGSEGV"),
        ("Killed\nAborted (core dumped)", "SIGABRT"),
        ("exit code 0\nexit code 3", "exit 3"),
        ("Fatal Python error: Segmentation fault\n\nexit code 1", "SIGSEGV"),
        ("Fatal Python error: Aborted\n\nProcess finished with exit code 139", "SIGSEGV"),
        ("Fatal Python error: Bus error", "SIGBUS"),
    ],
)
def test_the_last_death_counts_most_then_faulthandler_then_the_last_exit_code(text: str, name: str) -> None:
    crash = _read(text)
    assert crash.exit is not None
    assert crash.exit.name == name


def test_an_exit_code_as_pycharm_prints_it_is_the_number_that_the_person_saw() -> None:
    crash = _read("Process finished with exit code -1073740791 (0xC0000409)")
    assert crash.exit == status.from_code(-1073740791, place=crash.exit.place if crash.exit else None)


def test_a_windows_status_proves_the_system() -> None:
    assert _read("Process finished with exit code -1073740791 (0xC0000409)").environment.os == "windows"


def test_text_without_any_sign_of_a_process_names_none() -> None:
    crash = _read("Epoch 1/5\n")
    assert crash.processes == ()
    assert crash.logs[0].text == "Epoch 1/5"


def test_nothing_from_the_input_reaches_a_fact_as_an_escape_sequence() -> None:
    crash = _read(
        "\x1b[31mTraceback (most recent call last):\x1b[0m\n"
        '  File "\x1b]8;;file:///a\x1b\\a.py\x1b]8;;\x1b\\", line 3, in <module>\n'
        "\x1b[1mValueError\x1b[0m: \x1b]0;owned\x07bad\x07\n"
        "2020-01-01 00:00:00.000000: F tensorflow/core/a.cc:1] \x1b[5mboom\x1b[0m\n"
    )
    (exception,), (record,) = crash.exceptions, crash.records
    assert (exception.type, exception.message, exception.frames[0].file) == ("ValueError", "bad", "a.py")
    assert record.message == "boom"


def test_a_log_that_was_pasted_twice_has_its_facts_twice_and_the_places_of_both() -> None:
    text = (LOGS / "plain_python_error-2.21.log").read_text("utf-8")
    crash = _read(text + text)
    lines = len(text.split("\n")) - 1
    first, second = (exception.place.line for exception in crash.exceptions if exception.place)
    assert second - first == lines
