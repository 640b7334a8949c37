"""The claims of the five documents, tried on real TensorFlow: what is written down of each is what happens here.

fixtures/claims/check.py tries them all, most in one process; this holds what it saw against signatures/documents.yaml.
"""

from __future__ import annotations

import ast
import json
import platform
import subprocess
import sys
from typing import Any

import pytest
import yaml
from conftest import REPOSITORY, REQUIRED

FOLDER = REPOSITORY / "fixtures" / "claims"
CLAIMS: dict[int, dict[str, Any]] = yaml.safe_load((REPOSITORY / "signatures/documents.yaml").read_text("utf-8"))[
    "claims"
]
REPRODUCED = {number: claim for number, claim in CLAIMS.items() if "reproducer" in claim}
GRADES = ("reproduced", "partly", "different", "refuted", "untested")
SECONDS = 600


def claims_in(file: str) -> set[int]:
    """The numbers of the claims that a module tries."""
    tree = ast.parse((REPOSITORY / file).read_text("utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {int(name.removeprefix("claim_")) for name in names if name.startswith("claim_")}


@pytest.fixture(scope="module")
def seen() -> dict[int, dict[str, Any]]:
    """What check.py saw of each claim."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("the grades are those of Linux on x86-64")
    done = subprocess.run([sys.executable, FOLDER / "check.py"], capture_output=True, text=True, timeout=SECONDS)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"claim"')]
    assert done.returncode == 0, f"it ended with {done.returncode} after {told[-1:]}: {done.stderr[-2000:]}"
    return {entry["claim"]: entry for entry in told}


@pytest.mark.parametrize("number", REPRODUCED)
def test_a_claim_turns_out_as_it_is_graded(request, require, number):
    require("tensorflow")
    entry = request.getfixturevalue("seen")[number]
    if missing := entry.get("missing"):
        pytest.fail(f"{missing} is not here") if missing in REQUIRED else pytest.skip(f"{missing} is not here")
    assert "error" not in entry, entry["error"]
    assert entry["grade"] == CLAIMS[number]["grade"]


@pytest.mark.parametrize("number", CLAIMS)
def test_a_claim_has_a_reproducer_or_a_reason_why_it_cannot_run_here(number):
    claim = CLAIMS[number]
    assert claim["grade"] in GRADES
    assert ("not_run" in claim) == (claim["grade"] == "untested")
    if "reproducer" in claim:
        assert number in claims_in(claim["reproducer"]), "its module has no function for it"
    else:
        assert claim["not_run"] == "needs a GPU"


def test_no_function_tries_a_claim_that_is_not_written_down():
    tried = {number: path for path in FOLDER.glob("*.py") for number in claims_in(str(path.relative_to(REPOSITORY)))}
    assert {number: f"fixtures/claims/{path.name}" for number, path in tried.items()} == {
        number: claim["reproducer"] for number, claim in REPRODUCED.items()
    }


def test_every_claim_is_there():
    assert list(CLAIMS) == list(range(1, 59))


@pytest.mark.parametrize("number", CLAIMS)
def test_what_holds_or_fails_otherwise_says_which_signatures_it_speaks_for(number):
    claim = CLAIMS[number]
    if claim["grade"] in ("reproduced", "partly", "different"):
        assert isinstance(claim.get("supports"), list)
    if claim["grade"] == "refuted":
        assert not claim.get("supports"), "what is refuted speaks for nothing"
