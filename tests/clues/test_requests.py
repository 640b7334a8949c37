"""What would be asked for where a clue cannot be looked for: a type, for which every sentence is there."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from building import clue, crash_of

from triage.clues import KINDS
from triage.clues.facts import Facts
from triage.clues.interface import Observable, Request, Way
from triage.diagnosis.alternatives import NEEDS
from triage.diagnosis.next_steps import ASK, COMMANDS, TROUBLE
from triage.report import EvidenceKind

COMBINATORS = {"any", "sequence", "thread"}


def test_every_kind_that_does_not_combine_others_says_what_it_needs() -> None:
    assert {name for name, kind in KINDS.items() if kind.request is None} == COMBINATORS


def test_whatever_may_be_missing_has_a_question_and_a_name() -> None:
    assert set(ASK) == set(NEEDS) == set(get_args(Observable))
    assert set(get_args(EvidenceKind)) == {*get_args(Observable), "hidden log"}


def test_every_way_to_get_it_has_a_command_and_a_price() -> None:
    assert set(COMMANDS) == set(TROUBLE) == set(get_args(Way))


def test_no_two_kinds_ask_for_the_same_thing_in_two_ways() -> None:
    requests = {kind.request for kind in KINDS.values() if kind.request}
    assert len(requests) == len({request.what for request in requests})


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ({"exit": "SIGSEGV"}, ["exit status"]),
        ({"exception": "MemoryError"}, ["log"]),
        ({"any": [{"native": "f"}, {"exit": "SIGSEGV"}]}, ["exit status", "native stack"]),
        ({"any": [{"log": "words"}, {"exception": "E"}]}, ["log"]),
        ({"sequence": [{"log": "a"}, {"any": [{"memory": "oom_killed"}, {"log": "b"}]}]}, ["log", "memory figures"]),
    ],
)
def test_what_is_missing_for_a_clue_is_listed_once_also_inside_combinators(
    written: dict[str, Any], missing: list[str]
) -> None:
    assert [request.what for request in Facts(crash_of()).missing(clue(written))] == missing


def test_what_can_be_seen_is_not_asked_for() -> None:
    facts = Facts(crash_of("some words", exit="SIGSEGV"))
    wanted = clue({"any": [{"log": "other words"}, {"exit": "SIGFPE"}, {"native": "f"}]})
    assert facts.missing(wanted) == (Request("native stack", "run again", of_a_crash=True),)
