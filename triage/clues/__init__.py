"""Clues: what a signature looks for in a crash, one module a kind. Here are the registry and what all kinds share.

To add a kind: its module (interface.py says what it must offer), its name here, its test, `make docs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from triage.clues.interface import Clue, Kind, Kinds, Path, Sought

_NAMES = (
    "log",
    "exception",
    "exit",
    "native",
    "python",
    "fault",
    "module",
    "memory",
    "environment",
    "process",
    "imports",
    "clash",
    "any",
    "sequence",
    "thread",
)
KINDS: Kinds = {name: import_module(f"triage.clues.{name}").KIND for name in _NAMES}
KIND_OF: Mapping[type[Sought], Kind] = {kind.form: kind for kind in KINDS.values()}


def parse_clue(data: Any, path: Path, *, p: float, b: float | None = None) -> Clue:
    """A clue from its YAML form; raises SignatureError that says what is wrong and where."""
    from triage.clues.syntax import Written  # the built index is not read from YAML

    return Written(data, path, KINDS).clue(p=p, b=b)


def patterns_of(clue: Clue) -> Iterator[tuple[str, str]]:
    """Every pattern in a clue and the clues inside it, as (kind, pattern)."""
    for inner in clue.inner:
        yield from patterns_of(inner)
    for field in KINDS[clue.kind].patterns:
        if pattern := getattr(clue.sought, field):
            yield clue.kind, pattern
