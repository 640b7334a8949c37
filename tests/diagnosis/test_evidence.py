"""The ranking in words: what speaks for a cause, what against it, and its fix with the numbers filled in."""

from __future__ import annotations

from typing import Any

import pytest
from building import crash_of, signature_data
from building import knowledge_of as known

import triage
from triage.crash import Command, Environment, Place
from triage.diagnosis import diagnose
from triage.diagnosis.evidence import source_name
from triage.diagnosis.ranking import OTHER_SYSTEM
from triage.knowledge.database import Knowledge
from triage.phrases import fill, placeholders
from triage.report import Diagnosis

LABEL = {
    "id": "label",
    "log": r"label (?P<label>-?\d+) of \[0, (?P<classes>\d+)\)",
    "p": 0.9,
    "b": 0.001,
    "says": "label {label} came where {classes} are known",
}


def first(
    *lines: str, clues: list[dict[str, Any]] | None = None, facts: dict[str, Any] | None = None, **changes: Any
) -> Diagnosis:
    """The diagnosis of these lines by a single signature."""
    data = signature_data(clues=clues or [LABEL], **changes)
    report = diagnose(crash_of(*lines, **(facts or {})), known({"a/a": data}, {data["cause"]: 0.5}), version="test")
    return report.diagnoses[0]


# for and against


def test_a_reason_says_what_was_seen_where_and_how_much_it_weighs() -> None:
    (reason,) = first("starting", "label 12 of [0, 10)").because
    assert reason.text == "label 12 came where 10 are known"
    assert reason.place == Place(0, 2)
    assert reason.weight == pytest.approx(6.8, abs=0.01)


def test_a_clue_without_words_of_its_own_is_quoted() -> None:
    (reason,) = first("starting", "  label 12   of [0, 10)", clues=[{**LABEL, "log": "label 12", "says": None}]).because
    assert reason.text == "label 12 of [0, 10)"


def test_words_whose_placeholder_nothing_fills_give_way_to_the_line_itself() -> None:
    clues = [{**LABEL, "says": "label {label} of {unheard_of}"}]
    assert first("label 12 of [0, 10)", clues=clues).because[0].text == "label 12 of [0, 10)"


WORDINGS = {
    "id": "refused",
    "any": [
        {"id": "of-the-disk", "log": "no space left", "says": "the disk refused"},
        {"log": "no memory left"},
    ],
    "p": 0.9,
    "b": 0.001,
    "says": "something refused",
}


def test_each_wording_may_have_its_own_sentence_and_the_others_share_one() -> None:
    assert first("no space left", clues=[WORDINGS]).because[0].text == "the disk refused"
    assert first("no memory left", clues=[WORDINGS]).because[0].text == "something refused"


def test_of_two_wordings_in_one_line_the_one_that_is_written_first_has_the_word() -> None:
    of_the_quota = {"log": "space left in the quota", "says": "the quota refused"}
    clue = {**WORDINGS, "any": [of_the_quota, *WORDINGS["any"]]}
    assert first("no space left in the quota", clues=[clue]).because[0].text == "the quota refused"
    assert first("no space left", "space left in the quota", clues=[clue]).because[0].text == "the disk refused"


def test_a_step_may_be_for_those_who_met_one_wording() -> None:
    fix = [
        {"do": "Free the disk.", "risk": "low", "verify": "df", "for": {"seen": "of-the-disk"}},
        {"do": "Ask for less.", "risk": "low", "verify": "it passes"},
    ]
    in_order = {"sequence": [{"log": "starting"}, {"any": WORDINGS["any"]}], "id": "then", "p": 0.9, "b": 0.001}
    for clue in (WORDINGS, in_order):
        steps = first("starting", "no space left", clues=[clue], fix=fix).fix
        assert [step.do for step in steps] == ["Free the disk.", "Ask for less."]
        steps = first("starting", "no memory left", clues=[clue], fix=fix).fix
        assert [step.do for step in steps] == ["Ask for less."]


def test_a_long_line_is_shortened() -> None:
    clues = [{"id": "long", "log": "a very long", "p": 0.9, "b": 0.001}]
    text = first("a very long " + "line " * 200, clues=clues).because[0].text
    assert len(text) <= 160
    assert text.endswith("…")


def test_the_strongest_reason_comes_first() -> None:
    weak = {"id": "weak", "log": "starting", "p": 0.5, "b": 0.1, "says": "it started"}
    reasons = first("starting", "label 12 of [0, 10)", clues=[weak, LABEL]).because
    assert [reason.text for reason in reasons] == ["label 12 came where 10 are known", "it started"]


def test_what_speaks_against_is_listed_with_its_weight() -> None:
    against = [{"id": "map", "log": "labels were mapped", "p": 0.05, "b": 0.5, "says": "the labels had been mapped"}]
    (reason,) = first("label 12 of [0, 10)", "labels were mapped", against=against).against
    assert (reason.text, reason.place) == ("the labels had been mapped", Place(0, 2))
    assert reason.weight < 0


def test_a_clue_that_is_nearly_always_there_is_listed_when_it_is_missing() -> None:
    missing = {"id": "end-of-epoch", "log": "never printed", "p": 0.95, "b": 0.01}
    (reason,) = first("label 12 of [0, 10)", clues=[LABEL, missing]).against
    assert reason.text == "not seen: end of epoch"
    assert reason.place is None


def test_a_clue_that_is_often_missing_is_not_worth_a_line() -> None:
    often = {"id": "sometimes", "log": "never printed", "p": 0.3, "b": 0.01}
    assert first("label 12 of [0, 10)", clues=[LABEL, often]).against == ()


def test_other_wordings_of_what_was_seen_do_not_speak_against_it() -> None:
    other = {"id": "other", "log": "the same in other words", "p": 0.7, "b": 0.001, "says": "it says so"}
    assert first("label 12 of [0, 10)", clues=[LABEL, other]).against == ()


def test_what_is_missing_is_never_told_as_if_it_had_been_seen() -> None:
    missing = {"id": "end", "log": "never printed", "p": 0.95, "b": 0.01, "says": "the epoch came to its end"}
    (reason,) = first("label 12 of [0, 10)", clues=[LABEL, missing]).against
    assert reason.text == "nothing shows that the epoch came to its end"


FAULT = {"id": "fault", "exit": "SIGSEGV", "p": 0.9, "b": 0.3}


def test_of_a_cause_for_which_only_the_end_speaks_no_more_is_told_than_its_name() -> None:
    ends = {f"b/{name}": signature_data(title="One way", cause=f"b.{name}", clues=[FAULT]) for name in ("x", "y")}
    report = diagnose(crash_of("nothing else", exit="139"), known(ends, {"b.x": 0.1, "b.y": 0.1}), version="t")
    assert [diagnosis.title for diagnosis in report.diagnoses] == ["About b.x", "About b.y"]


def test_beside_what_is_found_an_unlikely_cause_for_which_only_the_end_speaks_is_not_named() -> None:
    weak = {"id": "weak", "log": "starting", "p": 0.3, "b": 0.05}
    signatures = {
        "a/label": signature_data(title="Label", cause="a.label", clues=[LABEL]),
        "b/end": signature_data(title="End", cause="b.end", clues=[FAULT]),
        "b/words": signature_data(title="Words", cause="b.words", clues=[weak]),
    }
    priors = {"a.label": 0.05, "b.end": 0.3, "b.words": 0.3}
    report = diagnose(crash_of("starting", "label 12 of [0, 10)", exit="139"), known(signatures, priors), version="t")
    assert [diagnosis.cause for diagnosis in report.diagnoses] == ["a.label", "b.words"]


def test_a_clue_that_could_not_be_seen_is_not_listed_as_missing() -> None:
    unseen = {"id": "frame", "native": "MklConvOp", "p": 0.95}
    assert first("label 12 of [0, 10)", clues=[LABEL, unseen]).against == ()


def test_without_a_log_no_line_is_listed_as_missing(knowledge: Knowledge) -> None:
    report = triage.analyze(exit_code="SIGABRT", top=50, knowledge=knowledge)
    assert report.diagnoses
    assert [(d.cause, reason.text) for d in report.diagnoses for reason in d.against] == []


def test_a_cause_of_another_system_is_named_as_such() -> None:
    facts = {"environment": Environment(os="linux")}
    (reason,) = first("label 12 of [0, 10)", applies={"os": ["windows", "macos"]}, facts=facts).against
    assert reason.text == "this cause is known on windows, macos only"
    assert reason.weight == OTHER_SYSTEM


def test_a_line_that_another_cause_explains_is_shown_as_explained() -> None:
    late = {"id": "late", "log": "the second words", "p": 0.9, "b": 0.01, "consequence_of": ["a.root"]}
    own = {"id": "own", "log": "the third words", "p": 0.9, "b": 0.01}
    knowledge = known(
        {
            "a/root": signature_data(title="Root", cause="a.root", clues=[LABEL]),
            "b/late": signature_data(title="Late", cause="b.late", clues=[late, own]),
        },
        {"a.root": 0.02, "b.late": 0.3},
    )
    report = diagnose(crash_of("label 12 of [0, 10)", "the second words", "the third words"), knowledge, version="t")
    (late_one,) = [d for d in report.diagnoses if d.cause == "b.late"]
    assert late_one.against[0].text == "'the second words' is explained by a.root"
    assert late_one.against[0].weight == 0.0


# the fix


def step(do: str, **more: Any) -> dict[str, Any]:
    return {"do": do, "risk": "low", "verify": "it passes", **more}


def test_a_fix_is_filled_with_what_was_caught_and_what_follows_from_it() -> None:
    fix = [step("Label {label}: {label_advice}", otherwise="Map the labels.", run="grep {label} labels.txt")]
    (filled,) = first("label 12 of [0, 10)", fix=fix).fix
    assert filled.do.startswith("Label 12: Label 12 is outside the classes of the last layer")
    assert filled.run == "grep 12 labels.txt"


def test_a_fix_that_cannot_be_filled_says_it_without_numbers() -> None:
    fix = [step("Lower it to {largest_batch}.", otherwise="Lower it.", run="echo {largest_batch}")]
    (filled,) = first("label 12 of [0, 10)", fix=fix).fix
    assert (filled.do, filled.run) == ("Lower it.", None)


@pytest.mark.parametrize(
    ("system", "command", "shown"),
    [
        ("linux", "python SCRIPT", "python 'my train.py' 'a b'"),
        ("linux", "triage run --framework-log SCRIPT", "triage run --timeout 60 --framework-log 'my train.py' 'a b'"),
        ("linux", "python -m py_compile SCRIPT.py", "python -m py_compile 'my train.py'"),
        ("windows", "python -m py_compile SCRIPT.py", 'python -m py_compile "my train.py"'),
        ("linux", "node SCRIPT.js", "node SCRIPT.js"),
    ],
)
def test_the_command_of_a_fix_names_the_script_that_was_run(system: str, command: str, shown: str) -> None:
    facts = {
        "environment": Environment(os=system),
        "rerun": Command(("my train.py", "a b")),
        "run_options": ("--timeout", "60"),
    }
    (fix,) = first("label 12 of [0, 10)", fix=[step("Try.", run=command)], facts=facts).fix
    assert fix.run == shown


def test_the_command_of_a_fix_starts_a_command_that_was_run_as_given_as_it_is() -> None:
    facts = {"rerun": Command(("--", "make", "train")), "environment": Environment(os="linux")}
    (fix,) = first("label 12 of [0, 10)", fix=[step("Try.", run="A=1 python SCRIPT")], facts=facts).fix
    assert fix.run == "A=1 make train"


def test_a_fix_that_needs_an_unknown_value_is_left_out() -> None:
    assert first("label 12 of [0, 10)", fix=[step("Lower it to {largest_batch}."), step("Wait.")]).fix[0].do == "Wait."


def test_values_of_the_first_clue_beat_those_of_later_ones() -> None:
    later = {"id": "later", "log": r"and label (?P<label>\d+)", "p": 0.9, "b": 0.0001}
    fix = [step("See {label}.", otherwise="See.")]
    assert first("and label 99", "label 12 of [0, 10)", clues=[LABEL, later], fix=fix).fix[0].do == "See 12."


def test_what_was_caught_is_never_filled_again() -> None:
    assert fill("{a}", {"a": "{b}", "b": "no"}) == "{b}"


def test_a_text_is_filled_wholly_or_not_at_all() -> None:
    assert fill("{a} of {b}", {"a": "1"}) is None
    assert fill("no placeholders", {}) == "no placeholders"
    assert placeholders("{a} of {b_c}, {D} {0}") == {"a", "b_c"}


# the diagnosis


def test_no_evidence_makes_anything_certain() -> None:
    sure = [{"id": f"clue-{n}", "log": f"telling words {n}", "p": 0.99, "b": 0.0001} for n in range(5)]
    assert first(*(f"telling words {n}" for n in range(5)), clues=sure).confidence == 0.99


def test_causes_are_listed_in_order_and_only_as_many_as_asked_for() -> None:
    signatures = {
        f"{slug}/x": signature_data(title=slug, cause=f"{slug}.x", clues=[{**LABEL, "p": p}])
        for slug, p in (("a", 0.3), ("b", 0.9), ("c", 0.6))
    }
    knowledge = known(signatures, {"a.x": 0.1, "b.x": 0.1, "c.x": 0.1})
    report = diagnose(crash_of("label 12 of [0, 10)"), knowledge, version="test", top=2)
    assert [(d.rank, d.cause) for d in report.diagnoses] == [(1, "b.x"), (2, "c.x")]


def test_a_cause_less_likely_than_one_percent_is_left_out() -> None:
    faint = {"id": "faint", "log": "label", "p": 0.2, "b": 0.1}
    signatures = {
        "a/x": signature_data(title="a", cause="a.x", clues=[LABEL]),
        "b/x": signature_data(title="b", cause="b.x", clues=[faint]),
    }
    report = diagnose(crash_of("label 12 of [0, 10)"), known(signatures, {"a.x": 0.5}), version="test")
    assert [d.cause for d in report.diagnoses] == ["a.x"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"document": "002.txt", "claim": 30}, "document 002.txt, claim 30"),
        ({"reproducer": "fixtures/crashers/killed.py"}, "reproducer fixtures/crashers/killed.py"),
        ({"issue": "tensorflow/tensorflow#24496"}, "issue tensorflow/tensorflow#24496"),
    ],
)
def test_a_source_is_one_short_text(source: dict[str, Any], words: str) -> None:
    assert source_name(source) == words


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_log_with_an_absurd_number_is_still_answered(digits: int, knowledge: Knowledge) -> None:
    shape = f"{'9' * digits},2"
    line = (
        f"OOM when allocating tensor with shape[{shape}] and type float on /job:localhost/device:CPU:0 by allocator cpu"
    )
    report = triage.analyze(line.encode(), exit_code=1, knowledge=knowledge)
    assert report.diagnoses[0].cause == "host.out-of-memory"


def test_a_version_at_the_end_of_a_sentence_comes_without_its_full_stop(knowledge: Knowledge) -> None:
    line = b"Loaded runtime CuDNN library: 8.0.4 but source was compiled with: 8.1.0.  CuDNN library needs to match."
    report = triage.analyze(line, knowledge=knowledge)
    assert report.diagnoses[0].because[0].text == "cuDNN 8.0.4 was loaded, and the program was built for 8.1.0"
