"""`signature.schema.json`: what an editor completes and checks while somebody writes a signature or a cause.

Field names, words and what is required come from the model; this module adds what each field holds. `make schema`
writes the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from triage import crash
from triage.clues import KINDS
from triage.clues.interface import Holds, Kind
from triage.clues.syntax import COMMON
from triage.knowledge import notice, signature
from triage.knowledge.lint import PAGE_REQUIRED
from triage.knowledge.pack import our_directory

FILE = "signature.schema.json"

_Form = dict[str, Any]
_TEXT: _Form = {"type": "string", "minLength": 1}
_TEXTS: _Form = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_STATUSES: _Form = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_WHOLE: _Form = {"type": "integer", "minimum": 0}
_BETWEEN: _Form = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_CLUES: _Form = {"type": "array", "items": {"$ref": "#/definitions/clue"}}


def _described(description: str, form: _Form) -> _Form:
    return {"description": description, **form}


def _one_of(words: tuple[str, ...]) -> _Form:
    return {"enum": list(words)}


def _mapping(forms: dict[str, _Form], names: tuple[str, ...], **more: Any) -> _Form:
    """A mapping of these fields and no others; a field of the model that nobody has described is a KeyError."""
    properties = {name: forms[name] for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


_SUBCODE: _Form = {"anyOf": [_WHOLE, {"const": "untold"}]}
# What a field may hold, as JSON Schema.
_HOLDS: dict[Holds, _Form] = {
    "text": _TEXT,
    "texts": _TEXTS,
    "statuses": _STATUSES,
    "subcodes": {"anyOf": [*_SUBCODE["anyOf"], {"type": "array", "items": _SUBCODE}]},
    "whole": _WHOLE,
    "true": {"const": True},
    "yes or no": {"type": "boolean"},
    "ranges": {"type": "object", "additionalProperties": _TEXT},
}
_BESIDE_CLUES: dict[str, _Form] = {
    "id": _described("The clue's name in this signature.", {"type": ["string", "integer"]}),
    "p": _described("How often the clue is seen with this cause.", _BETWEEN),
    "b": _described("How often it is seen with other causes; leave it out for the default of its kind.", _BETWEEN),
    "says": _described("What it means, a sentence for the report.", {"type": ["string", "null"]}),
    "consequence_of": _described("Where one of these causes shows by itself, the clue counts for nothing.", _TEXTS),
}
_RUN = _mapping({key: {"type": "string"} for key in signature.RUN_FIELDS}, signature.RUN_FIELDS, minProperties=1)
_SYSTEMS: _Form = {
    "anyOf": [_one_of(signature.SYSTEMS), {"type": "array", "items": _one_of(signature.SYSTEMS), "minItems": 1}]
}
_OF_AUDIENCES: dict[str, _Form] = {
    "framework": _described(
        "The framework of the program, or several.",
        {"anyOf": [_one_of(crash.FRAMEWORKS), {"type": "array", "items": _one_of(crash.FRAMEWORKS), "minItems": 1}]},
    ),
    "versions": _described("A range of that framework's version.", _TEXT),
    "os": _described("The system, or several.", _SYSTEMS),
    "card": _described("Who made the card; NVIDIA where nothing shows it.", _one_of(signature.CARDS)),
    "processor": _described("The kind of processor; x86 where nothing shows it.", _one_of(signature.PROCESSORS)),
    "own_code": _described("Whether it failed in the person's own code.", {"type": "boolean"}),
    "seen": _described("A clue of this signature, or a wording of an `any`, that was found.", _TEXT),
    "language": _described(
        "The language of the program, or several.",
        {"anyOf": [_one_of(crash.LANGUAGES), {"type": "array", "items": _one_of(crash.LANGUAGES), "minItems": 1}]},
    ),
}
_AUDIENCE = _mapping(_OF_AUDIENCES, signature.AUDIENCE_FIELDS, minProperties=1)
_OF_FIXES: dict[str, _Form] = {
    "for": _described(
        "For whom the step holds; for everybody where it is left out.",
        _AUDIENCE,
    ),
    "unless": _described(
        "For whom the step does not hold, because another is meant for them.",
        {"anyOf": [_AUDIENCE, {"type": "array", "items": _AUDIENCE, "minItems": 1}]},
    ),
    "do": _described("What to do, exactly; {placeholders} are filled from named groups.", _TEXT),
    "otherwise": _described("The same advice where the placeholders cannot be filled.", _TEXT),
    "run": _described("The command, or one for each system.", {"anyOf": [{"type": ["string", "null"]}, _RUN]}),
    "risk": _described("What it may break.", _one_of(signature.RISKS)),
    "verify": _described("How the person sees that it helped.", _TEXT),
    "if_not": _described("What it means if it did not help, and what to try then.", _TEXT),
    "look_first": _described("Why nothing can be done before looking, for a first step that only looks.", _TEXT),
}
_EXAMPLE: _Form = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "properties": {
                "log": _described("A log, from the pack's root.", _TEXT),
                "exit": _described("The exit status that came with it.", {"type": ["string", "integer", "null"]}),
                "cause": _described("The cause expected there.", {"type": ["string", "null"]}),
            },
            "required": ["log"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"crasher": _described("A script to run, for what only a running program shows.", _TEXT)},
            "required": ["crasher"],
            "additionalProperties": False,
        },
    ]
}
_EXAMPLES: _Form = {"type": "array", "items": _EXAMPLE}
_OF_SIGNATURES: dict[str, _Form] = {
    "title": _described("What happened, in one plain sentence.", _TEXT),
    "cause": _described("A slug that 'triage signatures list --causes' prints.", _TEXT),
    "grade": _described("How well it is proven.", _one_of(signature.GRADES)),
    "applies": _described(
        "Where it can happen at all.",
        {
            "type": "object",
            "properties": {
                "os": {"anyOf": [_one_of(signature.SYSTEMS), {"type": "array", "items": _one_of(signature.SYSTEMS)}]},
                "device": _TEXT,
                "framework": _described(
                    "Whose it is; 'any' where the clues show it in any program.", _one_of(signature.FRAMEWORKS)
                ),
            },
            "additionalProperties": False,
        },
    ),
    "tells": _described(
        "'whose' if it only shows which program reports the error, so that the answer is never a sure one; else 'why'.",
        _one_of(signature.TELLS),
    ),
    "clues": _described("What speaks for it.", {**_CLUES, "minItems": 1}),
    "against": _described("What speaks against it.", _CLUES),
    "fix": _described(
        "The steps, the likeliest and cheapest first.",
        {
            "type": "array",
            "items": _mapping(_OF_FIXES, signature.FIX_FIELDS, required=["do", "verify"]),
            "minItems": 1,
        },
    ),
    "confirm": _described("How to be sure that it is this.", {"type": "array", "items": _TEXT}),
    "sources": _described(
        "What it rests on: {issue: OWNER/REPOSITORY#1}, {reproducer: FILE}, {document: NAME, claim: NUMBER}.",
        {"type": "array", "items": {"type": "object"}, "minItems": 1},
    ),
    "tests": _described(
        "Logs it must recognise (match) and near ones that are something else (differ).",
        {
            "type": "object",
            "properties": {"match": _EXAMPLES, "differ": _EXAMPLES},
            "additionalProperties": False,
            "minProperties": 1,
        },
    ),
    "note": _described("What else to know; a refuted claim says here what really happens.", _TEXT),
}
_OF_PAGES: dict[str, _Form] = {
    "prior": _described("How common it is among all crashes.", _BETWEEN),
    "title": _described("A plain statement.", _TEXT),
    "inside": _described("What happens in the process.", _TEXTS),
    "shows": _described("What the person sees.", _TEXTS),
    "exits": _described("What it usually ends with; hang: it does not end.", {"type": "array", "items": _TEXT}),
    "sure": _described("What separates it from its neighbours.", _TEXTS),
    "fix": _described("The usual cures, the likeliest and cheapest first.", _TEXTS),
    "mistaken_for": _described(
        "Neighbours, each with the difference.", {"type": "object", "additionalProperties": {"type": "string"}}
    ),
    "documented": _described(
        "Public pages and threads.",
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": _TEXT, "where": _TEXT},
                "required": ["title", "where"],
                "additionalProperties": False,
            },
        },
    ),
}


_SEVERAL: _Form = {"type": "array", "items": _TEXT, "minItems": 1}
_HAS_PATTERNS: _Form = {"type": "object", "required": ["match"]}
_OF_NOTICES: dict[str, _Form] = {
    "match": _described("Patterns of the words that the program always prints, whatever stands before them.", _SEVERAL),
    "lines": _described("The lines as they are printed: a broken or cut one is known by them.", _SEVERAL),
    "from": _described("Who prints it, and when.", _TEXT),
    "means": _described("What it means, in one to three sentences.", _TEXT),
    "harm": _described("What it does; check: it depends, and the person should look.", _one_of(notice.HARMS)),
    "cost": _described("What it costs, and how not to pay it; only where it is not harmless.", _TEXT),
    "silence": _described("How to silence it: the exact setting.", _TEXT),
    "versions": _described("Which versions print it.", _TEXT),
    "becomes": _described("The cause of which the same line is the root, once something has failed.", _TEXT),
    "fallback": _described("It explains only what no other notice does.", {"type": "boolean"}),
    "sources": _described("The source file or the thread that the knowledge is from.", _SEVERAL),
}


def signature_schema() -> _Form:
    """The schema of a signature file, of a family's causes and of a source's notices, distinguished by their keys."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A signature of triage, the causes of a family, or the notices of a source",
        "description": "Made by `make schema`; do not edit.",
        "if": {"type": "object", "minProperties": 1, "additionalProperties": _HAS_PATTERNS},
        "then": {"$ref": "#/definitions/notices"},
        "else": {
            # Every cause has a dot or a dash in its name, and no field of a signature has.
            "if": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "[.-]"}},
            "then": {"$ref": "#/definitions/causes"},
            "else": {"$ref": "#/definitions/signature"},
        },
        "definitions": {
            "signature": {
                **_mapping(_OF_SIGNATURES, signature.FIELDS, required=list(signature.REQUIRED)),
                "if": {"required": ["grade"], "properties": {"grade": {"const": "refuted"}}},
                "then": {"required": ["note"]},
            },
            "clue": _clue(tuple(KINDS)),
            "clue_of_a_thread": _clue(tuple(name for name, kind in KINDS.items() if kind.of_a_thread)),
            "causes": {
                "type": "object",
                "additionalProperties": _mapping(_OF_PAGES, tuple(_OF_PAGES), required=list(PAGE_REQUIRED)),
            },
            "notices": {
                "type": "object",
                "additionalProperties": _mapping(
                    _OF_NOTICES, (*notice.REQUIRED, *notice.OPTIONAL), required=list(notice.REQUIRED)
                ),
            },
        },
    }


def _clue(kinds: tuple[str, ...]) -> _Form:
    """A clue of one of these kinds."""
    forms = {**_BESIDE_CLUES, **{name: _described(_about(KINDS[name]), _kind(name)) for name in kinds}}
    return _mapping(forms, (*kinds, *COMMON), oneOf=[{"required": [kind]} for kind in kinds])


def _about(kind: Kind) -> str:
    """The first paragraph of what the model says about a kind."""
    return " ".join((kind.form.__doc__ or "").split("\n\n")[0].split())


def _kind(name: str) -> _Form:
    kind = KINDS[name]
    if kind.least_inner:
        inner = "clue_of_a_thread" if name == "thread" else "clue"
        return {"type": "array", "items": {"$ref": f"#/definitions/{inner}"}, "minItems": kind.least_inner}
    forms = [_held(kind.short)] if kind.short else []
    if kind.fields:
        fields = {field: _described(about.means, _held(about.holds)) for field, about in kind.fields.items()}
        forms.append(_mapping(fields, tuple(fields), minProperties=1, **kind.needs))
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _held(holds: Holds) -> _Form:
    if not isinstance(holds, tuple):
        return _HOLDS[holds]
    # YAML reads a bare null as nothing.
    return {"enum": [*holds, *([None] if "null" in holds else [])]}


def schema_text() -> str:
    """The file's text."""
    return json.dumps(signature_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(our_directory(), FILE).write_text(schema_text(), encoding="utf-8")
