"""However much noise stands around a decisive line, the first cause stays the same."""

from __future__ import annotations

import random

import pytest
from conftest import REPOSITORY

import triage
from triage.knowledge.loading import Knowledge
from triage.report import DIAGNOSED

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
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "2024-05-01 08:00:02.700000: E tensorflow/stream_executor/cuda/cuda_dnn.cc:364] could not destroy cudnn handle: "
    "CUDNN_STATUS_BAD_PARAM",
    "2024-05-01 08:00:02.800000: I tensorflow/compiler/mlir/mlir_graph_optimization_pass.cc:116] None of the MLIR "
    "Optimization Passes are enabled (registered 2)",
    "WARNING:tensorflow:AutoGraph could not transform <function f at 0x7f> and will run it as-is.",
]
SIZE = 10_000


def noise(seed: int) -> str:
    """Ten KB of noise in an order of its own."""
    chooser, lines, size = random.Random(seed), [], 0
    while size < SIZE:
        lines.append(chooser.choice(NOISE))
        size += len(lines[-1])
    return "\n".join(lines) + "\n"


def decisive_logs() -> list[tuple[str, str | None]]:
    """Every log that a signature must recognise, with its exit status."""
    signatures = triage.load_knowledge().signatures.values()
    return sorted({(example.log, example.exit) for s in signatures for example in s.matches}, key=str)


@pytest.mark.parametrize(("name", "exit_code"), decisive_logs())
def test_noise_around_a_failure_never_changes_the_first_cause(
    name: str, exit_code: str | None, knowledge: Knowledge
) -> None:
    text = (REPOSITORY / name).read_text("utf-8")
    bare = triage.analyze(text.encode(), exit_code=exit_code, knowledge=knowledge)
    if bare.verdict != DIAGNOSED:
        return  # nothing decides here, so there is nothing that noise must not change
    buried = (noise(len(text)) + text.rstrip("\n") + "\n" + noise(len(text) + 1)).encode()
    report = triage.analyze(buried, exit_code=exit_code, knowledge=knowledge)
    assert [d.cause for d in report.diagnoses[:1]] == [d.cause for d in bare.diagnoses[:1]]
