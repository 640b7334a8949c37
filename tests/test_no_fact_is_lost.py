"""A field that somebody adds is merged, is in the JSON report and is in its schema, or the code says why not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest

from triage import crash as facts
from triage.crash import (
    Command,
    Crash,
    Duplicates,
    Environment,
    Log,
    LogRecord,
    Memory,
    Place,
    Process,
    Thread,
    merge,
    merge_rules,
)
from triage.report import Report, Verdict
from triage.reports.json_report import NOT_WRITTEN, as_dict

MERGED: tuple[type, ...] = (Crash, Process, Memory, Environment)
# Texts of which the first input's are taken as a whole, as those of a single fact.
OF_ONE_INPUT = {(Crash, "run_options")}
SCHEMA = json.loads(files("triage.reports").joinpath("report.schema.json").read_text("utf-8"))
# What a text in a field must look like to pass the schema.
SHAPED = {"signatures": "sha256:" + "0" * 64, "signature": "a/b"}


def filled(kind: Any, name: str = "", above: tuple[Any, ...] = ()) -> Any:
    """A value of a type with every field filled; a crash within a crash stays empty."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return filled(next(one for one in arguments if one is not NoneType), name, above)
    if origin is Literal:
        return arguments[-1]
    if origin is tuple:
        items = arguments[:1] if arguments[-1] is ... else arguments
        return () if above and items[0] in above else tuple(filled(item, name, above) for item in items)
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return kind(*(filled(hints[field], field, (*above, kind)) for field in kind._fields))
    values = {str: SHAPED.get(name, "known"), int: 7, float: 0.5, bool: True, Log: Log(0, ["known"])}
    return 0 if name == "primary" else values[kind]


def kinds_below(kind: Any, seen: set[type]) -> set[type]:
    """Every named tuple that a report is made of."""
    for one in (kind, *get_args(kind)):
        if hasattr(one, "_fields") and one not in seen:
            seen.add(one)
            for hint in get_type_hints(one).values():
                kinds_below(hint, seen)
        elif one is not kind:
            kinds_below(one, seen)
    return seen


REPORT: Report = filled(Report)
# A place is written as an input and a line beside what stands there, a command as one line for a shell, duplicate
# libraries as a sentence; the lines of a log are not written at all.
KINDS = sorted(kinds_below(Report, set()) - {Place, Command, Duplicates, LogRecord}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", MERGED, ids=lambda kind: kind.__name__)
def test_every_field_has_a_rule_for_merging(kind: type) -> None:
    assert tuple(merge_rules(kind)) == kind._fields  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", MERGED, ids=lambda kind: kind.__name__)
def test_what_there_may_be_several_of_is_not_merged_by_taking_the_first_input(kind: type) -> None:
    usual = merge_rules(Place)["line"]
    several = {
        name for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple or hasattr(hint, "_fields")
    }
    first_only = {name for name, rule in merge_rules(kind).items() if rule is usual}
    assert {(kind, name) for name in several & first_only} <= OF_ONE_INPUT


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in MERGED for name in merge_rules(kind) if name != "primary"]
)
def test_a_fact_of_one_input_is_there_after_merging_with_another_that_does_not_have_it(kind: type, name: str) -> None:
    whole: dict[type, Crash] = {
        Crash: REPORT.crash,
        Process: Crash(processes=REPORT.crash.processes),
        Memory: Crash(memory=REPORT.crash.memory),
        Environment: Crash(environment=REPORT.crash.environment),
    }
    unknowing = Crash(processes=(Process(),))
    for parts in ([whole[kind], unknowing], [unknowing, whole[kind]]):
        merged = merge(parts)
        of = {Crash: merged, Process: merged.processes[0], Memory: merged.memory, Environment: merged.environment}
        had = {
            Crash: whole[kind],
            Process: whole[kind].processes[0] if whole[kind].processes else None,
            Memory: whole[kind].memory,
            Environment: whole[kind].environment,
        }
        assert getattr(of[kind], name) == getattr(had[kind], name)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_is_in_the_json_report_or_the_code_says_why_not(kind: type) -> None:
    path = next(path for path, one in _tuples(REPORT, ()) if type(one) is kind)
    written = _written_at(path)
    assert not set(NOT_WRITTEN.get(kind, {})) - set(kind._fields), "a reason for a field that no longer exists"  # type: ignore[attr-defined]
    for name in kind._fields:  # type: ignore[attr-defined]
        if name == "place":
            assert {"input", "line"} <= set(written), path
        elif name not in NOT_WRITTEN.get(kind, {}):
            assert name in written, f"{kind.__name__}.{name} at {path}"


def test_every_word_of_a_command_is_in_the_line_that_the_json_report_has() -> None:
    command = Command(("train.py", "a b"), (("TF_X", "1"),), ("grep", "-i", "oom"))
    report = as_dict(REPORT._replace(crash=Crash(rerun=command, run_options=("--python", "p q"))))
    assert report["crash"]["rerun"] == "TF_X=1 train.py 'a b' | grep -i oom"
    assert report["crash"]["run_options"] == "--python 'p q'"


def _written_at(path: tuple[Any, ...]) -> Any:
    """What the JSON report has at a place of the report."""
    written: Any = as_dict(REPORT)
    for step in path:
        if step == "exceptions":
            written = [written["exception"]]
        else:
            written = written[step]
    return written


def _tuples(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if hasattr(value, "_fields"):
        yield path, value
        for name, held in zip(value._fields, value, strict=True):
            yield from _tuples(held, (*path, name))
    elif isinstance(value, tuple):
        for number, held in enumerate(value):
            yield from _tuples(held, (*path, number))


def test_a_report_with_every_field_filled_is_valid_and_the_schema_knows_each_of_them() -> None:
    before = facts.PythonException("KeyError", "", link="cause", place=Place(0, 3))
    crash = REPORT.crash._replace(exceptions=(before, *REPORT.crash.exceptions))
    report = json.loads(json.dumps(as_dict(REPORT._replace(crash=crash))))
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert list(_unknown(report, SCHEMA, "")) == []


def _unknown(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """The paths of what the schema does not mention."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    if isinstance(value, dict) and "additionalProperties" not in schema:
        for name, held in value.items():
            if name in schema.get("properties", {}):
                yield from _unknown(held, schema["properties"][name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(value, list):
        for held in value:
            yield from _unknown(held, schema.get("items", {}), f"{path}[]")


PROCESS = SCHEMA["$defs"]["process"]["properties"]
DIAGNOSIS = SCHEMA["$defs"]["diagnosis"]["properties"]
THREAD = PROCESS["threads"]["items"]["properties"]


@pytest.mark.parametrize(
    ("words", "described"),
    [
        (facts.Role, PROCESS["role"]),
        (facts.ExitKind, PROCESS["exit"]["properties"]["kind"]),
        (facts.Access, PROCESS["fault"]["properties"]["access"]),
        (facts.Trust, THREAD["native_stack"]["items"]["properties"]["trust"]),
        (facts.Link, SCHEMA["properties"]["crash"]["properties"]["exception"]["properties"]["link"]),
        (facts.MessageKind, SCHEMA["properties"]["crash"]["properties"]["messages"]["items"]["properties"]["kind"]),
        (facts.Grade, DIAGNOSIS["grade"]),
        (facts.Risk, DIAGNOSIS["fix"]["items"]["properties"]["risk"]),
        (Verdict, SCHEMA["properties"]["verdict"]),
    ],
)
def test_the_schema_has_the_same_words_as_the_types(words: Any, described: dict[str, Any]) -> None:
    assert [word for word in described["enum"] if word is not None] == list(get_args(words))


def test_a_crash_of_a_worker_that_is_merged_with_its_log_stays_that_of_a_worker() -> None:
    worker = Process(pid=4712, role="worker", forked_with="tensorflow", threads=(Thread("w", crashed=True),))
    run = Crash(processes=(Process(pid=4711), worker), primary=1, rerun=Command(("train.py",)), run_options=("--full",))
    log = Crash(logs=(Log(0, ["Killed"]),), processes=(Process(),))
    for whole in (merge([run, log]), merge([log, run])):
        assert whole.processes[whole.primary] == worker
        assert (whole.rerun, whole.run_options) == (Command(("train.py",)), ("--full",))


def test_the_registers_in_a_core_are_not_hidden_by_a_log_that_has_only_the_address() -> None:
    logged = facts.Fault("SIGSEGV", 0x10)
    seen = facts.Fault("SIGSEGV", 0x10, "read", "mov rax,[rdi]", (("rip", 0x4000),))
    log, core = (Crash(processes=(Process(fault=fault),)) for fault in (logged, seen))
    assert merge([log, core]).processes[0].fault == seen == merge([core, log]).processes[0].fault
