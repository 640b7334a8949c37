"""Versions that do not go together, worked out from what is known and from the tables of versions.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from building import clue, crash_of

from triage.clues.facts import Facts
from triage.clues.findings import ABSENT, UNSEEN, Hit
from triage.crash import Environment, Fact
from triage.knowledge.database import Knowledge


def found(knowledge: Knowledge, pair: str, **known: Any) -> Any:
    told = {
        name.replace("_", " "): known.pop(name)
        for name in ("cuda_built", "cudnn", "cudnn_built", "system_version")
        if name in known
    }
    facts = tuple(Fact(name, value, "told") for name, value in told.items())  # type: ignore[arg-type]
    crash = crash_of("a line", environment=Environment(facts=facts, **known))
    return Facts(crash, {}, knowledge.versions).find(clue({"id": "one", "clash": pair}).sought)


@pytest.mark.parametrize(
    ("pair", "known", "sentence"),
    [
        (
            "card and cuda",
            {"gpus": ("NVIDIA GeForce RTX 4090",), "packages": (("tensorflow", "2.10.0"),)},
            "NVIDIA GeForce RTX 4090 needs CUDA 11.8 or newer, and the wheel of TensorFlow 2.10.0 was built with 11.2",
        ),
        (
            "card and cuda",
            {"gpus": ("NVIDIA GeForce RTX 5090",), "cuda_built": "12.4"},
            "NVIDIA GeForce RTX 5090 needs CUDA 12.8 or newer, and the framework was built with 12.4",
        ),
        (
            "card and cuda",
            {"capability": "8.6", "packages": (("tensorflow", "2.3.1"),)},
            "a card of compute capability 8.6 needs CUDA 11.0 or newer, "
            "and the wheel of TensorFlow 2.3.1 was built with 10.1",
        ),
        (
            "driver and cuda",
            {"driver": "470.57.02", "os": "linux", "packages": (("torch", "2.3.1"),)},
            "CUDA 12.1 needs driver 525.60.13 or newer, and this is 470.57.02",
        ),
        (
            "python and framework",
            {"python": "3.12.1", "packages": (("tensorflow", "2.15.1"),)},
            "TensorFlow 2.15.1 has wheels for Python 3.9 to 3.11, and this is 3.12",
        ),
        (
            "python and framework",
            {"python": "3.7", "packages": (("torch", "2.1.0"),)},
            "PyTorch 2.1.0 has wheels for Python 3.8 to 3.11, and this is 3.7",
        ),
        (
            "keras and framework",
            {"packages": (("keras", "3.3.3"), ("tensorflow", "2.15.1"))},
            "Keras 3.3.3 is for TensorFlow 2.16 and newer, and this is 2.15.1",
        ),
        (
            "keras and framework",
            {"packages": (("keras", "2.15.0"), ("tensorflow", "2.17.0"))},
            "TensorFlow 2.17.0 comes with Keras 3, and this is Keras 2.15.0",
        ),
        (
            "add-on and framework",
            {"packages": (("tensorflow-text", "2.12.1"), ("tensorflow", "2.13.0"))},
            "tensorflow-text 2.12.1 is made for TensorFlow >=2.12,<2.13, and this is 2.13.0",
        ),
        (
            "jax and jaxlib",
            {"packages": (("jax", "0.4.4"), ("jaxlib", "0.4.7"))},
            "jaxlib 0.4.7 is newer than jax 0.4.4; the two must be of one release",
        ),
        (
            "cudnn and framework",
            {"cudnn": "8.0.5", "cudnn_built": "8.1.0"},
            "it was built with cuDNN 8.1.0, and this is 8.0.5",
        ),
        (
            "add-on and framework",
            {"packages": (("tensorflow-probability", "0.12.2"), ("tensorflow", "2.3.1"))},
            "tensorflow-probability 0.12.2 is made for TensorFlow >=2.4,<2.16, and this is 2.3.1",
        ),
        (
            "add-on and framework",
            {"packages": (("tf-keras", "2.16.0"), ("tensorflow", "2.18.0"))},
            "tf-keras 2.16.0 is made for TensorFlow >=2.16,<2.17, and this is 2.18.0",
        ),
        (
            "add-on and framework",
            {"packages": (("tensorflow-metal", "1.1.0"), ("tensorflow", "2.18.0"))},
            "tensorflow-metal 1.1.0 is made for TensorFlow >=2.14,<2.18, and this is 2.18.0",
        ),
        (
            "add-on and framework",
            {"packages": (("tensorflow-io", "0.17.1"), ("tensorflow", "2.5.0"))},
            "tensorflow-io 0.17.1 is made for TensorFlow >=2.4,<2.5, and this is 2.5.0",
        ),
        (
            "add-on and framework",
            {"packages": (("transformers", "5.2.0"), ("tensorflow", "2.19.0"))},
            "transformers 5.2.0 has nothing for TensorFlow any more",
        ),
        (
            "driver and ptx",
            {"driver": "525.85.12", "os": "linux", "cuda_built": "12.4"},
            "CUDA 12.4 came with driver 550.54.14, and this is 525.85.12",
        ),
        (
            "driver and ptx",
            {"driver": "531.14", "os": "windows", "cuda_built": "12.6"},
            "CUDA 12.6 came with driver 560.76, and this is 531.14",
        ),
        (
            "system and wheel",
            {"system_version": "CentOS Linux release 7.9", "packages": (("tensorflow", "2.21.0"),)},
            "the wheels of TensorFlow 2.21.0 want glibc 2.27, and CentOS 7 has 2.17",
        ),
        (
            "system and wheel",
            {"system_version": "Ubuntu 18.04", "packages": (("torch", "2.7.1"),)},
            "the wheels of PyTorch 2.7.1 want glibc 2.28, and Ubuntu 18.04 has 2.27",
        ),
        (
            "python and framework",
            {"python": "2.7", "os": "windows", "packages": (("tensorflow", "1.14.0"),)},
            "TensorFlow 1.14.0 has wheels for Python 3.5 to 3.7, and this is 2.7",
        ),
        (
            "card and cuda",
            {"gpus": ("NVIDIA B200",), "cuda_built": "12.4"},
            "NVIDIA B200 needs CUDA 12.8 or newer, and the framework was built with 12.4",
        ),
        (
            "card and cuda",
            {"gpus": ("NVIDIA B300 SXM6 AC",), "cuda_built": "12.8"},
            "NVIDIA B300 SXM6 AC needs CUDA 12.9 or newer, and the framework was built with 12.8",
        ),
        (
            "card and cuda",
            {"gpus": ("NVIDIA RTX PRO 6000 Blackwell Server Edition",), "cuda_built": "12.6"},
            "NVIDIA RTX PRO 6000 Blackwell Server Edition needs CUDA 12.8 or newer, "
            "and the framework was built with 12.6",
        ),
    ],
)
def test_a_clash_is_told_with_its_numbers(
    knowledge: Knowledge, pair: str, known: dict[str, Any], sentence: str
) -> None:
    hit = found(knowledge, pair, **known)
    assert isinstance(hit, Hit)
    assert (hit.quote, hit.values["clash"]) == (sentence, sentence)


@pytest.mark.parametrize("package", ["numpy", "protobuf"])
def test_a_package_that_tensorflow_refuses(knowledge: Knowledge, package: str) -> None:
    hit = found(knowledge, f"{package} and framework", packages=(("tensorflow", "2.4.1"), (package, "99.0")))
    assert isinstance(hit, Hit)
    assert hit.quote.startswith(f"TensorFlow 2.4.1 wants {package}")


@pytest.mark.parametrize(
    ("pair", "known"),
    [
        ("card and cuda", {"gpus": ("NVIDIA GeForce RTX 3080",), "packages": (("tensorflow", "2.10.0"),)}),
        ("driver and cuda", {"driver": "535.104.05", "os": "linux", "packages": (("torch", "2.3.1"),)}),
        ("python and framework", {"python": "3.10", "packages": (("jax", "0.5.0"),)}),
        ("cudnn and framework", {"cudnn": "8.9.2", "packages": (("tensorflow", "2.10.0"),)}),
        ("add-on and framework", {"packages": (("tensorflow-probability", "0.25.0"), ("tensorflow", "2.20.0"))}),
        ("driver and ptx", {"driver": "550.54.14", "os": "linux", "cuda_built": "12.4"}),
        ("system and wheel", {"system_version": "Ubuntu 22.04", "packages": (("tensorflow", "2.21.0"),)}),
        ("python and framework", {"python": "2.7", "os": "linux", "packages": (("tensorflow", "1.14.0"),)}),
        ("python and framework", {"python": "3.5", "os": "windows", "packages": (("tensorflow", "1.0.1"),)}),
    ],
)
def test_versions_that_fit_are_no_clash(knowledge: Knowledge, pair: str, known: dict[str, Any]) -> None:
    assert found(knowledge, pair, **known) == ABSENT


@pytest.mark.parametrize("pair", ["card and cuda", "driver and cuda", "python and framework", "jax and jaxlib"])
def test_where_one_version_is_unknown_nothing_is_said(knowledge: Knowledge, pair: str) -> None:
    assert found(knowledge, pair, python="3.8", driver="470.57") == UNSEEN
