"""Whether signatures hold: the tests they carry pass, fail or cannot be checked, and each outcome says why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from building import PRIVATE_CAUSE, PRIVATE_LINE, signature_data, write_log, write_pack

from triage.knowledge.database import Knowledge, load
from triage.maintain import prove
from triage.maintain.prove import FAILED, NOT_CHECKED, PASSED, Outcome

ID = "house/scheduler"
TAKEN, OTHER = "fixtures/logs/taken.log", "fixtures/logs/other.log"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A private pack with one signature, its two logs and a cause of its own."""
    pack = write_pack(
        tmp_path / "house",
        {ID: signature_data(cause=PRIVATE_CAUSE)},
        causes={PRIVATE_CAUSE: {"title": "The house took the node", "prior": 0.03}},
    )
    write_log(pack, "taken.log", "step 4", PRIVATE_LINE)
    write_log(pack, "other.log", "ValueError: something else")
    return pack


def outcomes(pack: Path, *wanted: str) -> list[Outcome]:
    return list(prove.test_signatures(load((str(pack),)), wanted))


def rewrite(pack: Path, **changes: Any) -> None:
    write_pack(pack, {ID: signature_data(**{"cause": PRIVATE_CAUSE, **changes})})


def test_all_tests_of_our_signatures_pass(knowledge: Knowledge) -> None:
    found = list(prove.test_signatures(knowledge))
    checked = [outcome for outcome in found if not outcome.log.startswith("fixtures/crashers/")]
    assert [outcome for outcome in checked if outcome.result != PASSED] == []
    assert {outcome.signature for outcome in found} == {*knowledge.signatures, "(healthy)"}


def test_the_tests_of_a_private_signature_pass(house: Path) -> None:
    assert outcomes(house, ID) == [Outcome(ID, TAKEN, PASSED, ""), Outcome(ID, OTHER, PASSED, "")]


def test_a_log_that_is_not_recognised_fails(house: Path) -> None:
    write_log(house, "taken.log", "ValueError: something else")
    assert outcomes(house, ID)[0].result == FAILED
    assert outcomes(house, ID)[0].why.startswith(f"wanted {PRIVATE_CAUSE}")
    assert outcomes(house, ID)[0].why.endswith("got unknown")


def test_a_log_of_the_same_cause_that_shows_nothing_of_this_signature_fails(house: Path) -> None:
    other = signature_data(title="Another way", cause=PRIVATE_CAUSE, clues=[{"log": "its own words", "b": 0.0005}])
    write_pack(house, {"house/another": other})
    write_log(house, "taken.log", "its own words")
    by_log = {outcome.log: outcome for outcome in outcomes(house, ID)}
    assert by_log[TAKEN].why == f"wanted {PRIVATE_CAUSE} through a clue of this signature, got {PRIVATE_CAUSE}"


def test_a_wrong_expectation_fails_and_says_what_was_found(house: Path) -> None:
    rewrite(house, tests={"match": [TAKEN], "differ": [{"log": OTHER, "cause": "gpu.out-of-memory"}]})
    assert outcomes(house, ID)[1] == Outcome(ID, OTHER, FAILED, "wanted gpu.out-of-memory, got unknown")


def test_a_similar_log_that_is_mistaken_for_this_cause_fails(house: Path) -> None:
    rewrite(house, tests={"match": [TAKEN], "differ": [TAKEN]})
    assert outcomes(house, ID)[1] == Outcome(
        ID, TAKEN, FAILED, f"wanted anything but {PRIVATE_CAUSE}, got {PRIVATE_CAUSE}"
    )


def test_the_exit_status_of_a_test_is_used(house: Path) -> None:
    rewrite(house, tests={"match": [{"log": TAKEN, "exit": 0}], "differ": [OTHER]})
    assert outcomes(house, ID)[0].result == FAILED
    assert outcomes(house, ID)[0].why.endswith("got no-crash")


def test_an_invalid_exit_status_fails_without_a_traceback(house: Path) -> None:
    rewrite(house, tests={"match": [{"log": TAKEN, "exit": "banana"}], "differ": [OTHER]})
    assert [outcome for outcome in outcomes(house, ID) if (outcome.log, outcome.result) == (TAKEN, PASSED)] == []


def test_a_missing_log_is_not_checked(house: Path) -> None:
    (house / TAKEN).unlink()
    assert outcomes(house, ID)[0] == Outcome(ID, TAKEN, NOT_CHECKED, "the log is not in this installation")


def test_a_healthy_log_of_a_private_pack_must_stay_silent(house: Path) -> None:
    write_log(house, "healthy/quiet.log", PRIVATE_LINE)
    loud = [outcome for outcome in outcomes(house) if outcome.result == FAILED]
    assert loud == [
        Outcome("(healthy)", "fixtures/logs/healthy/quiet.log", FAILED, f"wanted silence, got {PRIVATE_CAUSE}")
    ]


def test_only_the_signatures_asked_for_are_tested(house: Path) -> None:
    assert {outcome.signature for outcome in outcomes(house, "gpu/out-of-memory")} == {"gpu/out-of-memory"}


def test_a_signature_that_a_pack_switches_off_is_not_tested(house: Path) -> None:
    write_pack(house, pack={"schema": 1, "name": "house", "disables": ["gpu/out-of-memory"]})
    assert "gpu/out-of-memory" not in {outcome.signature for outcome in outcomes(house)}


def test_a_private_signature_that_replaces_ours_is_tested_once_with_its_own_logs(house: Path) -> None:
    replaced = "host/bad-alloc"
    write_pack(house, {replaced: signature_data(title="Replaced", cause=PRIVATE_CAUSE)})
    found = [(outcome.log, outcome.result) for outcome in outcomes(house, replaced)]
    assert found == [(TAKEN, PASSED), (OTHER, PASSED)]


def test_the_command_passes_on_ours(run_triage: Any) -> None:
    done = run_triage("signatures", "test")
    assert done.returncode == 0
    assert "0 failed" in done.stderr


def test_a_crasher_is_left_to_the_tests_that_run_it(house: Path) -> None:
    rewrite(house, tests={"match": [{"crasher": "fixtures/crashers/hang.py"}], "differ": [OTHER]})
    first = outcomes(house, ID)[0]
    assert (first.log, first.result) == ("fixtures/crashers/hang.py", NOT_CHECKED)


def test_the_command_names_a_failed_test_and_exits_with_1(house: Path, run_triage: Any) -> None:
    rewrite(house, tests={"match": [TAKEN], "differ": [{"log": OTHER, "cause": "gpu.out-of-memory"}]})
    done = run_triage("signatures", "test", ID, "--signatures", house)
    assert done.returncode == 1
    assert done.stdout == f"failed: {ID} on {OTHER}: wanted gpu.out-of-memory, got unknown\n"


def test_the_command_exits_with_3_where_nothing_could_be_checked(house: Path, run_triage: Any) -> None:
    (house / TAKEN).unlink()
    (house / OTHER).unlink()
    done = run_triage("signatures", "test", ID, "--signatures", house)
    assert done.returncode == 3
    assert done.stdout.count("not checked: ") == 2


def test_every_outcome_that_did_not_pass_says_why(house: Path) -> None:
    (house / TAKEN).unlink()
    rewrite(house, tests={"match": [TAKEN], "differ": [{"log": OTHER, "cause": "gpu.out-of-memory"}]})
    found = outcomes(house, ID)
    assert Counter(outcome.result for outcome in found) == {NOT_CHECKED: 1, FAILED: 1}
    assert all(outcome.why for outcome in found)
