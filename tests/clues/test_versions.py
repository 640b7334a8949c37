"""Version ranges as signatures write them."""

from __future__ import annotations

import pytest

from triage.clues.versions import in_range
from triage.ranges import is_possible


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("2.16", ">=2.16"),
        ("2.16.1", ">=2.16"),
        ("2.16.0", "<=2.16"),
        ("2.9", "<2.10"),
        ("3.0", ">2.21"),
        ("2.15.1", ">2.15"),
        ("8.9.7.29", ">=8.3,<9"),
        ("8.3", " >= 8.3 , < 9 "),
        ("2.15.1", "==2.15"),
        ("2", "==2"),
        ("2.16rc1", "<=2.16"),
        ("1.26.4+cuda", "<2"),
    ],
)
def test_a_version_in_the_range(version: str, wanted: str) -> None:
    assert in_range(version, wanted)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("2.15.9", ">=2.16"),
        ("2.10", "<2.9"),
        ("2.16", ">2.16"),
        ("2.16.0", ">2.16"),
        ("9.0", ">=8.3,<9"),
        ("8.2", ">=8.3,<9"),
        ("2.16", "==2.15"),
        ("2", "==2.1"),
    ],
)
def test_a_version_outside_the_range(version: str, wanted: str) -> None:
    assert not in_range(version, wanted)


@pytest.mark.parametrize("wanted", ["", "2.16", "~=2.16", ">=", ">=2.16,", "newest"])
def test_nothing_is_in_a_range_that_cannot_be_read(wanted: str) -> None:
    assert not in_range("2.16", wanted)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [("", ">=0"), ("nightly", "<2"), ("unknown", "<=2"), ("unknown", ">=2"), ("8." + "9" * 5000, ">=8")],
    ids=lambda value: value[:12],
)
def test_a_version_without_a_number_is_in_no_range(version: str, wanted: str) -> None:
    assert not in_range(version, wanted)


@pytest.mark.parametrize(
    ("ranges", "possible"),
    [
        ((), True),
        (("",), True),
        (("<2",), True),
        (("<2", ">=2"), False),
        (("<=2", ">=2"), True),
        (("<2", ">1.15"), True),
        (("<2.2,>=1.15", ">=2"), True),
        (("==2.16", "<2.16"), False),
        (("==2.16", ">=2.16.1"), True),
        (("==2.16", ">=2.17"), False),
        (("<=2", ">2"), False),
    ],
)
def test_whether_any_version_is_in_several_ranges(ranges: tuple[str, ...], possible: bool) -> None:
    assert is_possible(*ranges) is possible
