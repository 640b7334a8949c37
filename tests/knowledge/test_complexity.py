"""Which patterns could keep a backtracking engine busy forever."""

from __future__ import annotations

import re

import pytest

from triage.knowledge.complexity import exponential, slow

# Exponential: a loop that reads one text in two ways


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:a+)+b",
        r"(?:a*)*b",
        r"(?:a|a)+b",
        r"(?:a|aa)+b",
        r"(?:\w|\dx?)+!",
        r"(?:a?ba?)+c",
        r"(?:(?:a?|b?)c)*d",
        r"(?:\w+\s*)+$",
        r"(?:\s*\w+\s*,?)*;",
        r"(?i:(?:a|Ax?)+)b",
        r"(?:a{1,200})+b",
        r"(?:.*x)+y",
        r"(?:é+)+b",
        # once used to shorten function names
        r"(?:\.(?:part|cold|\d+)(?=\.|$|\s)[.\d]*|@@?[A-Z]\w*[._\d]*|\s*\[clone [^\]]*\])+$",
    ],
)
def test_a_repeat_that_can_match_the_same_text_in_two_ways_is_refused(pattern: str) -> None:
    assert "in two ways" in (exponential(pattern) or "")
    assert "in two ways" in (slow(pattern) or "")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+(?:\.\d+)+",
        r"(?:\w+::)*Compute",
        r'"(?:[^"\\]|\\.)*"',
        r"(?:a+b|a+c)*d",
        r"(?:[^\n]+\n)*",
        r"(?:ab|cd|a)+e",
        r"(?:[a-z]|[A-Z])+!",
        r"(?:\.\d+)*x",
        r"a{3}b{2,4}(?:c{2})+",
        r".*a.*b.*c",
    ],
)
def test_a_repeat_with_a_clear_end_of_each_round_is_accepted(pattern: str) -> None:
    assert exponential(pattern) is None


# Polynomial: a loop that leads to another over the same text


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\s*\s*:",
        r"^a*b?a*c",
        r"^.*a.*b",
        r"^Model:\s*(\S.*?)\s*$",
        r"^[ :]*(\S+) end",
        r"^\d+\w*\.dll",
        # a search starts again at each position, so the text before it is read by a loop too
        r"\s*\(inlined\)",
        r"\d+x",
        r"[a-z]+$",
        r"(?m)^\s*x",
        r"\.(\d+(?:\.\d+)+)\.dylib$",
        r"::internal::(?:\w+::)*LogMessage::",
        r"a|\d+x",
    ],
)
def test_two_repeats_that_meet_over_the_same_characters_are_refused(pattern: str) -> None:
    assert exponential(pattern) is None
    assert "two repeats meet" in (slow(pattern) or "")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+",
        r"[-_.]+",
        r"%([^%]+)%",
        r'"[^"]*"',
        r"^\s*x",
        r"^\s*\w+\s*$",
        r"(?m)^ *x",
        r"(?m)^Process:.*\[(\d+)\]",
        r"\.so\.(\d+(?:\.\d+)+)$",
        r"#\d+(?=\})",
        r"[^:]{1,16}\[\d",
        r"^a+$|^b+$|cc",
    ],
)
def test_a_search_that_does_not_return_to_the_same_characters_is_accepted(pattern: str) -> None:
    assert slow(pattern) is None


def test_it_matters_where_a_pattern_may_begin_and_must_end() -> None:
    assert slow(r"\s*x") and slow(r"\s*x", searched=False) is None
    assert slow(r"\d+", whole=True) and slow(r"\d+") is None
    assert slow(r"a*(?:a|b)*", searched=False, whole=True)


def test_flags_matter() -> None:
    assert slow(r"^a*A*b") is None
    assert slow(r"^a*A*b", re.IGNORECASE)
    assert slow(r"^x.*\n+y") is None
    assert slow(r"^x.*\n+y", re.DOTALL)
    assert slow(rb"^ *x") is None
    assert slow(rb"^\s*x", re.MULTILINE)


@pytest.mark.parametrize("pattern", [r"(a+)\1b", r"a(?=b*c)", r"a(?![0-9]*\])"])
def test_what_cannot_be_judged_is_refused(pattern: str) -> None:
    assert slow(pattern)
