"""The ranking: log-likelihood ratios over a prior, "unknown" among the causes, every term an explanation."""

from __future__ import annotations

import math
from typing import Any

import pytest
from building import clue, crash_of, signature_data
from building import knowledge_of as known

import triage
from triage.clues.facts import Facts
from triage.clues.findings import ABSENT, UNSEEN, Hit
from triage.crash import Crash, Environment
from triage.diagnosis.ranking import (
    CAP_AGAINST,
    CAP_FOR,
    OTHER_SYSTEM,
    TELLING,
    Ranking,
    Scored,
    match,
    rank,
    weigh,
)
from triage.diagnosis.verdict import SURE
from triage.knowledge.calibration import Calibration, Weights
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, UNKNOWN

SEEN = Hit(None, "seen")
UNFITTED = Weights()
HITS, ABSENCES = UNFITTED.hits, UNFITTED.absences
FIRST = {"id": "first", "log": "the first words", "p": 0.9, "b": 0.01}
SECOND = {"id": "second", "log": "the second words", "p": 0.8, "b": 0.02}


def about(cause: str, *clues: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A signature of a cause with these clues."""
    return signature_data(title=f"Title of {cause}", cause=cause, clues=list(clues), **changes)


def ranked(crash: Crash, knowledge: Knowledge) -> Ranking:
    return rank(match(Facts(crash), knowledge), knowledge, crash)


def only(crash: Crash, knowledge: Knowledge) -> Scored:
    (scored,) = ranked(crash, knowledge).scored
    return scored


# one term


def test_a_hit_weighs_as_much_more_as_it_is_likelier_with_the_cause() -> None:
    assert weigh(clue({"log": "x", "p": 0.9, "b": 0.01}), SEEN) == pytest.approx(HITS * math.log(0.9 / 0.01))


def test_an_absence_weighs_by_what_it_makes_unlikely_and_less_than_a_hit() -> None:
    expected = HITS * ABSENCES * math.log((1 - 0.9) / (1 - 0.01))
    assert weigh(clue({"log": "x", "p": 0.9, "b": 0.01}), ABSENT) == pytest.approx(expected)
    assert 0 < ABSENCES < 1


def test_what_could_not_be_seen_weighs_nothing() -> None:
    assert weigh(clue({"log": "x", "p": 0.99, "b": 0.01}), UNSEEN) == 0.0


def test_a_clue_that_is_rarer_with_the_cause_weighs_against_it_when_seen() -> None:
    assert weigh(clue({"log": "x", "p": 0.05, "b": 0.5}), SEEN) == pytest.approx(HITS * math.log(0.1))


def test_no_hit_weighs_more_than_its_cap() -> None:
    assert weigh(clue({"log": "x", "p": 0.99, "b": 1e-9}), SEEN) == pytest.approx(HITS * CAP_FOR)
    assert weigh(clue({"log": "x", "p": 1e-9, "b": 0.99}), SEEN) == pytest.approx(HITS * CAP_AGAINST)


def test_no_absence_weighs_more_than_its_cap() -> None:
    almost_always = clue({"log": "x", "p": 1 - 1e-9, "b": 0.01})
    assert weigh(almost_always, ABSENT) == pytest.approx(HITS * ABSENCES * CAP_AGAINST)


def test_fitted_weights_scale_hits_and_absences() -> None:
    one, fitted = clue({"log": "x", "p": 0.9, "b": 0.01}), Weights(hits=2.0, absences=0.1)
    assert weigh(one, SEEN, fitted) == pytest.approx(2.0 * math.log(0.9 / 0.01))
    assert weigh(one, ABSENT, fitted) == pytest.approx(2.0 * 0.1 * math.log((1 - 0.9) / (1 - 0.01)))


# one score


def test_a_score_is_the_prior_and_all_its_terms() -> None:
    crash = crash_of("the first words")
    scored = only(crash, known({"a/a": about("a.a", FIRST, SECOND, {"exit": "SIGSEGV"})}, {"a.a": 0.02}))
    hit, absence = math.log(0.9 / 0.01), math.log((1 - 0.8) / (1 - 0.02))
    assert scored.score == pytest.approx(math.log(0.02) + HITS * (hit + ABSENCES * absence))
    assert [term.clue.id for term in scored.hits] == ["first"]


def test_an_absence_counts_only_where_the_clue_could_have_been_seen() -> None:
    knowledge = known({"a/a": about("a.a", {"exit": "SIGSEGV", "p": 0.9}, FIRST)}, {"a.a": 0.02})
    without_log = only(crash_of(exit="139"), knowledge)
    with_log = only(crash_of("other words", exit="139"), knowledge)
    assert without_log.score > with_log.score
    assert [term.weight for term in without_log.terms][1] == 0.0


def test_a_clue_against_lowers_the_score_when_seen_and_says_nothing_when_not() -> None:
    plain = known({"a/a": about("a.a", FIRST)})
    doubted = known({"a/a": about("a.a", FIRST, against=[{"id": "no", "log": "speaks against", "p": 0.05, "b": 0.5}])})
    quiet, loud = crash_of("the first words"), crash_of("the first words", "speaks against")
    assert only(quiet, doubted).score == pytest.approx(only(quiet, plain).score)
    assert only(loud, doubted).score == pytest.approx(only(loud, plain).score + math.log(0.1))
    assert [term.clue.id for term in only(loud, doubted).against] == ["no"]


def test_another_operating_system_lowers_the_score_by_a_fixed_amount() -> None:
    knowledge = known({"a/a": about("a.a", FIRST, applies={"os": ["windows"]})})
    here = only(crash_of("the first words", environment=Environment(os="windows")), knowledge)
    elsewhere = only(crash_of("the first words", environment=Environment(os="linux")), knowledge)
    untold = only(crash_of("the first words"), knowledge)
    assert elsewhere.score == pytest.approx(here.score + OTHER_SYSTEM)
    assert untold.score == pytest.approx(here.score)
    assert (elsewhere.on_other_system, here.on_other_system, untold.on_other_system) == (True, False, False)


# consequences


def root_and_consequence(**root: Any) -> Knowledge:
    """`a.root` shows by the first words; the second words are what `b.late` shows by, unless `a.root` is there."""
    explained = {**SECOND, "consequence_of": ["a.root"]}
    return known({"a/root": about("a.root", {**FIRST, **root}), "b/late": about("b.late", explained)})


def test_a_line_that_another_cause_explains_does_not_count() -> None:
    both = ranked(crash_of("the first words", "the second words"), root_and_consequence())
    late = next(scored for scored in both.scored if scored.signature.cause == "b.late")
    assert [(term.clue.id, term.explained_by, term.weight) for term in late.explained] == [("second", "a.root", 0.0)]
    assert late.hits == ()
    assert [scored.signature.cause for scored, _ in both.named] == ["a.root"]


def test_the_order_of_the_two_lines_does_not_matter() -> None:
    both = ranked(crash_of("the second words", "the first words"), root_and_consequence())
    assert both.causes[0][0].signature.cause == "a.root"


def test_without_the_other_cause_the_line_counts_in_full() -> None:
    alone = ranked(crash_of("the second words"), root_and_consequence())
    assert alone.causes[0][0].signature.cause == "b.late"
    assert alone.causes[0][0].hits[0].weight == pytest.approx(math.log(0.8 / 0.02))


def test_a_faint_clue_explains_nothing_away() -> None:
    faint = {"p": 0.5, "b": 0.1}
    assert math.log(0.5 / 0.1) < TELLING
    both = ranked(crash_of("the first words", "the second words"), root_and_consequence(**faint))
    assert "b.late" in [scored.signature.cause for scored, _ in both.named]


def test_an_exit_status_explains_nothing_away() -> None:
    knowledge = known(
        {
            "a/root": about("a.root", {"exit": "SIGSEGV", "p": 0.9, "b": 0.001}),
            "b/late": about("b.late", {**SECOND, "consequence_of": ["a.root"]}),
        }
    )
    both = ranked(crash_of("the second words", exit="139"), knowledge)
    assert "b.late" in [scored.signature.cause for scored, _ in both.named]


def test_a_family_stands_for_all_its_causes() -> None:
    late = {**SECOND, "consequence_of": ["a"]}
    family = known({"a/root": about("a.root", FIRST), "b/late": about("b.late", late)})
    both = ranked(crash_of("the first words", "the second words"), family)
    assert [scored.signature.cause for scored, _ in both.named] == ["a.root"]
    alone = ranked(crash_of("the second words"), family)
    assert alone.causes[0][0].signature.cause == "b.late"


def test_a_consequence_explains_another_only_where_nothing_explains_it() -> None:
    second = {**SECOND, "consequence_of": ["a.a"]}
    third = {"id": "third", "log": "the third words", "p": 0.9, "b": 0.001, "consequence_of": ["b.b"]}
    knowledge = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", second), "c/c": about("c.c", third)})
    alone = ranked(crash_of("the second words", "the third words"), knowledge)
    assert [scored.signature.cause for scored, _ in alone.named] == ["b.b"]
    explained = ranked(crash_of("the first words", "the second words", "the third words"), knowledge)
    assert {scored.signature.cause for scored, _ in explained.named} == {"a.a", "c.c"}


# probabilities


@pytest.mark.parametrize(
    ("lines", "shared_by"),
    [
        ((), ("a.a", "b.b")),
        (("nothing known",), ("a.a", "b.b")),
        (("the first words",), ("a.a",)),
        (("the first words", "the second words"), ("a.a", "b.b")),
    ],
)
def test_probabilities_are_a_softmax_over_what_was_seen_and_unknown(
    lines: tuple[str, ...], shared_by: tuple[str, ...]
) -> None:
    """Where nothing was seen but the exit status, over all causes: it may be any of them."""
    knowledge = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)}, {"a.a": 0.1, "b.b": 0.2})
    found = ranked(crash_of(*lines, exit="1"), knowledge)
    weights = {
        scored.signature.cause: math.exp(scored.score) if scored.signature.cause in shared_by else 0.0
        for scored in found.scored
    }
    total = sum(weights.values()) + 0.7
    assert {scored.signature.cause: share for scored, share in found.causes} == pytest.approx(
        {cause: weight / total for cause, weight in weights.items()}
    )
    assert found.unknown == pytest.approx(0.7 / total)
    assert sum(share for _, share in found.causes) + found.unknown == pytest.approx(1.0)


def test_a_cause_of_which_nothing_was_seen_takes_nothing_from_the_others() -> None:
    alone = known({"a/a": about("a.a", FIRST)}, {"a.a": 0.1})
    beside = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)}, {"a.a": 0.1, "b.b": 0.2})
    odds = []
    for knowledge in (alone, beside):
        found = ranked(crash_of("the first words"), knowledge)
        odds.append(found.causes[0][1] / found.unknown)
    assert odds[0] == pytest.approx(odds[1] * 0.7 / 0.9)


def test_an_exit_status_leaves_open_what_the_causes_without_it_would_take() -> None:
    """Were they left out, a bare status would name the few causes that happen to list it."""
    ended = {"id": "ended", "exit": "SIGSEGV", "p": 0.9, "b": 0.3}
    knowledge = known({"a/a": about("a.a", ended), "b/b": about("b.b", SECOND)}, {"a.a": 0.3, "b.b": 0.6})
    bare = ranked(crash_of(exit="SIGSEGV"), knowledge)
    (first, share), (_, of_the_other) = bare.causes
    assert first.signature.cause == "a.a"
    assert of_the_other > 0
    assert share < 0.9 / 0.3 * 0.3 / (0.9 / 0.3 * 0.3 + 0.1)  # what it would be if the other took nothing


# how sure the first answer is


def test_one_curve_makes_every_first_answer_as_sure_as_labelled_reports_allow() -> None:
    plain = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)}, {"a.a": 0.1, "b.b": 0.2})
    surer = plain._replace(calibration=Calibration(weights=Weights(offset=1.0, slope=1.5)))
    crash = crash_of("the first words", "the second words")
    (_, before), (_, other_before) = ranked(crash, plain).causes
    found = ranked(crash, surer)
    (_, after), (_, other_after) = found.causes
    odds = math.log(before / (1 - before))
    assert math.log(after / (1 - after)) == pytest.approx(1.0 + 1.5 * odds)
    assert other_after < other_before
    assert after + other_after + found.unknown == pytest.approx(1.0)


@pytest.mark.parametrize(("tells", "found"), [("why", True), ("whose", False)])
def test_an_answer_that_only_says_whose_error_it_is_does_not_count_as_found(tells: str, found: bool) -> None:
    knowledge = known({"a/a": about("a.a", FIRST, SECOND, tells=tells)}, {"a.a": 0.5})
    ((_, share),) = ranked(crash_of("the first words", "the second words"), knowledge).causes
    assert (share >= SURE) is found


def test_a_first_answer_that_becomes_less_sure_stays_first() -> None:
    plain = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)}, {"a.a": 0.2, "b.b": 0.2})
    wary = plain._replace(calibration=Calibration(weights=Weights(offset=-3.0)))
    crash = crash_of("the first words", "the second words")
    (_, before), (_, other_before) = ranked(crash, plain).causes
    found = ranked(crash, wary)
    assert found.causes[0][1] < before
    assert found.causes[1][1] == pytest.approx(other_before)
    assert found.unknown > ranked(crash, plain).unknown


def test_probabilities_of_our_own_signatures_sum_to_one(knowledge: Knowledge) -> None:
    found = ranked(crash_of("double free or corruption (out)", exit="134"), knowledge)
    assert sum(share for _, share in found.causes) + found.unknown == pytest.approx(1.0)


def test_unknown_keeps_a_share_however_much_the_priors_take() -> None:
    knowledge = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)}, {"a.a": 0.6, "b.b": 0.6})
    assert ranked(crash_of(exit="1"), knowledge).unknown > 0


def test_a_cause_scores_as_its_best_signature_and_is_there_once() -> None:
    knowledge = known({"a/one": about("a.a", FIRST), "a/two": about("a.a", SECOND)})
    found = ranked(crash_of("the second words"), knowledge)
    assert [scored.signature.id for scored, _ in found.causes] == ["a/two"]
    assert {scored.signature.id for scored in found.scored} == {"a/one", "a/two"}


def test_causes_of_which_nothing_was_seen_are_not_named() -> None:
    knowledge = known({"a/a": about("a.a", FIRST), "b/b": about("b.b", SECOND)})
    assert [s.signature.cause for s, _ in ranked(crash_of("the first words"), knowledge).named] == ["a.a"]


def test_where_it_happened_alone_names_no_cause() -> None:
    on_windows = {"environment": {"os": "windows"}, "p": 0.98, "b": 0.3}
    knowledge = known({"a/a": about("a.a", on_windows, FIRST)})
    assert ranked(crash_of("other words", environment=Environment(os="windows")), knowledge).named == ()


def test_equal_causes_stand_in_the_order_of_their_names() -> None:
    same = {"id": "same", "log": "the same words", "p": 0.9, "b": 0.01}
    there = {f"{slug}/x": about(f"{slug}.x", same) for slug in ("c", "a", "b")}
    for order in (there, dict(reversed(there.items()))):
        found = ranked(crash_of("the same words"), known(order))
        assert [scored.signature.cause for scored, _ in found.causes] == ["a.x", "b.x", "c.x"]


def test_very_many_hits_do_not_overflow() -> None:
    clues = [{"id": f"clue-{n}", "log": f"word number {n}", "p": 0.99, "b": 0.0001} for n in range(150)]
    found = ranked(crash_of(*(f"word number {n}" for n in range(150))), known({"a/a": about("a.a", *clues)}))
    assert found.causes[0][1] == pytest.approx(1.0)


def test_what_was_fitted_makes_unknown_likelier() -> None:
    plain = known({"a/a": about("a.a", FIRST)})
    wary = plain._replace(calibration=Calibration(weights=Weights(unknown=2.0)))
    crash = crash_of("the first words")
    odds = [found.unknown / found.causes[0][1] for found in (ranked(crash, plain), ranked(crash, wary))]
    assert odds[1] == pytest.approx(odds[0] * math.exp(2.0))


# an exit code and nothing else


@pytest.mark.parametrize("code", ["SIGSEGV", "SIGABRT", "SIGBUS", "0xC0000409", "0xC0000005", "1"])
def test_with_a_bare_exit_code_unknown_comes_first(code: str, knowledge: Knowledge) -> None:
    report = triage.analyze(exit_code=code, knowledge=knowledge)
    assert report.verdict == UNKNOWN
    assert report.unknown_confidence > max((diagnosis.confidence for diagnosis in report.diagnoses), default=0.0)


@pytest.mark.parametrize("code", ["SIGILL", "SIGKILL", "SIGFPE"])
def test_a_code_that_points_somewhere_is_no_diagnosis_yet(code: str, knowledge: Knowledge) -> None:
    report = triage.analyze(exit_code=code, knowledge=knowledge)
    assert report.verdict != DIAGNOSED
    assert report.diagnoses[0].confidence < SURE
