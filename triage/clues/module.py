"""Looks at native libraries seen loaded.

module: {present: '^cudnn$', version: '>=8.3,<9'}
module: {absent: zlibwapi}
module: {twice: 'OpenMP runtime'}
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from triage import patterns
from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, fits
from triage.clues.interface import At, Complaint, Field, Kind, Request
from triage.clues.versions import in_range, range_complaints
from triage.crash import base_name

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class ModuleSeen(NamedTuple):
    """A native library that is loaded (in a range of versions) or, if the list is complete, is not.

    `twice` asks for a process that has two copies of it.
    """

    name: str
    absent: bool
    version: str | None
    twice: bool = False


class ModuleKind(Kind):
    """What was loaded."""

    form = ModuleSeen
    background = 0.05
    request = Request("loaded libraries", "run again with log")
    patterns = ("name",)
    fields: Mapping[str, Field] = {
        "present": Field("text", "A pattern over the name of a library that is loaded."),
        "absent": Field("text", "A pattern over the name of a library that is not loaded."),
        "version": Field("text", "A range of versions: '>=8.3,<9'."),
        "twice": Field("text", "A pattern over the name of a library that one process has loaded twice."),
    }
    short = "text"
    needs: Mapping[str, Any] = {
        "oneOf": [
            {"required": ["present"]},
            {"required": ["absent"]},
            {"required": ["twice"], "not": {"required": ["version"]}},
        ]
    }
    often_unknown = True

    def parse(self, written: "Written") -> ModuleSeen:
        if isinstance(written.value, str):
            return ModuleSeen(written.text(), False, None)
        fields = written.fields(*self.fields)
        if set(fields) == {"twice"}:
            return ModuleSeen(fields["twice"].text(), False, None, twice=True)
        if ("present" in fields) == ("absent" in fields) or "twice" in fields:
            raise written.refused("a module is either present or absent", "{present: cudnn, version: '>=8.3'}")
        name = fields.text("present") or fields.text("absent") or ""
        return ModuleSeen(name, "absent" in fields, fields.text("version"))

    def find(self, sought: ModuleSeen, facts: "Facts", after: At) -> Finding:
        environment = facts.crash.environment
        if sought.twice:
            for double in environment.loaded_twice:
                if any(fits(sought.name, name) for name in (double.what, *map(base_name, double.files))):
                    return Hit(None, double.sentence)
            return ABSENT if environment.libraries_complete else UNSEEN
        named = [library for library in environment.libraries if patterns.compile(sought.name).search(library.name)]
        if sought.absent:
            if named or not environment.libraries_complete:
                return ABSENT if named else UNSEEN
            return Hit(None, f"{sought.name} is not among the loaded libraries")
        if sought.version is None and named:
            return Hit(None, f"{named[0].name} is loaded")
        versions = [library for library in named if library.version is not None]
        for library in versions:
            if in_range(library.version or "", sought.version or ""):
                return Hit(None, f"{library.name} {library.version}")
        return ABSENT if versions or (environment.libraries_complete and not named) else UNSEEN

    def complaints(self, sought: ModuleSeen) -> Iterator[Complaint]:
        return range_complaints(sought.version)


KIND = ModuleKind()
