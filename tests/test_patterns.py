"""RE2 patterns: what they mean here, which are refused, and which texts every match contains."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from triage import patterns
from triage.clues.log import LogSeen
from triage.knowledge.database import Knowledge

# Meaning


def test_caret_and_dollar_are_line_ends_and_a_dot_matches_no_line_end() -> None:
    text = "one fish\ntwo fish\nred"
    assert [m.group() for m in patterns.compile(r"^\w+ fish$").finditer(text)] == ["one fish", "two fish"]
    assert patterns.compile("fish.two").search(text) is None


def test_offsets_count_characters_and_not_bytes() -> None:
    match = patterns.compile("b+").search("éü─ bb")
    assert match is not None
    assert (match.start(), match.end()) == (4, 6)


def test_named_groups_are_read_by_name() -> None:
    match = patterns.compile(r"shape\[(?P<shape>[\d,]+)\](?P<rest>x)?").search("with shape[8192,128] and")
    assert match is not None
    assert match.groupdict() == {"shape": "8192,128", "rest": None}
    assert match.group("shape") == "8192,128"


def test_a_pattern_is_compiled_once() -> None:
    assert patterns.compile("once[0-9]") is patterns.compile("once[0-9]")


@pytest.mark.skipif(not patterns.LINEAR_TIME, reason="RE2 is not installed: the engine that stands in backtracks")
def test_a_pattern_that_backtracks_for_ever_elsewhere_ends_here() -> None:
    assert patterns.compile(r"(?:a+)+$").search("a" * 100_000 + "b") is None


# What is refused


@pytest.mark.parametrize("pattern", ["(", "[a", "a{3,1}", "*a", "a(?=b)", "(?<!a)b", r"(a)\1"])
def test_a_pattern_that_re2_refuses_is_refused_with_a_reason(pattern: str) -> None:
    if not patterns.LINEAR_TIME and patterns.check(pattern) is None:
        pytest.skip("only RE2 refuses this one")
    with pytest.raises(patterns.BadPattern) as refused:
        patterns.compile(pattern)
    assert str(refused.value)
    assert patterns.check(pattern) == str(refused.value)


@pytest.mark.parametrize("pattern", [r"\pL+", r"\Qa.b\E", r"\x{41}", "(?U)a+", "(?P<x>a)(?P<x>b)"])
def test_a_pattern_that_only_re2_accepts_is_refused_because_not_every_system_has_re2(pattern: str) -> None:
    assert patterns.check(pattern)


@pytest.mark.parametrize("pattern", [r"^\S+\.cc:\d+\]", "(?i)out of memory", r"(?:a|b){2,}", r"[^\]]+", "日本"])
def test_a_pattern_that_both_engines_accept_is_fine(pattern: str) -> None:
    assert patterns.check(pattern) is None


def test_a_bad_pattern_writes_nothing_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert patterns.check("(unclosed-and-never-tried-before")
    assert capfd.readouterr() == ("", "")


# Literals: what lets a search skip a pattern without compiling it


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("OOM when allocating", ("OOM when allocating",)),
        (r"OOM when allocating tensor with shape\[(?P<shape>[\d,]+)\]", ("OOM when allocating tensor with shape[",)),
        (r"\d+ root error\(s\) found", (" root error(s) found",)),
        ("zlibwapi|cudnn64", ("cudnn64", "zlibwapi")),
        ("(?:Killed|Aborted) by", ("Aborted", "Killed")),
        ("Could not (create|load) it", ("Could not ",)),
        ("abc(?:defgh)?ij", ("abc",)),
        ("(?:abc){2}", ("abc",)),
        ("^abc$", ("abc",)),
        ("(free)(-list)", ("free-list",)),
    ],
)
def test_the_literals_of_a_pattern_are_its_longest_certain_texts(pattern: str, texts: tuple[str, ...]) -> None:
    assert patterns.literals(pattern) == texts


@pytest.mark.parametrize("pattern", ["(?i)abc", "abc|", "(?:abc)?", "(?:abc)*", r"\d+", "[abc]", "", "abc|[0-9]", "("])
def test_nothing_is_certain_where_case_or_the_whole_text_is_free(pattern: str) -> None:
    assert patterns.literals(pattern) == ()


def test_a_literal_is_no_promise_where_only_a_part_ignores_case() -> None:
    pattern = "x(?i:error)"
    assert patterns.compile(pattern).search("xERROR")
    assert _allows(pattern, "xERROR")


@pytest.mark.skipif(not patterns.LINEAR_TIME, reason="only RE2 knows these classes")
def test_a_posix_class_is_refused_or_read_as_re2_reads_it() -> None:
    """The standard library takes [[:alpha:]] for a set followed by a bracket, and only warns."""
    pattern = "[[:alpha:]]+"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert patterns.check(pattern) or _allows(pattern, "abc")


def _allows(pattern: str, text: str) -> bool:
    """Whether the literals let a matcher look at this text at all."""
    needed = patterns.literals(pattern)
    return not needed or any(literal in text for literal in needed)


_PIECES = st.sampled_from(
    [
        "a",
        "bc",
        "def",
        r"\.",
        r"\[",
        r"\d",
        r"\w+",
        "a*",
        "b+?",
        "[x-z]",
        "[^q]",
        ".",
        " ",
        "é",
        "^",
        "$",
        r"\b",
        "(?i:k)",
        r"\n",
    ]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda p: f"(?:{p})")
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda options: f"(?:{'|'.join(options)})"),
        # An endless repeat of an endless repeat takes Python's own engine, which makes the texts, for ever.
        st.tuples(group, st.sampled_from(["?", "{2}", "{1,3}", "{0,2}", "{1,2}?"])).map("".join),
        inner.map(lambda p: f"({p})"),
        inner.map(lambda p: f"(?:{p}|)"),
        inner.map(lambda p: f"(?i:{p})"),
    )


@settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.recursive(_PIECES, _larger, max_leaves=8), st.data())
def test_whatever_a_made_up_pattern_matches_contains_one_of_its_literals(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile("(?m)" + pattern, re.ASCII)))
    match = patterns.compile(pattern).search(text)
    assume(match is not None)
    assert match is not None
    assert _allows(pattern, match.group())


def _log_patterns(clues: object) -> set[str]:
    """The patterns of every log clue, those inside `any` and `sequence` too."""
    if isinstance(clues, LogSeen):
        return {clues.pattern}
    if isinstance(clues, tuple):
        return {pattern for part in clues for pattern in _log_patterns(part)}
    return set()


def test_whatever_a_pattern_of_ours_matches_contains_one_of_its_literals(knowledge: Knowledge) -> None:
    ours = sorted(
        pattern
        for signature in knowledge.signatures.values()
        for pattern in _log_patterns((signature.clues, signature.against))
        if patterns.literals(pattern)
    )
    assert len(ours) > 20, "the signatures hold patterns"

    @settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(ours), st.data())
    def check(pattern: str, data: st.DataObject) -> None:
        text = data.draw(st.from_regex(re.compile("(?m)" + pattern, re.ASCII)))
        match = patterns.compile(pattern).search(text)
        assume(match is not None)
        assert match is not None
        assert _allows(pattern, match.group())

    check()
