"""The JSON report: a contract (report.schema.json) to which fields are added and in which none is renamed.

Facts are written field by field, so a new field of the model is in the report without further work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from triage.chains import last_chain
from triage.crash import (
    Command,
    Crash,
    Dump,
    Duplicates,
    Environment,
    ExitStatus,
    Fault,
    Imports,
    NativeFrame,
    PythonException,
    RuntimeMessage,
)
from triage.report import Reliability, Report

SCHEMA = "triage.report/1"
# Fields that are not written under their own name, and why.
NOT_WRITTEN: dict[type, dict[str, str]] = {
    Report: {
        "version": "tool.version",
        "signatures": "tool.signatures",
        "packs": "tool.packs",
    },
    Crash: {
        "exceptions": "exception, with those before it as its chain",
        "logs": "the input itself; what matters of it is quoted in the evidence",
        "records": "lines of the input; those that matter are quoted in the evidence",
        "others": "other_crashes",
    },
    PythonException: {"offset": "a place in the normalised text, which only triage has"},
    Imports: {"offset": "a place in the normalised text, which only triage has"},
    RuntimeMessage: {"offset": "a place in the normalised text, which only triage has"},
    Reliability: {"least": "from"},
}


def _hex(value: int | None) -> str | None:
    return None if value is None else f"0x{value:x}"


def _status(value: int | None) -> str | None:
    return None if value is None else f"0x{value:08X}"


# Fields with a form of their own: addresses are hex strings, pairs an object.
_WRITTEN: dict[tuple[type, str], Callable[[Any], Any]] = {
    (ExitStatus, "ntstatus"): _status,
    (Fault, "address"): _hex,
    (Fault, "parameters"): lambda values: [_hex(value) for value in values],
    (Fault, "registers"): lambda pairs: {name: _hex(value) for name, value in pairs},
    (NativeFrame, "offset"): _hex,
    (Dump, "handles"): dict,
    (Environment, "packages"): dict,
    (Environment, "implied"): dict,
    (Report, "redactions"): dict,
}


def render(report: Report) -> str:
    """One line of JSON, ASCII only, so that any console and any pipe carries it."""
    return json.dumps(as_dict(report)) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    tool = {"version": report.version, "signatures": report.signatures, "packs": list(report.packs)}
    return {"schema": SCHEMA, "tool": tool, **_fields(report, report.crash.environment.os)}


def _fields(facts: Any, system: str | None) -> dict[str, Any]:
    """A named tuple by its fields; a place becomes an input and a line, as everywhere in the report."""
    kind = type(facts)
    written: dict[str, Any] = {}
    for name, value in zip(facts._fields, facts, strict=True):
        if name == "place":
            written |= {"input": value.input if value else None, "line": value.line if value else None}
        elif name not in NOT_WRITTEN.get(kind, {}):
            write = _WRITTEN.get((kind, name))
            written[name] = write(value) if write else _plain(value, system)
    if kind is Crash:
        options = Command(facts.run_options).line(system)
        primary = facts.primary if facts.processes else None
        program = facts.program and _fields(facts.program, system)
        written |= {
            "exception": _exception(facts, system),
            "primary": primary,
            "program": program,
            "run_options": options,
        }
    if kind is Reliability:
        written["from"] = facts.least
    return written


def _plain(value: Any, system: str | None) -> Any:
    if isinstance(value, Command):
        return value.line(system)
    if isinstance(value, Duplicates):
        return value.sentence
    if isinstance(value, tuple):
        return _fields(value, system) if hasattr(value, "_fields") else [_plain(item, system) for item in value]
    return value


def _exception(crash: Crash, system: str | None) -> dict[str, Any] | None:
    """The last exception, which is the one that ended it, those that led to it, and which of them is the root."""
    chain = last_chain(crash)
    if chain is None:
        return None
    *before, last = (_fields(error, system) for error in crash.exceptions)
    return {**last, "root": len(crash.exceptions) - len(chain.links) + chain.at, "chain": before}
