"""A signature pack as plain data, what can be wrong with one, and where packs are.

Paths are strings here and in the readers: importing pathlib would cost every run 4 ms.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

# The file with a family's causes is FAMILY/causes.yaml, so no signature can have that name.
CAUSES = "causes"
# The table of the parts that several patterns share.
PARTS = "parts"
# The folder with the notices, one file a source.
NOTICES = "notices"


class Problem(NamedTuple):
    """Something wrong in a pack: where, what, and what to write instead. A warning refuses nothing."""

    file: str
    line: int | None
    what: str
    instead: str = ""
    warning: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        what = f"warning: {self.what}" if self.warning else self.what
        return f"{place}: {what}" + (f"; write {self.instead}" if self.instead else "")


class PackData(NamedTuple):
    """A pack as its YAML files say it, not yet parsed."""

    name: str
    directory: str
    signatures: Mapping[str, Any]
    tables: Mapping[str, Any]
    digest: str = ""
    problems: tuple[Problem, ...] = ()
    # Where each cause is written: in its family's file, or in one file for all at the top of the pack.
    cause_files: Mapping[str, str] = {}

    def file_of_cause(self, slug: str) -> str:
        """The file with the page of a cause."""
        return self.cause_files.get(slug) or os.path.join(self.directory, f"{CAUSES}.yaml")

    @property
    def root(self) -> str:
        """The directory that test paths are relative to."""
        return os.path.realpath(os.path.join(self.directory, str(self.tables.get("pack", {}).get("root", "."))))


def our_directory() -> str:
    """Our signatures: inside the package in a wheel, beside it in a source tree."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    inside = os.path.join(package, "signatures")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "signatures")


def private_directories(given: tuple[str, ...]) -> tuple[str, ...]:
    """The private packs: those given by the caller, then those in TRIAGE_SIGNATURES."""
    listed = os.environ.get("TRIAGE_SIGNATURES", "")
    return (*given, *(entry for entry in listed.split(os.pathsep) if entry))
