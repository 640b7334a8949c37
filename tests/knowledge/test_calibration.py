"""Hand-written numbers moved towards what labelled reports show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import knowledge_of, signature, signature_data, write_pack

from triage.knowledge.calibration import (
    B_STRENGTH,
    P_STRENGTH,
    PRIOR_STRENGTH,
    UNFITTED,
    Bin,
    Calibration,
    Counts,
    Weights,
    calibrated,
    calibrated_priors,
    parse_calibration,
)
from triage.maintain.prove import lint_packs

CLUE = {"id": "took-it", "log": "the node was taken", "p": 0.5, "b": 0.01}


def fitted(**changes: Any) -> dict[str, Any]:
    """A calibration in its YAML form."""
    return {
        "date": "2026-01-31",
        "cases": 40,
        "corpus": "sha256:0",
        "figures": {"top1": 0.9},
        "weights": {"hits": 1.2, "absences": 0.5, "unknown": 0.3},
        "reliability": {
            "measured": "2026-02-01",
            "commit": "abc1234",
            "reports": 50,
            "bins": [{"from": 0.5, "answers": 10, "right": 6}, {"from": 0.9, "answers": 30, "right": 29}],
        },
        "causes": {"host.out-of-memory": 10},
        "signatures": {"house/scheduler": {"own": 8, "elsewhere": 30, "clues": {"took-it": [8, 0]}}},
        **changes,
    }


def test_a_clue_that_is_always_there_becomes_likelier() -> None:
    before = signature(clues=[CLUE])
    after = calibrated(before, parse_calibration(fitted()))
    assert after.clues[0].p == pytest.approx((P_STRENGTH * 0.5 + 8) / (P_STRENGTH + 8))


def test_silence_elsewhere_does_not_make_a_clue_more_specific_than_written() -> None:
    assert calibrated(signature(clues=[CLUE]), parse_calibration(fitted())).clues[0].b == 0.01


def test_a_clue_that_misfires_is_believed_less() -> None:
    counts = {"house/scheduler": {"own": 8, "elsewhere": 30, "clues": {"took-it": [8, 15]}}}
    after = calibrated(signature(clues=[CLUE]), parse_calibration(fitted(signatures=counts)))
    assert after.clues[0].b == pytest.approx((B_STRENGTH * 0.01 + 15) / (B_STRENGTH + 30))


def test_exit_codes_and_clues_against_a_cause_stay_as_written() -> None:
    before = signature(clues=[{"id": "took-it", "exit": "SIGSEGV"}], against=[CLUE])
    assert calibrated(before, parse_calibration(fitted())) == before


def test_a_signature_that_no_report_showed_keeps_its_written_numbers() -> None:
    calibration = Calibration(cases=40, counts={"house/scheduler": Counts(0, 0, {})})
    assert calibrated(signature(clues=[CLUE]), calibration) == signature(clues=[CLUE])
    assert calibrated(signature(clues=[CLUE]), UNFITTED) == signature(clues=[CLUE])


def test_priors_move_towards_how_common_causes_were_and_leave_unknown_its_share() -> None:
    written = {"host.out-of-memory": 0.02, "gpu.nccl": 0.02}
    moved = calibrated_priors(written, parse_calibration(fitted()))
    assert moved["host.out-of-memory"] / moved["gpu.nccl"] == pytest.approx(
        (PRIOR_STRENGTH * 0.02 + 10) / (PRIOR_STRENGTH * 0.02)
    )
    assert sum(moved.values()) == pytest.approx(0.04)
    assert calibrated_priors(written, UNFITTED) == pytest.approx(written)


def test_the_bin_of_a_confidence_is_the_last_that_it_reaches() -> None:
    reliability = parse_calibration(fitted()).reliability
    assert (reliability.measured, reliability.commit, reliability.reports) == ("2026-02-01", "abc1234", 50)
    assert reliability.bin_of(0.95) == Bin(0.9, 30, 29)
    assert reliability.bin_of(0.9) == Bin(0.9, 30, 29)
    assert reliability.bin_of(0.6) == Bin(0.5, 10, 6)
    assert reliability.bin_of(0.4) is None
    assert UNFITTED.reliability.bin_of(0.9) is None


def test_a_pack_with_a_calibration_is_loaded_with_its_numbers_moved() -> None:
    data = {"house/scheduler": signature_data(clues=[CLUE])}
    plain = knowledge_of(data)
    moved = knowledge_of(data, calibration=fitted())
    assert moved.calibration.weights == Weights(1.2, 0.5, 0.3)
    assert moved.signatures["house/scheduler"].clues[0].p > plain.signatures["house/scheduler"].clues[0].p


def test_a_private_pack_cannot_change_what_was_fitted_for_ours(tmp_path: Path) -> None:
    import triage

    ours = triage.load_knowledge()
    with_private = triage.load_knowledge([write_pack(tmp_path / "house", calibration=fitted())])
    assert with_private.calibration == ours.calibration


def test_lint_names_counts_of_renamed_clues_and_signatures(tmp_path: Path) -> None:
    gone = {"house/gone": {"own": 0, "elsewhere": 1, "clues": {}}}
    renamed = {"house/scheduler": {"own": 1, "elsewhere": 1, "clues": {"earlier-name": [1, 0]}}}
    pack = write_pack(
        tmp_path / "house",
        {"house/scheduler": signature_data(clues=[CLUE])},
        calibration=fitted(signatures={**gone, **renamed}),
    )
    found = [str(problem) for problem in lint_packs((str(pack),)).problems if "calibration.yaml" in str(problem)]
    assert len(found) == 2
    assert "counts the signature house/gone, which is not there; write make calibrate" in found[0]
    assert "counts the clue 'earlier-name' of house/scheduler" in found[1]
