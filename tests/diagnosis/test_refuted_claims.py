"""Claims that people read about a crash: one line says what is true, and nothing where the claim may hold."""

from __future__ import annotations

import pytest
from building import knowledge_of, signature_data
from conftest import LOGS

import triage
from triage.knowledge.database import Knowledge


def claims_of(knowledge: Knowledge, log: str, exit_code: str | int | None = None) -> list[int]:
    return [one.claim for one in triage.analyze(log.encode(), exit_code=exit_code, knowledge=knowledge).hearsay]


@pytest.mark.parametrize(
    ("log", "exit_code", "claim"),
    [
        ("Epoch 1/5", "0xC0000409", 2),
        ("Epoch 1/5", "0xC0000409", 3),
        ("UnknownError: Failed to get convolution algorithm. This is probably because cuDNN failed", 1, 15),
        ("ValueError: Computed output size would be zero or negative. Received: `inputs shape=(1, 2, 2, 3)`", 1, 16),
        ('Current thread:\n  File "/x/tensorflow/python/ops.py", line 1 in matmul\ntensorflow/core', 139, 48),
    ],
)
def test_a_refuted_claim_is_answered_where_it_would_be_found(knowledge, log, exit_code, claim):
    assert claim in claims_of(knowledge, log, exit_code)


def test_a_full_stack_is_not_denied(knowledge):
    assert not claims_of(knowledge, "Epoch 1/5", "0xC00000FD")


def test_a_failed_check_may_well_be_a_shape(knowledge):
    shown = claims_of(knowledge, "F tensorflow/core/util/tensor_format.h:428] Check failed: index >= 0", "0xC0000409")
    assert 3 not in shown


@pytest.mark.parametrize("name", ["fit-2.21.log"])
def test_nothing_is_said_where_nothing_died(knowledge, name):
    report = triage.analyze(LOGS / "healthy" / name, knowledge=knowledge)
    assert report.verdict == "no-crash"
    assert report.hearsay == ()


def test_a_crash_without_tensorflow_gets_no_line_about_shapes(knowledge):
    assert claims_of(knowledge, "Segmentation fault", 139) == []


def test_at_most_two_lines_and_those_about_a_message_come_first() -> None:
    claims = {
        number: {"document": None, "says": "x", "grade": "refuted", "outcome": "y", "heard_when": when, "instead": "no"}
        for number, when in enumerate([{"exit": "SIGABRT"}, {"log": "the first word"}, {"log": "second word"}], 1)
    }
    known = knowledge_of({"a/a": signature_data(cause="a.a")}, documents={"claims": claims})
    assert claims_of(known, "the first word and the second word", 134) == [2, 3]


def test_a_likely_cause_that_the_claim_names_keeps_the_line_away() -> None:
    claim = {"document": None, "says": "x", "grade": "refuted", "outcome": "y", "instead": "no"}
    claim |= {"heard_when": {"exit": "SIGABRT"}, "except_for": ["a"]}
    known = knowledge_of({"a/a": signature_data(cause="a.a")}, documents={"claims": {1: claim}})
    assert claims_of(known, "something else", 134) == [1]
    assert claims_of(known, "the house scheduler took the node away", 134) == []
