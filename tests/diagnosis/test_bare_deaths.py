"""Reports that hold little more than a death: what is seen around it decides, and how sure the answer may be."""

from __future__ import annotations

import pytest

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report

CONFLICT = "install.library-conflict"


def report_on(text: str, knowledge: Knowledge) -> Report:
    return triage.analyze(text.encode(), knowledge=knowledge)


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\n>>> import keras\nUsing TensorFlow backend.\nSegmentation fault\n",
        "In [1]: import open3d\n\nIn [2]: from torch import nn\nfree(): invalid pointer\nAborted (core dumped)\n",
        '$ python3 -c "import xgboost; import torch"\nSegmentation fault (core dumped)\n',
        "from PyQt5 import QtWidgets\nimport cv2\n\nSegmentation fault (core dumped)\n",
        "It crashes when I import faiss before torch, the other way round it works.\n",
    ],
)
def test_two_native_packages_and_then_a_death(text: str, knowledge: Knowledge) -> None:
    report = report_on(text, knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == ("diagnosed", CONFLICT)


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\nSegmentation fault (core dumped)\n",
        "import torch\nimport xgboost\n\nmodel = xgboost.XGBClassifier()\nmodel.fit(x, y)\nSegmentation fault\n",
    ],
)
def test_less_than_that_is_a_guess(text: str, knowledge: Knowledge) -> None:
    first = report_on(text, knowledge).diagnoses[0]
    assert first.cause == CONFLICT and first.confidence < 0.5


@pytest.mark.parametrize(
    "text",
    [
        # It came back to the prompt.
        ">>> import torch\n>>> import tensorflow\n>>>\n",
        # Torchvision is a part of torch.
        ">>> import torch\n>>> import torchvision\n>>> int('x')\nValueError: invalid literal for int()\n",
        "WARNING: unsloth should be imported before transformers to be effective.\n",
    ],
)
def test_imports_without_a_death_are_no_clash(text: str, knowledge: Knowledge) -> None:
    assert CONFLICT not in [diagnosis.cause for diagnosis in report_on(text, knowledge).diagnoses]


@pytest.mark.parametrize("bare", ["Segmentation fault (core dumped)", "Floating point exception (core dumped)"])
def test_a_signal_alone_names_nothing(bare: str, knowledge: Knowledge) -> None:
    report = report_on(bare, knowledge)
    assert report.verdict == "unknown"
    assert "host.out-of-memory" not in [diagnosis.cause for diagnosis in report.diagnoses]


def test_sigfpe_beside_tensorflow_is_its_division(knowledge: Knowledge) -> None:
    text = "import tensorflow as tf\ntf.math.floormod(a, b)\nFloating point exception (core dumped)\n"
    assert report_on(text, knowledge).diagnoses[0].cause == "native.tf-bug"


@pytest.mark.parametrize(
    ("around", "cause"),
    [
        (">>> import numpy\nIllegal instruction (core dumped)\n", "cpu.missing-instructions"),
        ("CPU: Intel Core i7-920\nIllegal instruction (core dumped)\n", "cpu.missing-instructions"),
        ("MacBook Air with M2\nzsh: illegal hardware instruction  python train.py\n", "install.wrong-architecture"),
        (" 31%|###       | 63/204 [00:01<00:02, 66.83it/s]\nKilled\n", "host.out-of-memory"),
        ("Loading the dataset into memory\nKilled\n", "host.out-of-memory"),
    ],
)
def test_what_stands_around_a_signal_says_what_it_means(around: str, cause: str, knowledge: Knowledge) -> None:
    report = report_on(around, knowledge)
    assert (report.diagnoses[0].cause, report.diagnoses[0].confidence > 0.5) == (cause, True)


def test_a_kill_with_another_reason_is_not_memory(knowledge: Knowledge) -> None:
    text = "Epoch 3/10\nslurmstepd: error: *** JOB 7 CANCELLED AT 2024-01-01T00:00 DUE TO TIME LIMIT ***\nKilled\n"
    report = report_on(text, knowledge)
    assert report.diagnoses[0].cause == "other.stopped-for-time"
    assert all(one.confidence < 0.1 for one in report.diagnoses if one.cause == "host.out-of-memory")
