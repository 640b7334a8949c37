"""Broken dumps: a few of those that `make fuzz-minidump` runs by the thousand, and that command itself."""

from __future__ import annotations

import subprocess
import sys

import pytest
from building import sentences
from conftest import REPOSITORY
from fuzzing.mutations import mutation, originals

import triage

DUMPS = originals()


def test_a_number_and_a_seed_always_give_the_same_broken_dump() -> None:
    assert mutation(17, 1, DUMPS) == mutation(17, 1, DUMPS)
    assert mutation(17, 1, DUMPS) != mutation(17, 2, DUMPS)


@pytest.mark.parametrize("number", range(60))
def test_a_broken_dump_ends_in_a_report_or_in_one_sentence(number: int, knowledge) -> None:
    _, data = mutation(number, 3, DUMPS)
    report = triage.analyze(data, knowledge=knowledge)
    if report.crash.inputs[0].kind == "unreadable":
        (sentence,) = sentences(report.crash.gaps)
        assert sentence.endswith(".") and "\n" not in sentence
    else:
        assert report.summary


def test_a_dump_whose_exception_was_cut_away_is_not_taken_for_one_of_a_living_process(knowledge) -> None:
    whole = (REPOSITORY / "fixtures" / "dumps" / "fast-fail-7.dmp").read_bytes()
    summary = triage.analyze(whole[:3000], knowledge=knowledge).summary
    assert "damaged or cut off" in summary and "alive" not in summary


def test_the_command_counts_how_they_ended() -> None:
    command = [sys.executable, "tests/fuzzing/fuzz_minidump.py", "--count", "20"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("20 broken dumps, ")
    assert "0  traceback" in done.stdout and "0  over 5 s" in done.stdout and "0  over 300 MB" in done.stdout
