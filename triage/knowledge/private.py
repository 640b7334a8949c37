"""What a private pack may hold: it is checked at every run, because nobody linted it when it was built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from triage import patterns
from triage.clues import patterns_of
from triage.clues.interface import Clue, SignatureError
from triage.knowledge.pack import CAUSES, PackData, Problem
from triage.knowledge.places import line_of
from triage.knowledge.signature import Signature

_REQUIREMENT = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,-]+\])?(?:[<>=!~]=?[\w.*]+(?:,[<>=!~]=?[\w.*]+)*)?"


def checked(pack: PackData) -> tuple[PackData, list[Problem]]:
    """The pack without what cannot be used, and what that was."""
    tables = dict(pack.tables)
    problems: list[Problem] = []

    def refuse(table: str, path: tuple[Any, ...], what: str, instead: str = "") -> None:
        file = Path(pack.file_of_cause(path[0]) if table == CAUSES else Path(pack.directory) / f"{table}.yaml")
        problems.append(Problem(str(file), line_of(file, path), what, instead))

    settings = dict(tables.get("pack", {}))
    if not _is_list_of_texts(settings.get("disables") or []):
        refuse("pack", ("disables",), "'disables' is a list of signature ids", "disables: [gpu/out-of-memory]")
        settings["disables"] = []
    tables["pack"] = settings
    causes = {}
    for slug, page in tables.get(CAUSES, {}).items():
        prior = page.get("prior", 0.01) if isinstance(page, dict) else None
        if not isinstance(prior, (int, float)) or isinstance(prior, bool) or not 0 < prior < 1:
            refuse(CAUSES, (slug,), f"'{slug}' is not a page with a prior between 0 and 1", "{prior: 0.01, title: …}")
        else:
            causes[slug] = page
    tables[CAUSES] = causes
    noise: dict[str, Any] = {}
    for part, listed in tables.get("noise", {}).items():
        noise[part] = []
        for number, pattern in enumerate(listed if isinstance(listed, list) else [listed]):
            if refused := patterns.check(str(pattern)):
                refuse("noise", (part, number), f"RE2 does not take {pattern!r}: {refused}")
            else:
                noise[part].append(str(pattern))
    tables["noise"] = noise
    distributions: dict[str, Any] = {}
    for part, table in tables.get("distributions", {}).items():
        rows = table.get("rows") if isinstance(table, dict) else None
        distributions[part] = {"rows": {}}
        for module, text in rows.items() if isinstance(rows, dict) else ((None, None),):
            # The rows of `packages` come into commands, the others are sentences.
            if isinstance(text, str) and (part != "packages" or re.fullmatch(_REQUIREMENT, text)):
                distributions[part]["rows"][str(module)] = text
            else:
                path = (part, "rows", module) if module else (part,)
                refuse("distributions", path, "a row is a module and the package that brings it", "cv2: opencv-python")
    tables["distributions"] = distributions
    return pack._replace(tables=tables), problems


def refuse_bad_patterns(signature: Signature) -> None:
    """Raise SignatureError for the first pattern that cannot be used."""
    for part, clues in (("clues", signature.clues), ("against", signature.against)):
        for number, clue in enumerate(clues):
            refuse_patterns(clue, (part, number, clue.kind))


def refuse_patterns(clue: Clue, path: tuple[str | int, ...]) -> None:
    """Raise SignatureError for the first pattern of a clue that cannot be used."""
    for _, pattern in patterns_of(clue):
        if refused := patterns.check(pattern):
            instead = "a pattern without lookaround and back-references"
            raise SignatureError(path, f"RE2 does not take {pattern!r}: {refused}", instead)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
