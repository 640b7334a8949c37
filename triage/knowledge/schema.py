"""`signature.schema.json`: what an editor completes and checks while somebody writes a signature or a cause.

Names, words and what is required come from the model; here stands what each holds. `make schema` writes the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_type_hints

from triage.knowledge import clues, signature
from triage.knowledge.lint import PAGE_REQUIRED
from triage.knowledge.pack import our_directory

FILE = "signature.schema.json"

Form = dict[str, Any]
_TEXT: Form = {"type": "string", "minLength": 1}
_TEXTS: Form = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_STATUSES: Form = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_WHOLE: Form = {"type": "integer", "minimum": 0}
_BETWEEN: Form = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_CLUES: Form = {"type": "array", "items": {"$ref": "#/definitions/clue"}}


def _said(description: str, form: Form) -> Form:
    return {"description": description, **form}


def _one_of(words: tuple[str, ...]) -> Form:
    return {"enum": list(words)}


def _mapping(forms: dict[str, Form], names: tuple[str, ...], **more: Any) -> Form:
    """A mapping of these fields and no others; a field of the model that nobody has described is a KeyError."""
    properties = {name: forms[name] for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


_SUBCODE: Form = {"anyOf": [_WHOLE, {"const": "untold"}]}
# What the fields of clues hold; one name means the same in every kind.
_OF_CLUES: dict[str, Form] = {
    "type": _said("A pattern over the exception's type, with its module.", _TEXT),
    "message": _said("A pattern over the exception's message.", _TEXT),
    "status": _said("How it ended: SIGSEGV, '0xC0000409', 'exit 1' or timeout; one or a list.", _STATUSES),
    "subcode": _said(
        "Fast-fail subcodes: numbers, or untold where nobody told one.",
        {"anyOf": [*_SUBCODE["anyOf"], {"type": "array", "items": _SUBCODE}]},
    ),
    "function": _said("A pattern over the frame's function.", _TEXT),
    "module": _said("A pattern over the library of the frame.", _TEXT),
    "file": _said("A pattern over the file of the frame.", _TEXT),
    "within": _said("Only among so many frames from the innermost one.", _WHOLE),
    "repeated": _said("One function stands so many times in the stack.", _WHOLE),
    "own": _said("The frame is of the person's own code.", {"const": True}),
    "address": _said("Where the address lies.", {"enum": [*clues.FAULT_ADDRESSES, None]}),
    "access": _said("What was tried there.", _one_of(clues.FAULT_ACCESSES)),
    "instruction": _said("A pattern over the instruction.", _TEXT),
    "needs_missing_flag": _said("The instruction needs what the processor does not list.", {"type": "boolean"}),
    "stack_full": _said("The stack is used up.", {"type": "boolean"}),
    "says": _said("A pattern over what a dump's reader makes of the fault.", _TEXT),
    "missing_library": _said("A pattern over the library that was not there at its first call.", _TEXT),
    "present": _said("A pattern over the name of a library that is loaded.", _TEXT),
    "absent": _said("A pattern over the name of a library that is not loaded.", _TEXT),
    "version": _said("A range of versions: '>=8.3,<9'.", _TEXT),
    "twice": _said("A pattern of which one process has two.", _TEXT),
    "os": _said("One or several of linux, windows, macos.", _TEXTS),
    "python": _said("A range of Python versions.", _TEXT),
    "package": _said("Packages with the range of their versions.", {"type": "object", "additionalProperties": _TEXT}),
    "lacks_cpu_flag": _said("What the processor does not have, such as avx.", _TEXT),
    "gpu": _said("A pattern over the name of the card.", _TEXT),
    "forked_with": _said("The process was forked from one in which this had started.", _TEXT),
    "not_forked_with": _said("No process was forked from one in which this had started.", _TEXT),
}
_BESIDE_CLUES: dict[str, Form] = {
    "id": _said("The clue's name in this signature.", {"type": ["string", "integer"]}),
    "p": _said("How often the clue is seen with this cause.", _BETWEEN),
    "b": _said("How often it is seen with other causes; leave it out for the default of its kind.", _BETWEEN),
    "says": _said("What it means, a sentence for the report.", {"type": ["string", "null"]}),
    "consequence_of": _said("Where one of these causes shows by itself, the clue counts for nothing.", _TEXTS),
}
# What a mapping of a kind needs besides its fields.
_NEEDS: dict[str, Form] = {
    "exit": {"required": ["status"]},
    "module": {
        "oneOf": [
            {"required": ["present"]},
            {"required": ["absent"]},
            {"required": ["twice"], "not": {"required": ["version"]}},
        ]
    },
    "process": {"maxProperties": 1},
}
# Kinds that are written as a mapping, and for short as a text (or several) alone.
_SHORT: dict[str, Form] = {"exception": _TEXT, "exit": _STATUSES, "native": _TEXT, "module": _TEXT}
_RUN = _mapping({key: {"type": "string"} for key in signature.RUN_FIELDS}, signature.RUN_FIELDS, minProperties=1)
_OF_FIXES: dict[str, Form] = {
    "do": _said("What to do, exactly; {placeholders} are filled from named groups.", _TEXT),
    "otherwise": _said("The same advice where the placeholders cannot be filled.", _TEXT),
    "run": _said("The command, or one for each system.", {"anyOf": [{"type": ["string", "null"]}, _RUN]}),
    "risk": _said("What it may spoil.", _one_of(signature.RISKS)),
    "verify": _said("How the person sees that it helped.", _TEXT),
    "if_not": _said("What it tells when it did not help, and what to try then.", _TEXT),
}
_EXAMPLE: Form = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "properties": {
                "log": _said("A log, from the pack's root.", _TEXT),
                "exit": _said("The exit status that came with it.", {"type": ["string", "integer", "null"]}),
                "cause": _said("The cause expected there.", {"type": ["string", "null"]}),
            },
            "required": ["log"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"crasher": _said("A script to run, for what only a running program shows.", _TEXT)},
            "required": ["crasher"],
            "additionalProperties": False,
        },
    ]
}
_EXAMPLES: Form = {"type": "array", "items": _EXAMPLE}
_OF_SIGNATURES: dict[str, Form] = {
    "title": _said("What happened, in one plain sentence.", _TEXT),
    "cause": _said("A slug that 'triage signatures list --causes' prints.", _TEXT),
    "grade": _said("How well it is proven.", _one_of(signature.GRADES)),
    "applies": _said(
        "Where it can happen at all.",
        {
            "type": "object",
            "properties": {
                "os": {"anyOf": [_one_of(signature.SYSTEMS), {"type": "array", "items": _one_of(signature.SYSTEMS)}]},
                "device": _TEXT,
            },
            "additionalProperties": False,
        },
    ),
    "clues": _said("What speaks for it.", {**_CLUES, "minItems": 1}),
    "against": _said("What speaks against it.", _CLUES),
    "fix": _said(
        "The steps, the likeliest and cheapest first.",
        {
            "type": "array",
            "items": _mapping(_OF_FIXES, signature.FIX_FIELDS, required=["do", "verify"]),
            "minItems": 1,
        },
    ),
    "confirm": _said("How to be sure that it is this.", {"type": "array", "items": _TEXT}),
    "sources": _said(
        "What it rests on: {issue: OWNER/REPOSITORY#1}, {reproducer: FILE}, {document: NAME, claim: NUMBER}.",
        {"type": "array", "items": {"type": "object"}, "minItems": 1},
    ),
    "tests": _said(
        "Logs it must recognise (match) and near ones that are something else (differ).",
        {
            "type": "object",
            "properties": {"match": _EXAMPLES, "differ": _EXAMPLES},
            "additionalProperties": False,
            "minProperties": 1,
        },
    ),
    "note": _said("What else to know; a refuted claim says here what really happens.", _TEXT),
}
_OF_PAGES: dict[str, Form] = {
    "prior": _said("How often it is met, among all crashes.", _BETWEEN),
    "title": _said("A plain statement.", _TEXT),
    "inside": _said("What happens in the process.", _TEXTS),
    "shows": _said("What the person sees.", _TEXTS),
    "exits": _said("What it usually ends with; hang: it does not end.", {"type": "array", "items": _TEXT}),
    "sure": _said("What separates it from its neighbours.", _TEXTS),
    "fix": _said("The usual cures, the likeliest and cheapest first.", _TEXTS),
    "mistaken_for": _said(
        "Neighbours, each with the difference.", {"type": "object", "additionalProperties": {"type": "string"}}
    ),
    "documented": _said(
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


def signature_schema() -> Form:
    """The schema of a signature file and of a family's causes, which are told apart by their keys."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A signature of triage, or the causes of a family",
        "description": "Made by `make schema`; do not edit.",
        # Every cause has a dot or a dash in its name, and no field of a signature has.
        "if": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "[.-]"}},
        "then": {"$ref": "#/definitions/causes"},
        "else": {"$ref": "#/definitions/signature"},
        "definitions": {
            "signature": {
                **_mapping(_OF_SIGNATURES, signature.FIELDS, required=list(signature.REQUIRED)),
                "if": {"required": ["grade"], "properties": {"grade": {"const": "refuted"}}},
                "then": {"required": ["note"]},
            },
            "clue": _clue(clues.KINDS),
            "clue_of_a_thread": _clue(clues.OF_A_THREAD),
            "causes": {
                "type": "object",
                "additionalProperties": _mapping(_OF_PAGES, tuple(_OF_PAGES), required=list(PAGE_REQUIRED)),
            },
        },
    }


def _clue(kinds: tuple[str, ...]) -> Form:
    """A clue of one of these kinds."""
    forms = {**_BESIDE_CLUES, **{kind: _said(_about(kind), _kind(kind)) for kind in kinds}}
    return _mapping(forms, (*kinds, *clues.COMMON_FIELDS), oneOf=[{"required": [kind]} for kind in kinds])


def _about(kind: str) -> str:
    """The first paragraph of what the model says about a kind."""
    described = get_type_hints(clues.PARSERS[kind])["return"].__doc__ or ""
    return " ".join(described.split("\n\n")[0].split())


def _kind(kind: str) -> Form:
    if kind in clues.LEAST_INNER:
        inner = "clue_of_a_thread" if kind == "thread" else "clue"
        items = {"$ref": f"#/definitions/{inner}"}
        return {"type": "array", "items": items, "minItems": clues.LEAST_INNER[kind]}
    if kind == "memory":
        return _one_of(clues.MEMORY_CONDITIONS)
    if kind not in clues.FIELDS:
        return _TEXT
    fields = _mapping(_OF_CLUES, clues.FIELDS[kind], minProperties=1, **_NEEDS.get(kind, {}))
    return {"anyOf": [_SHORT[kind], fields]} if kind in _SHORT else fields


def schema_text() -> str:
    """The file's text."""
    return json.dumps(signature_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(our_directory(), FILE).write_text(schema_text(), encoding="utf-8")
