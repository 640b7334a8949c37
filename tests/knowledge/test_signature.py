"""The signature model: what a YAML file becomes, and what is refused, where, and with which advice."""

from __future__ import annotations

from typing import Any

import pytest
from building import signature, signature_data

from triage.clues.interface import SignatureError
from triage.knowledge.signature import GRADES, ExampleLog, Fix, parse_signature


def test_a_signature_is_what_its_file_says() -> None:
    found = signature("house/scheduler", applies={"os": ["linux", "windows"], "device": "cpu"}, confirm=["halve_batch"])
    assert (found.id, found.pack, found.cause, found.grade) == (
        "house/scheduler",
        "test",
        "host.out-of-memory",
        "claimed",
    )
    assert found.os == ("linux", "windows")
    assert found.confirm == ("halve_batch",)
    assert found.fix == (Fix("Ask for a longer slot.", None, {}, "low", "the job ends by itself"),)
    assert found.matches == (ExampleLog("fixtures/logs/taken.log", None, None),)
    assert found.differs == (ExampleLog("fixtures/logs/other.log", None, "unknown"),)


def test_a_single_system_needs_no_list() -> None:
    assert signature(applies={"os": "windows"}).os == ("windows",)


def test_a_signature_that_names_no_system_applies_everywhere() -> None:
    assert signature().os == ()


def test_the_exit_status_of_a_test_may_be_written_as_a_number() -> None:
    tests = {"match": [{"log": "a.log", "exit": -1073740791}], "differ": [{"log": "b.log", "exit": "SIGSEGV"}]}
    found = signature(tests=tests)
    assert found.matches == (ExampleLog("a.log", "-1073740791", None),)
    assert found.differs == (ExampleLog("b.log", "SIGSEGV", None),)


def test_a_clue_against_is_by_default_seldom_seen_with_the_cause() -> None:
    found = signature(against=[{"id": "plenty", "memory": "peak_below_half"}])
    assert found.against[0].p < found.against[0].b


def test_risk_is_low_by_default() -> None:
    assert signature(fix=[{"do": "Wait.", "verify": "it is over"}]).fix[0].risk == "low"


@pytest.mark.parametrize("grade", GRADES)
def test_every_grade_of_the_design_is_accepted(grade: str) -> None:
    assert signature(grade=grade, note="what really happens").grade == grade


@pytest.mark.parametrize("field", ["title", "cause", "grade", "clues", "fix", "sources", "tests"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(SignatureError, match=f"'{field}' is missing") as refused:
        signature(**{field: None})
    assert field in refused.value.instead


REFUSED = [
    ({"colour": "red"}, ("colour",), "unknown field 'colour'"),
    ({"grade": "certain"}, ("grade",), "unknown grade 'certain'"),
    ({"grade": "refuted"}, ("grade",), "a refuted claim says why"),
    ({"clues": {"log": "x"}}, ("clues",), "'clues' is a list"),
    ({"fix": "reboot"}, ("fix",), "'fix' is a list"),
    ({"sources": "a friend"}, ("sources",), "'sources' is a list"),
    ({"applies": {"planet": "earth"}}, ("applies",), "'applies' holds os, device and framework"),
    ({"fix": [{"risk": "low", "verify": "x"}]}, ("fix", 0), "says what to do"),
    ({"fix": [{"do": "x"}]}, ("fix", 0), "without 'verify'"),
    ({"fix": [{"do": "x", "verify": "y", "risk": "none"}]}, ("fix", 0, "risk"), "unknown risk 'none'"),
    ({"fix": [{"do": "x", "verify": "y", "cost": 3}]}, ("fix", 0, "cost"), "unknown field 'cost'"),
    ({"clues": [{"log": "fine"}, {"smell": "x"}]}, ("clues", 1, "smell"), "unknown clue kind 'smell'"),
    ({"against": [{"smell": "x"}]}, ("against", 0, "smell"), "unknown clue kind 'smell'"),
    ({"tests": {"match": [{"exit": 1}]}}, ("tests", "match", 0), "a test names a log"),
    ({"tests": {"differ": [{"log": "a", "code": 1}]}}, ("tests", "differ", 0), "a test names a log"),
    ({"tests": {"match": "fixtures/logs/a.log"}}, ("tests", "match"), "'match' is a list"),
    ({"against": 5}, ("against",), "'against' is a list"),
    ({"confirm": 5}, ("confirm",), "'confirm' is a list"),
    ({"sources": ["a claim from a friend"]}, ("sources", 0), "a source is a mapping"),
]


@pytest.mark.parametrize(("changes", "path", "what"), REFUSED, ids=[what for _, _, what in REFUSED])
def test_what_cannot_be_used_is_refused_with_its_place(
    changes: dict[str, Any], path: tuple[Any, ...], what: str
) -> None:
    with pytest.raises(SignatureError) as refused:
        signature(**changes)
    assert what in refused.value.what
    assert refused.value.path == path
    assert refused.value.instead


@pytest.mark.parametrize("data", [None, "text", ["title", "cause"], 3])
def test_a_file_that_is_not_a_mapping_is_refused(data: Any) -> None:
    with pytest.raises(SignatureError, match="a signature is a mapping"):
        parse_signature("house/x", "test", data)


def test_the_signature_that_these_tests_change_is_flawless() -> None:
    assert parse_signature("house/x", "test", signature_data()).id == "house/x"
