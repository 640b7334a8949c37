"""The design as a test: which room may import which. As a script, it lists every import that goes the wrong way."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "triage"
LIBRARY = "__init__"
# A room is a module or a folder of triage/. Data goes one way: readers and capture turn bytes into facts, knowledge and
# diagnosis see facts, reports see the report.
ROOMS: dict[str, set[str]] = {
    # the facts, and what all rooms know about them
    "crash": set(),
    "frames": {"crash"},
    "chains": {"crash", "frames"},
    "programs": {"crash", "frames"},
    "report": {"crash"},
    "status_tables": {"crash"},
    "status": {"crash", "status_tables"},
    "instructions": {"crash"},
    "patterns": set(),
    # small tools that several rooms share: numbers from outside with a bound, ranges of versions, text in which the
    # input's own words stay apart from ours, whose words a line is, the sentence for a bug of ours
    "digits": set(),
    "ranges": set(),
    "phrases": set(),
    "prose": {"patterns"},
    "defects": set(),
    # bytes or a live process -> facts
    "stacks": {"crash", "frames", "status", "patterns"},
    "readers": {"crash", "frames", "programs", "status", "patterns", "prose", "stacks"},
    "capture": {"crash", "frames", "programs", "status", "patterns", "readers", "stacks"},
    # facts -> report
    "clues": {"crash", "frames", "status", "instructions", "patterns"},
    "knowledge": {"crash", "patterns", "status", "clues"},
    "diagnosis": {"crash", "chains", "frames", "report", "knowledge", "clues", "patterns", "prose", "status"},
    # report -> people
    "redaction": {"report", "crash", "patterns"},
    "reports": {"report", "crash", "chains", "frames", "patterns"},
    # the library and what is built on it
    LIBRARY: {"crash", "report", "status", "readers", "capture", "knowledge", "diagnosis", "redaction"},
    "maintain": {LIBRARY},
    "cli": {LIBRARY, "reports"},
    "__main__": {"cli"},
}
# What is allowed beyond that, with the reason.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "frames": {"patterns": "names of functions and paths come from outside"},
    "programs": {"patterns": "names of libraries, functions and files come from outside"},
    "instructions": {"patterns": "a disassembled instruction is text from outside"},
    "ranges": {"digits": "versions come from outside"},
    "phrases": {"patterns": "the input's own words are text from outside"},
    "stacks": {"digits": "gdb and cores hold numbers from outside"},
    "readers": {
        "digits": "logs and dumps hold numbers from outside",
        "ranges": "a text may show no more of a version than a range",
    },
    "capture": {"digits": "/proc and kernel logs hold numbers from outside"},
    "clues": {
        "phrases": "a hit quotes the input",
        "ranges": "clues ask for versions",
    },
    "knowledge": {"ranges": "a step may hold for some versions only"},
    "diagnosis": {
        "digits": "groups of patterns hold numbers from outside",
        "phrases": "evidence quotes the input",
        "ranges": "of several inputs the ranges must fit each other",
    },
    "redaction": {"phrases": "only the input's own words are redacted"},
    LIBRARY: {"defects": "a bug in a reader or in the hook must not take the report with it"},
    "maintain": {
        "crash": "a draft is made from the facts of a log",
        "frames": "a frame becomes a clue",
        "patterns": "a message becomes a pattern",
        "clues": "drafted clues are parsed and looked for as any other",
        "knowledge": "lint, packs and the calibration are what it works on",
        "diagnosis": "the weights are fitted on the ranking before it becomes a report",
        "readers": "healthy logs are read without a diagnosis",
        "redaction": "a log is redacted before it becomes an example",
        "report": "the type of what the library returns",
    },
    "cli": {
        "report": "the type of what the library returns",
        "knowledge": "the type of what the library loads, and where packs are",
        "diagnosis": "the error for an unknown topic",
        "maintain": "`triage signatures` proves and drafts",
        "digits": "a file that may be an older report holds numbers from outside",
        "defects": "a bug of ours is one sentence",
    },
}


class Only(NamedTuple):
    """These modules import nothing else of their own room."""

    modules: tuple[str, ...]
    may: tuple[str, ...]
    why: str
    but: tuple[str, ...] = ()


class Never(NamedTuple):
    """These modules do not import those; those may import each other."""

    modules: str
    those: str
    why: str


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}.{name}" for name in names)


_CLUES = "triage.clues"
_CONTAINERS = "triage.readers.log.containers"
_MINIDUMP = "triage.readers.minidump"
_FOR_KINDS = _in(_CLUES, "facts", "findings", "interface", "syntax", "versions")
_FOR_PROCESSORS = _in(_MINIDUMP, "memory", "pe", "processor", "streams")
_FOR_FORMATS = (*_in(_CONTAINERS, "interface", "printed_stacks"), "triage.readers.log.victims")
_ADVICE = "triage.diagnosis.advice"
# Inside rooms: what is easy to break and worth keeping.
INSIDE: tuple[Only | Never, ...] = (
    Only((f"{_CONTAINERS}.*",), _FOR_FORMATS, "no format knows another"),
    Never("triage.readers.log*", f"{_MINIDUMP}*", "what a log says does not depend on dumps"),
    Never(f"{_MINIDUMP}*", "triage.readers.log*", "what a dump says does not depend on logs"),
    Only(_in(_MINIDUMP, "arm64", "x86"), _FOR_PROCESSORS, "no processor knows another"),
    Only(_in(_MINIDUMP, "amd64"), (*_FOR_PROCESSORS, f"{_MINIDUMP}.x86"), "only its calls are coded as on x86"),
    Never("triage.capture.*", "triage.capture.windows*", "what all systems share does not depend on one of them"),
    Never("triage.capture.*", "triage.capture.posix*", "what all systems share does not depend on one of them"),
    Only(
        (f"{_CLUES}.*",),
        _FOR_KINDS,
        "no kind knows another",
        but=(*_FOR_KINDS, *_in(_CLUES, "exception", "python")),
    ),
    Only(_in(_CLUES, "exception"), (*_FOR_KINDS, f"{_CLUES}.log"), "an exception is asked for as a log is"),
    Only(_in(_CLUES, "python"), (*_FOR_KINDS, f"{_CLUES}.native"), "frames of both kinds are counted alike"),
    Only(_in("triage.knowledge", "claim", "complexity", "pack", "signature"), (), "the model stands on its own"),
    Only(_in("triage.diagnosis", "ranking"), (), "a cause is weighed before anything is said about it"),
    Only((_ADVICE, f"{_ADVICE}.*"), (f"{_ADVICE}.*",), "advice does not depend on how causes were weighed"),
    Only(_in("triage.reports", "outline"), _in("triage.reports", "incident"), "the outline knows no format"),
    Only(
        _in("triage.reports", "markdown", "text"),
        _in("triage.reports", "characters", "outline"),
        "a format lays out the outline and knows no other format",
    ),
    Only(_in("triage.reports", "json_report"), (), "JSON is the whole report, not its outline"),
    Only(
        _in("triage.cli", "analyze", "completion", "explain", "run", "signatures"),
        _in("triage.cli", "options", "output", "stdio"),
        "no command knows another",
    ),
    Only(_in("triage.maintain", "prove"), (), "a signature is proved without drafting or fitting"),
    Only(
        ("triage.maintain.calibrate", "triage.maintain.calibrate.*"),
        ("triage.maintain.calibrate.*",),
        "fitting needs no draft",
    ),
)


def room_of(module: str) -> str:
    """The room of a dotted module name below triage."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else LIBRARY


def modules_of(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {_name_of(path, package): path for path in sorted(package.rglob("*.py"))}


def _name_of(path: Path, package: Path) -> str:
    parts = ("triage", *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, package: Path = PACKAGE) -> list[tuple[int, str]]:
    """Every module of ours that a file imports, with the line; relative imports and imports for types count too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "triage"]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = ("triage", *path.relative_to(package).parts)[: -node.level]
                module = ".".join((*above, module)).rstrip(".")
            if module.split(".")[0] == "triage":
                found += [(node.lineno, _imported(module, alias.name)) for alias in node.names]
    return found


def _imported(module: str, name: str) -> str:
    """The module behind `from MODULE import NAME`: NAME itself may be one."""
    below = PACKAGE.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if below.is_dir() or below.with_suffix(".py").is_file() else module


def violations(package: Path = PACKAGE) -> list[str]:
    """One sentence for each import that the design does not allow."""
    wrong = []
    for name, path in modules_of(package).items():
        room = room_of(name)
        if room not in ROOMS:
            wrong.append(f"{path}: the room '{room}' is not in the design; add it to tests/rooms.py with its reason")
            continue
        for line, imported in dict.fromkeys(imports_of(path, package)):
            other = room_of(imported)
            if other == room:
                wrong += [
                    f"{path}:{line}: '{name}' may not import '{imported}': {why}" for why in _broken(name, imported)
                ]
            elif other not in ROOMS[room] and other not in EXCEPTIONS.get(room, {}):
                wrong.append(f"{path}:{line}: '{room}' may not import '{other}' ({imported})")
    return wrong


def _broken(name: str, imported: str) -> Iterator[str]:
    """The reasons why one module of a room may not import another."""
    for rule in INSIDE:
        if isinstance(rule, Never):
            if _is(name, (rule.modules,)) and _is(imported, (rule.those,)) and not _is(name, (rule.those,)):
                yield rule.why
        elif _is(name, rule.modules) and not _is(name, rule.but) and not _is(imported, rule.may):
            yield rule.why


def _is(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


if __name__ == "__main__":
    found = violations()
    print("\n".join(found) or f"{len(ROOMS)} rooms, every import goes the right way.")
    sys.exit(1 if found else 0)
