"""Claims that reports answer: what a pack may write, what lint refuses, and that the index has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import signature_data, write_pack

import triage
from triage.knowledge.database import built_knowledge
from triage.knowledge.pack import PackData, our_directory
from triage.knowledge.pack_files import read_pack
from triage.maintain.prove import lint_packs

SLUG = "house/scheduler"


def claim(**changes: Any) -> dict[str, Any]:
    """A claim with nothing wrong in it."""
    return {
        "document": "house.txt",
        "says": "The scheduler never takes a node away.",
        "grade": "refuted",
        "outcome": "It does.",
        "supports": [SLUG],
        "heard_when": {"log": "the node was taken away"},
        "instead": "The scheduler does take nodes away.",
        **changes,
    }


def pack_with(directory: Path, **changes: Any) -> Path:
    documents = {"documents": {"house.txt": {"title": "House", "asks": "Why?"}}, "claims": {900: claim(**changes)}}
    return write_pack(directory / "house", {SLUG: signature_data()}, documents=documents)


def test_the_index_of_a_wheel_has_them() -> None:
    ours = read_pack(our_directory(), "triage")
    assert built_knowledge(ours).claims == triage.load_knowledge().claims != ()


def test_a_private_pack_may_answer_claims_of_its_own(tmp_path: Path) -> None:
    pack = pack_with(tmp_path)
    assert lint_packs((str(pack),)).problems == ()
    report = triage.analyze(b"the node was taken away\nAborted (core dumped)\n", signatures=[pack])
    assert [(one.claim, one.text) for one in report.hearsay] == [(900, "The scheduler does take nodes away.")]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"instead": None}, "no line for the people who have read the claim"),
        ({"instead": "long " * 40}, "no line for the people who have read the claim"),
        ({"except_for": "shape"}, "'except_for' is a list of causes"),
        ({"except_for": ["unheard-of"]}, "unknown cause 'unheard-of'"),
        ({"supports": ["house/none"]}, "unknown signature 'house/none'"),
        ({"document": "other.txt"}, "unknown document 'other.txt'"),
        ({"heard_when": {"log": "(?=ahead) of the words"}}, "RE2 does not take"),
        ({"heard_when": {"log": "OOM"}}, "no fixed text of 4 characters"),
    ],
)
def test_a_misleading_claim_is_refused_with_its_place(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    problems = [str(problem) for problem in lint_packs((str(pack_with(tmp_path, **changes)),)).problems]
    assert any(says in problem and "documents.yaml:" in problem for problem in problems), problems


def test_a_broken_claim_of_ours_stops_the_build() -> None:
    ours = read_pack(our_directory(), "triage")
    broken = {**ours.tables, "documents": {"documents": {}, "claims": {1: claim(instead=None)}}}
    with pytest.raises(ValueError, match="no line for the people who have read the claim"):
        built_knowledge(PackData("triage", ours.directory, ours.signatures, broken))
