"""Tests that share something expensive run in one process, whatever file they are in."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import pytest
from conftest import REPOSITORY, clean_environment
from scheduling import LONG, group, long_ones_first

RUN, PLAIN = "tests/capture/test_crashers_run.py", "tests/test_crashers.py"


class Item(NamedTuple):
    """The part of a test that is looked at."""

    nodeid: str


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{RUN}::test_nothing_is_left_behind[disk_full]", f"{PLAIN}::test_a_crasher_ends_as_it_says[disk_full]"),
        (
            "tests/reports/test_text.py::test_every_log_is_laid_out_within_the_width[60-disk_full-2.21.log]",
            "tests/test_noise.py::test_noise_around_a_failure[fixtures/logs/disk_full-2.21.log-1]",
        ),
        (
            "tests/reports/test_json.py::test_every_log_gives_a_valid_report[healthy/fit-2.21.log]",
            "tests/readers/log/test_log_reader.py::test_every_place[fit-2.21.log]",
        ),
        ("tests/test_packaging.py::test_private_packs_work[wheel]", "tests/test_packaging.py::test_an_edit_counts"),
    ],
    ids=["a crasher", "a log", "a log in a folder", "a file"],
)
def test_what_is_shared_keeps_tests_together(one, other):
    assert group(one) == group(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{RUN}::test_nothing_is_left_behind[disk_full]", f"{RUN}::test_nothing_is_left_behind[killed]"),
        ("tests/reports/test_json.py::test_x[a.log]", "tests/reports/test_json.py::test_x[b.log]"),
        ("tests/test_claims.py::test_x[1]", "tests/test_claims_again.py::test_x[1]"),
    ],
    ids=["crashers", "logs", "files"],
)
def test_what_shares_nothing_may_run_at_the_same_time(one, other):
    assert group(one) != group(other)


def test_the_long_ones_come_first_and_the_others_stay_in_their_order():
    items = [Item("tests/cli/test_run.py::b"), Item("tests/cli/test_run.py::a"), *(Item(f"{f}::a") for f in LONG[::-1])]
    long_ones_first(items)
    assert [item.nodeid.split("::")[0] for item in items[: len(LONG)]] == list(LONG)
    assert [item.nodeid for item in items[len(LONG) :]] == ["tests/cli/test_run.py::b", "tests/cli/test_run.py::a"]


def test_every_file_that_is_named_here_is_there():
    assert [file for file in LONG if not (REPOSITORY / file).is_file()] == []


def test_with_several_processes_the_tests_of_one_log_run_in_one_and_the_summary_counts_all():
    pytest.importorskip("xdist", reason="pytest-xdist is not here")
    files = ("tests/reports/test_text.py", "tests/reports/test_json.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-vv", "-k", "disk_full", *files],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={name: value for name, value in clean_environment().items() if not name.startswith("PYTEST_")},
        timeout=170,
    )
    assert done.returncode == 0, done.stdout
    ran = [line for line in done.stdout.splitlines() if line.startswith("[gw")]
    for log in ("disk_full-2.15.log", "disk_full-2.21.log"):
        workers = [line[: len("[gw0]")] for line in ran if log in line]
        assert (len(workers), len(set(workers))) == (5, 1)
    assert "tests/reports/test_json.py: 6 ran, 0 skipped" in done.stdout
    assert "tests/reports/test_text.py: 4 ran, 0 skipped" in done.stdout
    assert " 10 passed in " in done.stdout.splitlines()[-1]
