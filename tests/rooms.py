"""The rooms of the design and what each may import; run as a script it names every import that goes the wrong way."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "triage"
# A room is a module or a folder of triage/. Data goes one way: readers and capture make facts, knowledge and
# diagnosis see facts, reports see the report. status and patterns are tables and a tool that several rooms share.
MAY_IMPORT = {
    "crash": set(),
    # what a function is called, whose a frame is, which frames are machinery: by names and paths alone
    "frames": {"crash", "patterns"},
    "report": {"crash"},
    # texts for a person, in which the input's own words stay apart from ours
    "phrases": {"patterns"},
    "status_tables": {"crash"},
    "status": {"crash", "status_tables"},
    "patterns": set(),
    # numbers that others wrote, bounded: every room that reads text meets them
    "digits": set(),
    # the sentence for a bug of ours
    "defects": set(),
    # which processor feature a disassembled instruction needs: a table
    "instructions": {"patterns"},
    # stacks of a held process and of a core are collected in the same way, so live capture and the core reader share it
    "stacks": {"crash", "frames", "status", "patterns", "digits"},
    "readers": {"crash", "frames", "status", "patterns", "digits", "stacks"},
    "capture": {"crash", "frames", "status", "patterns", "digits", "readers", "stacks"},
    "clues": {"crash", "frames", "status", "patterns", "digits", "instructions", "phrases"},
    "knowledge": {"crash", "status", "patterns", "clues"},
    "diagnosis": {"crash", "frames", "report", "status", "knowledge", "patterns", "digits", "clues", "phrases"},
    "redaction": {"crash", "report", "patterns", "phrases"},
    "reports": {"crash", "frames", "report", "patterns"},
    # the library and what is built on it
    "__init__": {"crash", "report", "status", "defects", "readers", "capture", "knowledge", "diagnosis", "redaction"},
    # for whoever changes signatures: prove them, draft one from a log, fit the ranking to labelled reports
    "maintain": {
        "__init__",
        "crash",
        "frames",
        "report",
        "status",
        "patterns",
        "readers",
        "clues",
        "knowledge",
        "diagnosis",
        "redaction",
    },
    "cli": {"__init__", "report", "reports", "digits", "defects", "knowledge", "diagnosis", "maintain"},
    "__main__": {"cli"},
}


def room_of(module: str) -> str:
    """The room of a dotted module name below triage."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(path: Path, package: Path = PACKAGE) -> list[tuple[int, str]]:
    """Every module of ours that a file imports, relative imports among them, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "triage"]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = ("triage", *path.relative_to(package).parts)[: -node.level]
                module = ".".join((*above, module)).rstrip(".")
            if module.split(".")[0] != "triage":
                continue
            if module == "triage":
                known = {path.stem for path in PACKAGE.iterdir()}
                found += [(node.lineno, f"triage.{a.name}" if a.name in known else "triage") for a in node.names]
            else:
                found.append((node.lineno, module))
    return found


def violations(package: Path = PACKAGE) -> list[str]:
    """One sentence for each import that the design does not allow."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room not in MAY_IMPORT:
            wrong.append(f"{path}: the room '{room}' is not in the design; add it to tests/rooms.py with its reason")
            continue
        for line, module in imports_of(path, package):
            other = room_of(module)
            if other != room and other not in MAY_IMPORT[room]:
                wrong.append(f"{path}:{line}: '{room}' may not import '{other}' ({module})")
    return wrong


if __name__ == "__main__":
    found = violations()
    print("\n".join(found) or f"{len(MAY_IMPORT)} rooms, every import goes the right way.")
    sys.exit(1 if found else 0)
