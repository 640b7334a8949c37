"""What names no TensorFlow cause gets none: healthy logs, other programs, plain exceptions, bare codes, mere talk."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from conftest import REPOSITORY
from fixture_logs import report_of

import triage
from triage.diagnosis.verdict import SURE
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Report

LOGS = REPOSITORY / "fixtures" / "logs" / "quiet"
EXPECTED: dict[str, dict[str, Any]] = yaml.safe_load((LOGS / "expected.yaml").read_text("utf-8"))
# What other packages say in a process that runs TensorFlow too.
NEIGHBOURS = """PyTorch version 2.2.0 available.
JAX version 0.4.25 available.
/home/user/venv/lib/python3.10/site-packages/torch/cuda/__init__.py:141: UserWarning: CUDA initialization: Found no \
NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver
  return torch._C._cuda_getDeviceCount() > 0
NVIDIA GeForce RTX 5080 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
[ WARN:0@1.204] global loadsave.cpp:248 findDecoder imread_('a.png'): can't open/read file: check file path/integrity
2024-05-05 10:00:00.100000000 [W:onnxruntime:Default, device_discovery.cc:164 DiscoverDevicesForPlatform] GPU device \
discovery failed
WARNING (theano.tensor.blas): Using NumPy C-API based implementation for BLAS functions.
[LightGBM] [Warning] No further splits with positive gain, best gain: -inf
"""
# Below this a candidate is a question, not a claim.
A_QUESTION = 0.50


def seen(report: Report) -> tuple[str, float]:
    """The first answer and how sure it is: a cause, or the verdict where none is told."""
    if report.verdict in (NO_CRASH, UNKNOWN) or not report.diagnoses:
        return report.verdict, report.diagnoses[0].confidence if report.diagnoses else 0.0
    return report.diagnoses[0].cause, report.diagnoses[0].confidence


def test_the_table_and_the_folder_hold_the_same_logs() -> None:
    assert set(EXPECTED) == {path.name for path in LOGS.glob("*.log")}
    assert len(EXPECTED) >= 80
    kinds = {row["expected"] for row in EXPECTED.values()}
    assert {NO_CRASH, UNKNOWN} < kinds
    anybodys = ("other.", "gpu.", "host.", "shape.", "dtype.", "native.lost-worker", "native.fork")
    assert all(kind in (NO_CRASH, UNKNOWN) or kind.startswith(anybodys) for kind in kinds)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_nothing_that_is_not_tensorflows_is_blamed_on_it(name: str) -> None:
    expected = EXPECTED[name]["expected"]
    answer, confidence = seen(report_of(LOGS / name))
    if expected == NO_CRASH:
        assert answer == NO_CRASH
    elif expected == UNKNOWN:
        below = EXPECTED[name].get("below", A_QUESTION)
        assert below <= SURE
        assert answer == UNKNOWN or answer.startswith("other.") or (answer != NO_CRASH and confidence < below)
    else:
        assert answer == expected


def test_words_of_other_packages_never_take_a_cause_from_tensorflow(knowledge: Knowledge) -> None:
    examples = [
        (signature.cause, example)
        for signature in knowledge.signatures.values()
        if not signature.cause.startswith("other.")
        for example in signature.matches
        if example.log and example.log.endswith(".log")
    ]
    taken, diagnosed = [], 0
    for cause, example in examples:
        text = (REPOSITORY / str(example.log)).read_text("utf-8")
        alone = report_of(REPOSITORY / str(example.log), example.exit)
        beside = triage.analyze((NEIGHBOURS + text).encode(), exit_code=example.exit, knowledge=knowledge)
        diagnosed += alone.verdict == DIAGNOSED
        if alone.verdict == DIAGNOSED and seen(beside)[0].startswith("other."):
            taken.append((cause, example.log, seen(beside)))
    assert diagnosed > 150
    assert taken == []
