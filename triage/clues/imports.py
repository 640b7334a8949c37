"""Looks at what the program imports, where a text or a stack shows it.

imports: {packages: [tensorflow keras, torch torchvision, cv2], several: true, last: true}
imports: {packages: [tensorflow keras], last: true}  # the last thing that it did
imports: {packages: any, last: true}  # any that is not of the standard library
"""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit
from triage.clues.interface import At, Field, Kind, Request
from triage.crash import Place
from triage.phrases import Phrase, quote

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class ImportsSeen(NamedTuple):
    """Imports of packages; those in one group share their native libraries and count as one. None: any package.

    `several` asks for two groups, or for one alone; `last` for nothing after them, or for something.
    """

    packages: tuple[tuple[str, ...], ...] | None
    several: bool | None = None
    last: bool | None = None


class ImportsKind(Kind):
    """What it loads."""

    form = ImportsSeen
    background = 0.03
    request = Request("log", "run again with log")
    fields: Mapping[str, Field] = {
        "packages": Field("texts", "Top-level names, in one text those that count as one package; any: all of them."),
        "several": Field("yes or no", "Two or more of these packages are imported; false: only one of them is."),
        "last": Field("yes or no", "Nothing is seen to follow the imports; false: the program went on."),
    }
    needs: Mapping[str, Any] = {"required": ["packages"]}
    # Only names that the signature itself lists, so that a command may use them.
    fills = ("first", "second")
    # Few reports show a program's source.
    often_unknown = True

    def parse(self, written: "Written") -> ImportsSeen:
        fields = written.fields(*self.fields)
        if "packages" not in fields:
            raise written.refused("an imports clue names packages", "{packages: [tensorflow keras, torch]}")
        texts = fields["packages"].texts()
        groups = None if texts == ("any",) else tuple(tuple(text.split()) for text in texts)
        return ImportsSeen(groups, fields.yes_or_no("several"), fields.yes_or_no("last"))

    def find(self, sought: ImportsSeen, facts: "Facts", after: At) -> Finding:
        group_of = {name: group for group in sought.packages or () for name in group}
        for imports in facts.crash.imports:
            named: dict[tuple[str, ...], str] = {}
            for module in imports.modules:
                if sought.packages is None and module not in sys.stdlib_module_names:
                    named.setdefault((module,), module)
                elif module in group_of:
                    named.setdefault(group_of[module], module)
            # What is imported after them may be the person's own package, which loads the next one.
            if (
                named
                and (sought.several is None or sought.several == (len(named) > 1))
                and (sought.last is None or sought.last == imports.ends_there)
            ):
                return _hit(imports.place, imports.offset, list(named.values()), listed=bool(sought.packages))
        return ABSENT if facts.crash.imports else UNSEEN


def _hit(place: Place | None, offset: int, names: list[str], listed: bool) -> Hit:
    """The packages are the values `first` and `second`: of two or more, the last two that were loaded.

    Names that no signature lists are the input's alone, and no command may use them.
    """
    values = dict(zip(("second", "first"), map(quote, reversed(names[-2:])), strict=False)) if listed else {}
    words = [part for name in names for part in (", ", quote(name))][1:]
    return Hit(place, Phrase.of("it imports ", *words), (place.input if place else 0, offset), values)


KIND = ImportsKind()
