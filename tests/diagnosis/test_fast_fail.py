"""0xC0000409 (-1073740791): what each kind of evidence beside the code says, and what the code alone does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "composed"
SURE = 0.70


def report_of(name: str, knowledge: Knowledge) -> Report:
    return triage.analyze(LOGS / f"fast-fail-{name}.log", knowledge=knowledge)


def causes(report: Report) -> list[str]:
    return [diagnosis.cause for diagnosis in report.diagnoses]


@pytest.mark.parametrize("name", ["bare", "event-ucrtbase", "event-kernelbase", "subcode-7"])
def test_an_abort_without_a_log_is_unknown_with_modest_candidates(knowledge: Knowledge, name: str) -> None:
    report = report_of(name, knowledge)
    assert report.verdict == "unknown"
    assert {"gpu.cudnn-version-mismatch", "gpu.cudnn-zlibwapi-missing"} <= set(causes(report))
    assert all(diagnosis.confidence < 0.5 for diagnosis in report.diagnoses)


def test_where_only_the_code_is_known_the_next_command_is_given(knowledge: Knowledge) -> None:
    first = report_of("bare", knowledge).next[0].ask
    assert "plain console" in first
    assert "TF_CPP_MIN_LOG_LEVEL=0" in first
    assert "triage analyze crash.log --exit-code -1073740791" in first


@pytest.mark.parametrize(
    ("name", "cause", "least", "most"),
    [
        ("cudnn-last", "gpu.cudnn-zlibwapi-missing", 0.5, 0.96),  # cuDNN 8.3 or newer was the last that was heard
        ("only-conv", "gpu.cudnn-version-mismatch", 0.4, 0.96),  # a person says that only convolutions do it
        ("other-cuda", "gpu.cuda-version-mismatch", 0.3, SURE),  # TensorFlow 2.4 with CUDA 11.2
        ("check", "native.check-failed", 0.5, 1.0),  # the F line says why
        ("check-names-cudnn", "gpu.cudnn-version-mismatch", SURE, 1.0),  # the line above the F line is the root
        ("allocations", "host.out-of-memory", 0.5, 0.8),  # ever larger allocations, then the end
        ("gpu-oom", "gpu.out-of-memory", SURE, 1.0),  # an allocator that says so
        ("after-exception", "data.label-out-of-range", SURE, 1.0),  # the exception came first
        ("event-c10", "other.pytorch", 0.5, 0.69),  # the faulting module says whose it is, not why
    ],
)
def test_the_log_decides_what_the_code_cannot(
    knowledge: Knowledge, name: str, cause: str, least: float, most: float
) -> None:
    first = report_of(name, knowledge).diagnoses[0]
    assert first.cause == cause
    assert least <= first.confidence <= most


@pytest.mark.parametrize("name", ["subcode-2", "subcode-3", "subcode-5", "subcode-10", "overrun-windbg"])
def test_another_subcode_than_7_is_no_abort_so_cudnn_is_no_suspect(knowledge: Knowledge, name: str) -> None:
    assert not [cause for cause in causes(report_of(name, knowledge)) if cause.startswith("gpu.")]


def test_subcode_2_is_a_real_overrun_and_the_faulting_module_is_asked_for(knowledge: Knowledge) -> None:
    report = report_of("subcode-2", knowledge)
    assert report.verdict == "unknown"
    assert report.crash.exit is not None
    assert "real stack buffer overrun" in report.crash.exit.meaning
    assert "faulting module" in report.next[0].ask


def test_the_guard_of_a_compiler_on_top_of_the_stack_names_the_native_code(knowledge: Knowledge) -> None:
    assert causes(report_of("overrun-windbg", knowledge))[0] == "native.custom-op-bug"


def test_subcode_3_is_damaged_memory(knowledge: Knowledge) -> None:
    assert causes(report_of("subcode-3", knowledge))[0] == "native.heap-corruption"


def test_subcode_5_alone_stays_unknown_and_is_no_abort(knowledge: Knowledge) -> None:
    """A refused argument is not abort(), so what ends in abort() is no suspect; nothing here names a framework."""
    report = report_of("subcode-5", knowledge)
    assert report.verdict == "unknown"
    assert not {"install.protobuf-mismatch", "native.check-failed"} & set(causes(report))


def test_subcode_10_stays_unknown(knowledge: Knowledge) -> None:
    assert report_of("subcode-10", knowledge).verdict == "unknown"
