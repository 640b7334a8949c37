"""A signature pack as plain data, and what can be wrong with one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """Something wrong in a pack: where, what, and what to write instead."""

    file: str
    line: int | None
    what: str
    instead: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.what}" + (f"; write {self.instead}" if self.instead else "")


@dataclass(slots=True)
class PackData:
    """A pack as plain data: what the built index holds and what reading the YAML gives."""

    name: str
    directory: str
    signatures: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    problems: list[Problem] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The directory that test paths are relative to."""
        root = str((self.tables.get("pack") or {}).get("root", "."))
        return (Path(self.directory) / root).resolve()


def our_directory() -> Path:
    """Our signatures: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "signatures"
    return inside if inside.is_dir() else package.parent / "signatures"


def private_directories(given: tuple[str, ...]) -> tuple[str, ...]:
    """The private packs: those given by the caller, then those in TRIAGE_SIGNATURES."""
    listed = os.environ.get("TRIAGE_SIGNATURES", "")
    return (*given, *(entry for entry in listed.split(os.pathsep) if entry))
