"""Fitting the ranking to labelled reports: what is counted, what is left out, and what the numbers become."""

from __future__ import annotations

import pytest
from building import knowledge_of, signature_data

from triage.knowledge.calibration import Bin, Weights
from triage.knowledge.database import Knowledge
from triage.maintain.calibrate.fit import (
    FOLDS,
    Case,
    Examined,
    FirstAnswer,
    answer,
    applied,
    counted,
    examine,
    figures,
    fit_weights,
    left_out,
    reliability,
    without_idle_counts,
)

DIED = "Segmentation fault (core dumped)\n"


@pytest.fixture(scope="module")
def small() -> Knowledge:
    """Two causes; the words of the second are in reports of both."""
    first = {"id": "first", "log": "the first words", "p": 0.8, "b": 0.01}
    second = {"id": "second", "log": "the second words", "p": 0.8, "b": 0.01}
    return knowledge_of(
        {
            "a/a": signature_data(title="A", cause="a.a", clues=[first]),
            "b/b": signature_data(title="B", cause="b.b", clues=[second]),
        },
        {"a.a": 0.3, "b.b": 0.3},
    )


def case(id: str, text: str, cause: str, *alternates: str) -> Case:
    """A report from a project of its own."""
    return Case(id, text + "\n" + DIED, cause, alternates, project=f"somebody/{id}")


def examined(knowledge: Knowledge, *cases: Case) -> list[Examined]:
    return [examine(one, knowledge) for one in cases]


def test_a_report_counts_for_its_own_signature_and_against_those_of_other_causes(small: Knowledge) -> None:
    both = "the first words\nthe second words"
    seen = counted(examined(small, case("1", "the first words", "a.a"), case("2", both, "a.a")), small)
    assert seen.cases == 2
    assert seen.causes == {"a.a": 2}
    assert (seen.counts["a/a"].own, seen.counts["a/a"].elsewhere) == (2, 0)
    assert seen.counts["a/a"].clues == {"first": (2, 0)}
    assert (seen.counts["b/b"].own, seen.counts["b/b"].elsewhere) == (0, 2)
    assert seen.counts["b/b"].clues == {"second": (0, 1)}


def test_counts_that_change_no_number_are_left_out() -> None:
    words = {"id": "words", "log": "the first words", "p": 0.8, "b": 0.01}
    code = {"id": "code", "exit": "SIGSEGV", "p": 0.8}
    rare = {"id": "rare", "log": "the second words", "p": 0.8, "b": 0.3}
    small = knowledge_of(
        {
            "a/a": signature_data(title="A", cause="a.a", clues=[words, code]),
            "b/b": signature_data(title="B", cause="b.b", clues=[rare]),
        },
        {"a.a": 0.3, "b.b": 0.3},
    )
    both = "the first words\nthe second words"
    cases = [case("1", both, "a.a"), *(case(str(n), "the first words", "a.a") for n in range(2, 10))]
    everything = counted(examined(small, *cases), small)
    assert everything.counts["a/a"].clues == {"words": (9, 0), "code": (9, 0)}
    assert everything.counts["b/b"].clues == {"rare": (0, 1)}
    needed = without_idle_counts(everything, small)
    assert set(needed.counts) == {"a/a"}
    assert needed.counts["a/a"].clues == {"words": (9, 0)}
    assert applied(small, needed).signatures == applied(small, everything).signatures


def test_an_accepted_alternate_counts_neither_way(small: Knowledge) -> None:
    both = "the first words\nthe second words"
    seen = counted(examined(small, case("1", both, "a.a", "b.b")), small)
    assert (seen.counts["b/b"].own, seen.counts["b/b"].elsewhere) == (0, 0)


def test_healthy_logs_are_not_counted_as_crashes(small: Knowledge) -> None:
    assert counted(examined(small, case("1", "all is well", "not-a-crash")), small).cases == 0


def test_every_case_is_judged_by_numbers_that_were_fitted_without_it(small: Knowledge) -> None:
    cases = [case(f"{number:02}", "the first words", "a.a") for number in range(2 * FOLDS)]
    pairs = left_out(examined(small, *cases), small)
    assert sorted(one.case.id for one, _ in pairs) == [one.id for one in cases]
    assert {knowledge.calibration.cases for _, knowledge in pairs} == {2 * FOLDS - 2}


def test_the_reports_of_a_project_are_all_left_out_together(small: Knowledge) -> None:
    large = [case(f"l{n}", "the first words", "a.a")._replace(project="large/project") for n in range(30)]
    others = [case(f"o{n}", "the first words", "a.a") for n in range(20)]
    pairs = left_out(examined(small, *large, *others), small)
    assert len(pairs) == 50
    learnt_from = {knowledge.calibration.cases for one, knowledge in pairs if one.case.project == "large/project"}
    assert learnt_from == {20}
    assert all(knowledge.calibration.cases >= 30 for one, knowledge in pairs if one.case.project != "large/project")


def test_misleading_words_make_answers_less_sure(small: Knowledge) -> None:
    honest = [case(f"h{n}", "the first words", "a.a") for n in range(20)]
    honest += [case(f"k{n}", "the second words", "b.b") for n in range(20)]
    misleading = [case(f"m{n}", "the first words", "b.b") for n in range(10)]
    trusting = fit_weights(left_out(examined(small, *honest), small))
    wary = fit_weights(left_out(examined(small, *honest, *misleading), small))
    assert wary.confidence(0.9) < trusting.confidence(0.9)


def test_answers_that_are_always_right_become_surer_but_never_certain() -> None:
    """The patterns were written with these reports at hand: elsewhere a few such answers are wrong."""
    vague = {"id": "first", "log": "the first words", "p": 0.8, "b": 0.2}
    small = knowledge_of({"a/a": signature_data(title="A", cause="a.a", clues=[vague])}, {"a.a": 0.3})
    pairs = left_out(examined(small, *(case(f"h{n}", "the first words", "a.a") for n in range(60))), small)
    fitted = fit_weights(pairs)
    plain = [answer(one, known, Weights()).confidence or 0.0 for one, known in pairs]
    sure = [answer(one, known, fitted).confidence or 0.0 for one, known in pairs]
    assert min(sure) > max(plain)
    assert max(sure) < 0.99


def test_the_first_answer_is_judged_as_a_person_would(small: Knowledge) -> None:
    def judged(one: Case) -> FirstAnswer:
        return answer(examine(one, small), small, Weights())

    right = judged(case("1", "the first words", "a.a"))
    assert right.right
    assert right.confidence
    assert right.confidence > 0.7
    assert not judged(case("2", "the first words", "b.b")).right
    assert judged(case("3", "the first words", "b.b", "a.a")).right
    assert judged(case("4", "nothing known", "unknown")) == FirstAnswer(None, True, False, True)
    assert not judged(case("5", "nothing known", "a.a")).right


def test_the_table_says_how_many_of_each_confidence_were_right() -> None:
    answers = [
        FirstAnswer(0.95, True, True, False),
        FirstAnswer(0.92, False, True, False),
        FirstAnswer(0.6, True, True, False),
    ]
    answers.append(FirstAnswer(None, False, False, False))
    assert reliability(answers) == (Bin(0.5, 1, 1), Bin(0.9, 2, 1))


def test_the_figures_are_those_of_first_answers() -> None:
    answers = [
        FirstAnswer(0.9, True, True, False),
        FirstAnswer(0.9, False, True, False),
        FirstAnswer(None, False, False, False),
        FirstAnswer(None, True, True, True),
    ]
    assert figures(answers) == {"top1": 0.3333, "top3": 0.6667, "overclaim": 0.25, "ece": 0.4}


def test_applying_a_calibration_moves_the_numbers(small: Knowledge) -> None:
    seen = counted(examined(small, *(case(str(n), "the first words", "a.a") for n in range(30))), small)
    moved = applied(small, seen)
    assert moved.signatures["a/a"].clues[0].p > small.signatures["a/a"].clues[0].p
    assert moved.causes["a.a"].prior > small.causes["a.a"].prior
