"""The schema for editors and the parsers agree on what a signature may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from building import signature_data
from conftest import REPOSITORY

from triage.clues import KINDS, parse_clue
from triage.clues.clash import PAIRS
from triage.clues.fault import ACCESSES, ADDRESSES
from triage.clues.interface import SignatureError
from triage.clues.memory import CONDITIONS
from triage.knowledge.pack_files import load_yaml
from triage.knowledge.schema import FILE, schema_text, signature_schema
from triage.knowledge.signature import parse_signature
from triage.maintain.draft.template import blank_signature

OURS = REPOSITORY / "signatures"
FILES = sorted(OURS.glob("*/*.yaml"))
SCHEMA = signature_schema()
CHECK = jsonschema.Draft7Validator(SCHEMA)
PAGE = {"title": "Full", "inside": "x", "shows": ["x"], "sure": "x", "fix": "x"}
LOG = {"log": "house greeting"}
# Values to try: for each kind of clue as a whole, and for each of its fields.
VALUES = ["text", "", 3, -1, 0.5, True, False, None, [], ["a", "b"], [3, "untold"], ["a", 3], {}, {"a": "b"}, {"a": 3}]
VALUES += [*ADDRESSES, *ACCESSES, *CONDITIONS, *PAIRS, "untold", LOG, [LOG], [LOG, LOG]]
VALUES += [[{"native": "f"}], [{"native": "f"}, {"process": {"forked_with": "x"}}], [{"native": "f"}, LOG]]


def is_taken(clue: Any) -> bool:
    try:
        parse_clue(clue, (), p=0.5)
    except SignatureError:
        return False
    return True


def is_signature(data: Any) -> bool:
    try:
        parse_signature("house/a", "house", data)
    except SignatureError:
        return False
    return True


def test_the_file_is_up_to_date_with_the_model() -> None:
    assert (OURS / FILE).read_text("utf-8") == schema_text(), "out of date; run make schema"
    jsonschema.Draft7Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_each_of_our_signatures_and_causes_is_valid(file: Path) -> None:
    assert [error.message for error in CHECK.iter_errors(load_yaml(file.read_text("utf-8")))] == []


def test_a_blank_signature_is_valid() -> None:
    assert CHECK.is_valid(load_yaml(blank_signature("It broke", "gpu.out-of-memory")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_clue_is_valid_if_the_program_accepts_it(kind: str) -> None:
    check = jsonschema.Draft7Validator({**SCHEMA["definitions"]["clue"], "definitions": SCHEMA["definitions"]})
    fields = tuple(KINDS[kind].fields)
    written = [*VALUES, *({field: value} for field in fields for value in VALUES), {"unheard_of": "x"}]
    written += [{one: "x", other: "y"} for one in fields for other in fields if one != other]
    tried = [{kind: value} for value in written]
    assert any(is_taken(clue) for clue in tried) and not all(is_taken(clue) for clue in tried)
    assert [clue for clue in tried if check.is_valid(clue) != is_taken(clue)] == []


@pytest.mark.parametrize(
    "beside",
    [
        *({}, {"id": "a"}, {"p": 0.5}, {"p": 1}, {"p": "0.5"}, {"b": 0}, {"b": True}, {"says": "x"}, {"says": 3}),
        *({"consequence_of": "a.b"}, {"consequence_of": ["a.b"]}, {"consequence_of": 3}),
        *({"exit": "SIGSEGV"}, {"smell": "burnt"}),
    ],
    ids=str,
)
def test_what_is_beside_a_clue_is_valid_if_the_program_accepts_it(beside: dict[str, Any]) -> None:
    assert CHECK.is_valid(signature_data(clues=[{**LOG, **beside}])) == is_taken({**LOG, **beside})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"colour": "red"},
        {"title": None},
        {"grade": "certain"},
        {"grade": "refuted"},
        {"grade": "refuted", "note": "It does not."},
        {"applies": {"os": ["linux"], "device": "gpu"}},
        {"applies": {"moon": "full"}},
        {"clues": []},
        {"clues": LOG},
        {"against": [LOG]},
        {"against": [{"smell": "burnt"}]},
        {"fix": [{"do": "Wait."}]},
        {"fix": [{"do": "Wait.", "verify": "it went", "risk": "huge"}]},
        {"fix": [{"do": "Wait.", "verify": "it went", "run": None}]},
        {"fix": [{"do": "Wait.", "verify": "it went", "run": {"linux": "sleep 1", "default": "wait"}}]},
        {"fix": [{"do": "Wait.", "verify": "it went", "run": {"amiga": "wait"}}]},
        {"fix": [{"do": "Wait.", "verify": "it went", "hurry": True}]},
        {"sources": ["hearsay"]},
        {"tests": {"match": "a.log"}},
        {"tests": {"match": ["a.log", {"log": "a.log", "exit": 139}, {"crasher": "a.py"}]}},
        {"tests": {"match": [{"exit": 139}]}},
        {"tests": {"match": [{"crasher": "a.py", "exit": 139}]}},
    ],
    ids=str,
)
def test_a_signature_is_valid_if_the_program_accepts_it(changes: dict[str, Any]) -> None:
    data = {key: value for key, value in signature_data(**changes).items() if value is not None}
    assert CHECK.is_valid(data) == is_signature(data)


@pytest.mark.parametrize(
    ("causes", "valid"),
    [
        ({"house.full": {**PAGE, "prior": 0.01, "mistaken_for": {"house.empty": "x"}}}, True),
        ({"not-a-crash": PAGE}, True),
        ({"house.full": {**PAGE, "prior": 1}}, False),
        ({"house.full": {**PAGE, "inside": None}}, False),
        ({"house.full": {key: text for key, text in PAGE.items() if key != "sure"}}, False),
        ({"house.full": {**PAGE, "colour": "red"}}, False),
        ({"house.full": "a text"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_causes_are_valid_if_their_pages_are_complete(causes: dict[str, Any], valid: bool) -> None:
    assert CHECK.is_valid(causes) == valid


def test_everything_that_can_be_written_is_described() -> None:
    definitions = SCHEMA["definitions"]
    steps = definitions["signature"]["properties"]["fix"]["items"]
    written_as_mappings = [name for name, kind in KINDS.items() if kind.fields]
    kinds = [definitions["clue"]["properties"][kind] for kind in written_as_mappings]
    mappings = [part for kind in kinds for part in kind.get("anyOf", [kind]) if "properties" in part]
    assert len(mappings) == len(written_as_mappings)
    for part in (definitions["signature"], definitions["clue"], definitions["causes"]["additionalProperties"], steps):
        mappings.append(part)
    for part in mappings:
        assert [name for name, form in part["properties"].items() if not form.get("description")] == []
