"""Causes that a person would suspect, and why it is not them."""

from __future__ import annotations

from typing import Any

from building import crash_of, signature_data
from building import knowledge_of as known
from conftest import LOGS

import triage
from triage.crash import Crash, Memory
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.report import RuledOut

FOUND = {"id": "found", "log": "the telling words", "p": 0.95, "b": 0.0005}
HALLMARK = {"id": "hallmark", "log": "its own words", "p": 0.95, "b": 0.001, "says": "it says its own words"}
SUSPECTED = {"explanations": {"statuses": {"SIGSEGV": {"means": "x", "causes": ["b.suspect"]}}}}
ALIKE = {
    "a.found": {"title": "Found", "prior": 0.05, "mistaken_for": {"b.suspect": "they look alike"}},
    "b.suspect": {"title": "Suspect", "prior": 0.05},
}
NOT_ALIKE = {**ALIKE, "a.found": {"title": "Found", "prior": 0.05}}


def knowledge_with(
    suspect: dict[str, Any], *more: dict[str, Any], causes: dict[str, Any] = ALIKE, **changes: Any
) -> Knowledge:
    """`a.found` shows by the telling words; `b.suspect` is the usual cause of SIGSEGV and shows by these clues."""
    signatures = {
        "a/found": signature_data(title="Found", cause="a.found", clues=[FOUND]),
        "b/suspect": signature_data(title="Suspect", cause="b.suspect", clues=[suspect], **changes),
    }
    for number, clue in enumerate(more):
        signatures[f"b/more-{number}"] = signature_data(title=f"More {number}", cause="b.suspect", clues=[clue])
    return known(signatures, causes=causes, **SUSPECTED)


def ruled_out(crash: Crash, knowledge: Knowledge) -> tuple[RuledOut, ...]:
    return diagnose(crash, knowledge, version="test").ruled_out


def test_the_usual_suspect_of_a_signal_is_ruled_out_when_its_hallmark_is_missing() -> None:
    found = ruled_out(crash_of("the telling words", exit="139"), knowledge_with(HALLMARK))
    assert found == (RuledOut("b.suspect", "nothing shows that it says its own words"),)


def test_a_cause_that_nobody_would_suspect_is_not_mentioned() -> None:
    assert ruled_out(crash_of("the telling words", exit="134"), knowledge_with(HALLMARK)) == ()
    assert ruled_out(crash_of("the telling words"), knowledge_with(HALLMARK)) == ()


def test_a_usual_suspect_that_nobody_mistakes_for_the_answer_is_not_mentioned() -> None:
    alike = {**NOT_ALIKE, "b.suspect": {**ALIKE["b.suspect"], "mistaken_for": {"a.found": "they look alike"}}}
    crash = crash_of("the telling words", exit="139")
    assert ruled_out(crash, knowledge_with(HALLMARK, causes=NOT_ALIKE)) == ()
    assert ruled_out(crash, knowledge_with(HALLMARK, causes=alike)) != ()


def test_where_there_is_no_answer_the_usual_suspects_are_told() -> None:
    found = ruled_out(crash_of("other words", exit="139"), knowledge_with(HALLMARK, causes=NOT_ALIKE))
    assert found == (RuledOut("b.suspect", "nothing shows that it says its own words"),)


def test_a_hallmark_that_could_not_be_seen_rules_nothing_out() -> None:
    frame = {"id": "frame", "native": "MklConvOp", "p": 0.95}
    assert ruled_out(crash_of("the telling words", exit="139"), knowledge_with(frame)) == ()


def test_a_clue_that_is_often_missing_rules_nothing_out() -> None:
    assert ruled_out(crash_of("the telling words", exit="139"), knowledge_with({**HALLMARK, "p": 0.8})) == ()


def test_every_way_in_which_the_suspect_shows_must_be_out() -> None:
    frame = {"id": "frame", "native": "MklConvOp", "p": 0.95}
    assert ruled_out(crash_of("the telling words", exit="139"), knowledge_with(HALLMARK, frame)) == ()


def test_a_cause_whose_line_another_one_explains_is_ruled_out_with_that_reason() -> None:
    late = {**HALLMARK, "consequence_of": ["a.found"]}
    found = ruled_out(crash_of("the telling words", "its own words"), knowledge_with(late))
    assert found == (RuledOut("b.suspect", "its line is explained by a.found"),)


def test_a_cause_that_was_seen_but_that_something_speaks_against_is_ruled_out_with_that_reason() -> None:
    against = [{"id": "no", "log": "plenty was left", "p": 0.0001, "b": 0.5, "says": "there was plenty left"}]
    knowledge = knowledge_with({**HALLMARK, "p": 0.5, "b": 0.2}, against=against)
    found = ruled_out(crash_of("the telling words", "its own words", "plenty was left"), knowledge)
    assert found == (RuledOut("b.suspect", "there was plenty left"),)


def test_a_reason_has_its_numbers_and_all_that_speaks_against() -> None:
    against = [
        {"id": "little", "memory": "peak_below_half", "p": 0.01, "b": 0.6, "says": "the peak was {peak} of {limit}"},
        {"id": "less", "memory": "peak_below_limit", "p": 0.4, "b": 0.85, "says": "the peak was below the limit"},
        {"id": "none", "memory": "not_oom_killed", "p": 0.1, "b": 0.95, "says": "no kill was counted"},
    ]
    killed = {"id": "killed", "exit": "SIGSEGV", "p": 0.5}
    found = ruled_out(
        crash_of("x", exit="139", memory=Memory(1 << 20, 4 << 30, None, 0)), knowledge_with(killed, against=against)
    )
    assert found == (RuledOut("b.suspect", "the peak was 1.0 MiB of 4.0 GiB, and no kill was counted"),)


def test_a_status_alone_makes_nobody_suspect_a_cause_that_its_page_does_not_name() -> None:
    against = [{"id": "no", "log": "plenty was left", "p": 0.0001, "b": 0.5, "says": "there was plenty left"}]
    knowledge = knowledge_with({"id": "abort", "exit": "SIGABRT", "p": 0.5}, against=against)
    assert ruled_out(crash_of("the telling words", "plenty was left", exit="134"), knowledge) == ()


def test_a_hallmark_without_a_sentence_is_named() -> None:
    found = ruled_out(crash_of("the telling words", exit="139"), knowledge_with({**HALLMARK, "says": None}))
    assert found == (RuledOut("b.suspect", "there is no sign of it (hallmark)"),)


def test_a_diagnosis_is_not_also_ruled_out() -> None:
    knowledge = knowledge_with({**HALLMARK, "b": 0.01})
    report = diagnose(crash_of("the telling words", "its own words", exit="139"), knowledge, version="test")
    assert "b.suspect" in [d.cause for d in report.diagnoses]
    assert report.ruled_out == ()


def test_where_nothing_died_nothing_is_ruled_out() -> None:
    assert ruled_out(crash_of("the telling words", exit="0"), knowledge_with(HALLMARK)) == ()


def test_the_cudnn_handle_is_explained_by_the_two_versions(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "composed" / "cudnn-version.log", knowledge=knowledge)
    assert RuledOut("gpu.cudnn-init-memory", "its line is explained by gpu.cudnn-version-mismatch") in report.ruled_out


def test_a_line_that_the_first_answer_takes_for_its_own_evidence_rules_nothing_out() -> None:
    both = {**FOUND, "log": "the telling words"}
    late = {**HALLMARK, "log": "telling words", "consequence_of": ["a.found"]}
    signatures = {
        "a/found": signature_data(title="Found", cause="a.found", clues=[both]),
        "b/suspect": signature_data(title="Suspect", cause="b.suspect", clues=[late]),
    }
    priors = {"a.found": 0.05, "b.suspect": 0.05}
    assert ruled_out(crash_of("the telling words"), known(signatures, priors)) == ()
    late["log"] = "words of its own"
    found = ruled_out(crash_of("the telling words", "words of its own"), known(signatures, priors))
    assert found == (RuledOut("b.suspect", "its line is explained by a.found"),)
