"""Which steps act, which only look, and what each person would see first."""

from __future__ import annotations

from typing import Any

import pytest
from building import signature_data

from triage.knowledge.signature import Fix, Person, Signature, parse_signature
from triage.knowledge.steps import command_only_looks, first_steps, only_looks


def signature_with(*steps: dict[str, Any], **changes: Any) -> Signature:
    fix = [{"verify": "it runs", **step} for step in steps]
    return parse_signature("house/a", "house", signature_data(fix=fix, **changes))


def step(do: str, run: Any = None, otherwise: str | None = None) -> Fix:
    return signature_with({"do": do, "run": run, "otherwise": otherwise}).fix[0]


@pytest.mark.parametrize(
    ("do", "run"),
    [
        ("See which driver is installed.", "nvidia-smi"),
        ("Look at the op that the check names; a negative axis is the usual reason.", None),
        ("The last line says what is wrong. Paste the whole traceback.", None),
        ("On Linux let NCCL say which call failed.", "NCCL_DEBUG=INFO python SCRIPT"),
        (
            "Run with blocking launches, so that the op that is named is the one at fault.",
            "CUDA_LAUNCH_BLOCKING=1 python SCRIPT",
        ),
        ("Run it under NVIDIA's checker.", "compute-sanitizer ./PROGRAM"),
        ("For 'Compilation failed', read the line of g++ before it. Then empty the cache.", None),
    ],
)
def test_a_step_that_begins_with_a_look(do: str, run: str | None) -> None:
    assert only_looks(step(do, run))


@pytest.mark.parametrize(
    ("do", "run"),
    [
        ("Install the NVIDIA driver.", "nvidia-smi"),
        ("Set the paging file to 16 GB.", 'powershell -Command "Get-CimInstance Win32_PageFileUsage"'),
        ("Run on a newer glibc (a container).", "ldd --version"),
        ("Run once without oneDNN.", "TF_ENABLE_ONEDNN_OPTS=0 python SCRIPT"),
        (
            "Where the cards cannot reach each other, let them exchange through the host.",
            "NCCL_P2P_DISABLE=1 python SCRIPT",
        ),
        ("If import torch itself stops, install PyTorch anew.", None),
        ("Ask for less at a time, with a smaller batch.", None),
        ("Go back to NumPy 1, which still has the name.", 'python -m pip install "numpy<2"'),
    ],
)
def test_a_step_that_acts(do: str, run: str | None) -> None:
    assert not only_looks(step(do, run))


def test_numbers_of_the_crash_are_judged_by_the_sentence_without_them() -> None:
    assert not only_looks(step("{batch_advice}", otherwise="Lower the batch by halves."))
    assert only_looks(step("{batch_advice}", otherwise="Compare the batch with the card."))


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ('python -c "import torch; print(torch.__version__)"', True),
        ("python -m pip show tensorflow && nvidia-smi", True),
        ("dmesg | grep -i -E 'killed process|oom'", True),
        ("dmesg | sudo tee log", False),
        ("python -m pip list && python -m pip install --upgrade pip", False),
        ("nvidia-smi -lgc 300,1200", False),
        ("ulimit -v; ulimit -v unlimited; python SCRIPT", False),
        ("CUDA_LAUNCH_BLOCKING=1 NCCL_P2P_DISABLE=1 python SCRIPT", False),
    ],
)
def test_a_command_that_changes_nothing(command: str, looks: bool) -> None:
    assert command_only_looks(command) is looks


def firsts(signature: Signature) -> dict[int | None, Person]:
    return {first.number: first.person for first in first_steps(signature)}


def test_each_framework_and_everybody_else_has_a_first_step() -> None:
    own = {"do": "Reinstall torch.", "for": {"framework": "pytorch"}}
    assert set(firsts(signature_with(own, {"do": "Wait."}))) == {0, 1}


def test_versions_beside_every_bound_are_tried() -> None:
    old = {"do": "Upgrade.", "for": {"framework": "tensorflow", "versions": "<2.11"}}
    tried = firsts(signature_with(old, {"do": "See."}, applies={"framework": "tensorflow"}))
    assert tried[1] == Person("tensorflow", "2.11", None, None)


def test_a_step_for_a_clue_is_no_first_step_for_those_who_do_not_have_it() -> None:
    clues = [{"id": "greeting", "log": "house greeting"}, {"id": "farewell", "log": "house farewell"}]
    seen = {"do": "Greet back.", "for": {"seen": "greeting"}}
    assert set(firsts(signature_with(seen, {"do": "Wait."}, clues=clues))) == {0, 1}


def test_where_each_clue_has_its_step_nobody_has_none_of_them() -> None:
    clues = [{"id": "greeting", "log": "house greeting"}, {"id": "farewell", "log": "house farewell"}]
    greet = {"do": "Greet back.", "for": {"seen": "greeting"}}
    leave = {"do": "Go.", "for": {"seen": "farewell"}}
    assert set(firsts(signature_with(greet, leave, {"do": "See."}, clues=clues))) == {0, 1}


def test_systems_of_the_signature_only() -> None:
    windows = {"do": "Install it.", "for": {"os": "windows"}}
    assert set(firsts(signature_with(windows, applies={"os": ["windows"]}))) == {0}
