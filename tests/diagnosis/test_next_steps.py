"""What to find out next where the evidence does not decide: few questions, the most useful first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from building import crash_of, crashed_thread, signature_data
from building import knowledge_of as known
from conftest import LOGS

import triage
from triage.clues.log import LogSeen
from triage.crash import Crash
from triage.diagnosis import diagnose
from triage.diagnosis.next_steps import Awaited, expected_gain
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, Question

WORDS = {"id": "words", "log": "the telling words", "p": 0.9, "b": 0.001}


def questions(crash: Crash, *clues: dict[str, Any], **tables: Any) -> tuple[Question, ...]:
    """The questions of a knowledge with one cause that shows by these clues."""
    knowledge = known({"a/a": signature_data(cause="a.a", clues=list(clues))}, **tables)
    return diagnose(crash, knowledge, version="test").next


def test_a_diagnosis_asks_nothing() -> None:
    knowledge = known({"a/a": signature_data(cause="a.a", clues=[WORDS, {"exit": "SIGSEGV"}])}, {"a.a": 0.5})
    report = diagnose(crash_of("the telling words"), knowledge, version="test")
    assert (report.verdict, report.next) == (DIAGNOSED, ())


def test_no_crash_asks_nothing(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "healthy" / "fit-2.21.log", exit_code=0, knowledge=knowledge)
    assert (report.verdict, report.next) == (NO_CRASH, ())


@pytest.mark.parametrize(
    ("clue", "asks"),
    [
        ({"exit": "SIGFPE"}, "exit code"),
        ({"native": "MklConvOp"}, "native function"),
        ({"python": {"file": "ctypes"}}, "Python line"),
        ({"memory": "oom_killed"}, "for memory"),
        ({"module": "cudnn"}, "cuDNN and CUDA libraries"),
        ({"environment": {"os": "windows"}}, "Which system"),
    ],
)
def test_a_kind_of_clue_that_the_inputs_do_not_hold_is_asked_for(clue: dict[str, Any], asks: str) -> None:
    # Only of a death is anybody asked which native function crashed.
    crash = crash_of("nothing known", exit="SIGSEGV" if "native" in clue else None)
    (question,) = questions(crash, {"p": 0.9, "b": 0.01, **clue})
    assert asks in question.ask
    assert question.run
    assert question.would_separate == ("a.a",)


def test_where_nothing_is_known_to_have_died_nobody_is_asked_where_it_crashed() -> None:
    assert questions(crash_of("nothing known"), {"native": "MklConvOp", "p": 0.9, "b": 0.01}) == ()


def test_a_status_that_is_known_is_not_asked_for_because_its_subcode_is_not() -> None:
    subcode = {"exit": {"status": "0xC0000409", "subcode": [2]}, "p": 0.9, "b": 0.01}
    assert questions(crash_of("nothing known", exit="0xC0000409"), subcode) == ()


def test_a_clue_inside_any_is_asked_for_too() -> None:
    wordings = {"id": "wordings", "any": [{"log": "one wording"}, {"log": "another wording"}], "p": 0.9}
    (question,) = questions(crash_of(exit="3"), wordings)
    assert "log" in question.ask


def test_what_is_there_is_not_asked_for() -> None:
    thread = crashed_thread(native=("raise",), python=("train.py:main",))
    crash = crash_of("nothing known", exit="3", threads=(thread,))
    clues = [WORDS, {"exit": "SIGFPE"}, {"native": "MklConvOp"}, {"python": {"file": "ctypes"}}]
    assert questions(crash, *clues) == ()


def test_the_question_that_separates_most_comes_first() -> None:
    faint, strong = {"memory": "oom_killed", "p": 0.3, "b": 0.2}, {"native": "MklConvOp", "p": 0.95, "b": 0.01}
    asked = questions(crash_of("nothing known", exit="3"), faint, strong)
    assert ["native function" in asked[0].ask, "for memory" in asked[1].ask] == [True, True]


def test_the_advice_for_the_exit_status_comes_before_everything() -> None:
    pages = {"statuses": {"SIGSEGV": {"means": "x", "next": "Run it with faulthandler.", "causes": ["a.a"]}}}
    asked = questions(crash_of(exit="139"), WORDS, explanations=pages)
    assert asked[0] == Question("Run it with faulthandler.", None, ("a.a",))
    assert len(asked) == 2


def test_there_are_at_most_three_questions() -> None:
    clues = [
        WORDS,
        {"native": "MklConvOp"},
        {"python": {"file": "ctypes"}},
        {"memory": "oom_killed"},
        {"module": "cudnn"},
    ]
    assert len(questions(crash_of(exit="3"), *clues)) == 3


def test_an_unknown_crash_is_never_left_without_a_next_step(knowledge: Knowledge) -> None:
    assert triage.analyze(LOGS / "bus_error-2.21.log", exit_code=-7, knowledge=knowledge).next


def test_every_triage_command_that_a_question_names_exists(knowledge: Knowledge, run_triage: Any) -> None:
    asked = triage.analyze(b"nothing known", knowledge=knowledge).next
    commands = {command for q in asked for command in re.findall(r"triage (\w+)", q.run.line() if q.run else "")}
    assert commands == {"analyze", "run"}
    assert all(run_triage(command, "--help").returncode == 0 for command in commands)


def test_on_windows_too_a_run_under_triage_is_what_answers(knowledge: Knowledge) -> None:
    log = b"some words of the program\nProcess finished with exit code -1073741819 (0xC0000005)\n"
    report = triage.analyze(log, knowledge=knowledge)
    assert report.crash.environment.os == "windows"
    commands = [question.run.line("windows") for question in report.next if question.run]
    assert any(command.startswith("triage run ") for command in commands)
    assert not any("faulthandler" in command for command in commands)


def test_what_separates_two_causes_teaches_more_than_what_both_show() -> None:
    shares = {"a.a": 0.45, "b.b": 0.45}
    one, both = LogSeen("one"), LogSeen("both")
    separating = expected_gain(shares, {"a.a": Awaited(one, 0.9, 0.01)})
    shared = expected_gain(shares, {"a.a": Awaited(both, 0.9, 0.01), "b.b": Awaited(both, 0.9, 0.01)})
    assert separating > shared > 0
    assert abs(expected_gain(shares, {"a.a": Awaited(one, 0.3, 0.3)})) < 1e-9
