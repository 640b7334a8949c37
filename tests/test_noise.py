"""However much noise stands around a decisive line, the first cause stays the same."""

from __future__ import annotations

import random

import pytest
from conftest import REPOSITORY
from fixture_logs import our_knowledge, report_of

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report

# Lines that every start prints, and lines that follow from a failure and explain nothing.
NOISE = [
    "2024-05-01 08:00:00.118231: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.",
    "2024-05-01 08:00:00.120077: E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:467] Unable to register cuFFT "
    "factory: Attempting to register factory for plugin cuFFT when one has already been registered",
    "2024-05-01 08:00:00.120900: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:8454] Unable to register cuDNN "
    "factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "2024-05-01 08:00:00.131911: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized",
    "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow",
    "2024-05-01 08:00:01.002145: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
    "I0000 00:00:1714550401.118231    4711 gpu_device.cc:2022] Created device /job:localhost/replica:0/task:0/device:GPU:0",
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "2024-05-01 08:00:02.700000: E tensorflow/stream_executor/cuda/cuda_dnn.cc:364] could not destroy cudnn handle: "
    "CUDNN_STATUS_BAD_PARAM",
    "2024-05-01 08:00:02.800000: I tensorflow/compiler/mlir/mlir_graph_optimization_pass.cc:116] None of the MLIR "
    "Optimization Passes are enabled (registered 2)",
    "WARNING:tensorflow:AutoGraph could not transform <function f at 0x7f> and will run it as-is.",
]
# Noise beside a cause that is certain; with a cause that only leads, large allocations are evidence that may turn it.
ALLOCATION = (
    "2024-05-01 08:00:02.500000: W tensorflow/tsl/framework/cpu_allocator_impl.cc:83] Allocation of 1271660544 exceeds 10% "
    "of free system memory."
)
SIZE = 10_000


def noise(seed: int, lines: list[str]) -> str:
    """Ten KB of noise in an order of its own."""
    chooser, chosen, size = random.Random(seed), [], 0
    while size < SIZE:
        chosen.append(chooser.choice(lines))
        size += len(chosen[-1])
    return "\n".join(chosen) + "\n"


def decisive_logs() -> list[tuple[str, str | None]]:
    """Every log that a signature must recognise, with its exit status."""
    signatures = our_knowledge().signatures.values()
    matches = [example for signature in signatures for example in signature.matches]
    examples = [example for example in matches if not example.live and "/dumps/" not in example.log]
    return sorted({(example.log, example.exit) for example in examples}, key=str)


def first_causes(name: str, exit_code: str | None, knowledge: Knowledge, lines: list[str]) -> tuple[Report, list[str]]:
    """The report on the bare log, and the first cause of the bare and of the buried one."""
    text = (REPOSITORY / name).read_text("utf-8")
    buried = noise(len(text), lines) + text.rstrip("\n") + "\n" + noise(len(text) + 1, lines)
    bare = report_of(REPOSITORY / name, exit_code)
    reports = [bare, triage.analyze(buried.encode(), exit_code=exit_code, knowledge=knowledge)]
    return reports[0], [report.diagnoses[0].cause if report.diagnoses else report.verdict for report in reports]


@pytest.mark.parametrize(("name", "exit_code"), decisive_logs())
def test_noise_around_a_failure_never_changes_the_first_cause(
    name: str, exit_code: str | None, knowledge: Knowledge
) -> None:
    _, (bare, buried) = first_causes(name, exit_code, knowledge, NOISE)
    assert buried == bare


def test_large_allocations_never_change_a_cause_that_is_certain(knowledge: Knowledge) -> None:
    found = {log: first_causes(*log, knowledge, [*NOISE, ALLOCATION]) for log in decisive_logs()}
    certain = {
        log: causes
        for log, (report, causes) in found.items()
        if report.diagnoses and report.diagnoses[0].confidence >= 0.97
    }
    assert len(certain) > 150
    assert {log: causes for log, causes in certain.items() if causes[0] != causes[1]} == {}
