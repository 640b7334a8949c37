"""Packs on disk: reading their YAML, finding the line of a value, and refusing what a private pack may not hold.

It is imported only where YAML is read: an installed triage without private packs never does.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from triage import patterns
from triage.clues import patterns_of
from triage.clues.interface import Clue, SignatureError
from triage.knowledge.pack import CAUSES, NOTICES, PARTS, PackData, Problem, our_directory
from triage.knowledge.signature import Signature

SCHEMA = 1
# Files at the top of a pack that are not signatures.
TABLES = (
    "pack",
    CAUSES,
    PARTS,
    "noise",
    "explanations",
    "names",
    "documents",
    "versions",
    "distributions",
    "calibration",
)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A package with its extras and versions, as pip takes it.
_REQUIREMENT = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,-]+\])?(?:[<>=!~]=?[\w.*]+(?:,[<>=!~]=?[\w.*]+)*)?"

# Something unusable in a private pack: the table, where in it, what is wrong, what to write instead.
_Refusal = tuple[str, tuple[Any, ...], str, str]


@functools.cache
def our_pack() -> PackData:
    """Our own pack, read once per process."""
    return read_pack(our_directory(), "triage")


def read_pack(where: str, name: str | None = None) -> PackData:
    """Read a pack's YAML files; broken ones are listed in `problems` and left out."""
    directory = Path(where)
    if not directory.is_dir():
        missing = Problem(str(directory), None, "this signature pack does not exist or is not a directory")
        return PackData(name or directory.name, str(directory), {}, {}, problems=(missing,))
    reader = _Reader()
    tables = {}
    for table in TABLES:
        path = directory / f"{table}.yaml"
        if path.is_file() and (data := reader.mapping(path)) is not None:
            tables[table] = data
    settings = tables.get("pack", {})
    cause_files = dict.fromkeys(tables.get(CAUSES, {}), str(directory / f"{CAUSES}.yaml"))
    for path in _family_files(directory, settings):
        for slug, page in reader.causes_of_family(path, cause_files).items():
            tables.setdefault(CAUSES, {})[slug] = page
            cause_files[slug] = str(path)
    for path in sorted((directory / NOTICES).glob("*.yaml")):
        for slug, notice in (reader.mapping(path) or {}).items():
            tables.setdefault(NOTICES, {})[f"{path.stem}/{slug}"] = notice
    read = {id: reader.contents(path) for id, path in _signature_files(directory)}
    signatures = {id: data for id, data in read.items() if data is not None}
    if settings.get("schema") != SCHEMA:
        file = str(directory / "pack.yaml")
        reader.problems.append(Problem(file, None, "this pack does not say its schema", f"schema: {SCHEMA}"))
    return PackData(
        name or str(settings.get("name", directory.name)),
        str(directory),
        signatures,
        tables,
        "sha256:" + reader.digest.hexdigest(),
        tuple(reader.problems),
        cause_files,
    )


def load_yaml(text: str) -> Any:
    """Parse YAML, with the fast loader where it was compiled in."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - both candidates are safe loaders


def line_of(file: Path, path: tuple[str | int, ...]) -> int | None:
    """The line of the value at `path` (keys and list positions), or of the nearest one above it."""
    try:
        node = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    line = node.start_mark.line if node is not None else 0
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == step), None)
            if found is None:
                break
            key, node = found
            line = key.start_mark.line
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def _signature_files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Every signature file of a pack with its id, FAMILY/SLUG; a pack's fixtures are not signatures."""
    for path in sorted(directory.glob("*/*.yaml")):
        if path.parent.name not in ("fixtures", NOTICES) and path.stem != CAUSES:
            yield f"{path.parent.name}/{path.stem}", path


def _family_files(directory: Path, settings: Mapping[str, Any]) -> list[Path]:
    """The families' files of causes: in the order that pack.yaml gives the families, then by name."""
    listed = settings.get("families")
    order = {str(family): number for number, family in enumerate(listed if isinstance(listed, list) else ())}
    files = sorted(path for path in directory.glob(f"*/{CAUSES}.yaml") if path.parent.name != "fixtures")
    return sorted(files, key=lambda path: order.get(path.parent.name, len(order)))


class _Reader:
    """Reads the files of one pack; collects what is wrong with them and a hash over all of them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.digest = hashlib.sha256()

    def contents(self, path: Path) -> Any:
        """What a file holds, None where it cannot be read."""
        try:
            raw = path.read_bytes()
            self.digest.update(path.name.encode() + b"\0" + raw)
            data = load_yaml(raw.decode("utf-8"))
            if data is None:
                self._note(path, 1, "this file is empty", "what CONTRIBUTING.md shows, or remove it")
            return data
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            reason = getattr(error, "problem", None) or "not YAML"
            line = mark.line + 1 if mark else None
            self._note(path, line, f"not YAML: {reason}", "quotes around texts with ': ' or '#'")
        except (OSError, ValueError, RecursionError) as error:
            self._note(path, None, f"could not be read ({error.__class__.__name__})")
        return None

    def mapping(self, path: Path) -> dict[Any, Any] | None:
        """The mapping that a file holds, None where it holds none."""
        data = self.contents(path)
        if data is not None and not isinstance(data, dict):
            self._note(path, 1, "this file is not a mapping", "key: value")
        return data if isinstance(data, dict) else None

    def causes_of_family(self, path: Path, cause_files: Mapping[str, str]) -> dict[str, Any]:
        """The causes of one family, without those of another family and those that are in another file too."""
        family = path.parent.name
        written = self.mapping(path) or {}
        if "clues" in written:
            what = "this file is for the causes of its family, so no signature can have this name"
            self._note(path, 1, what, "the signature into a file with another name")
            return {}
        causes = {}
        for slug, page in written.items():
            line = functools.partial(line_of, path, (slug,))
            if str(slug).split(".")[0] != family:
                what = f"'{slug}' is not a cause of the family {family}"
                self._note(path, line(), what, f"{family}.NAME: {{prior: 0.01, title: …}}")
            elif slug in cause_files:
                self._note(path, line(), f"'{slug}' is in {cause_files[slug]} too", "it in only one of them")
            else:
                causes[slug] = page
        return causes

    def _note(self, path: Path, line: int | None, what: str, instead: str = "") -> None:
        self.problems.append(Problem(str(path), line, what, instead))


def usable(pack: PackData) -> tuple[PackData, list[Problem]]:
    """A private pack without what cannot be used, and what that was: nobody linted it when it was built."""
    refused: list[_Refusal] = []
    tables = {
        **pack.tables,
        "pack": _usable_settings(pack.tables.get("pack", {}), refused),
        CAUSES: _usable_causes(pack.tables.get(CAUSES, {}), refused),
        "noise": _usable_noise(pack.tables.get("noise", {}), refused),
        "distributions": _usable_distributions(pack.tables.get("distributions", {}), refused),
    }
    problems = []
    for table, path, what, instead in refused:
        file = Path(pack.file_of_cause(path[0]) if table == CAUSES else Path(pack.directory) / f"{table}.yaml")
        problems.append(Problem(str(file), line_of(file, path), what, instead))
    return pack._replace(tables=tables), problems


def _usable_settings(settings: Mapping[str, Any], refused: list[_Refusal]) -> dict[str, Any]:
    disables = settings.get("disables") or []
    if isinstance(disables, list) and all(isinstance(id, str) for id in disables):
        return dict(settings)
    what, instead = "'disables' is a list of signature ids", "disables: [gpu/out-of-memory]"
    refused.append(("pack", ("disables",), what, instead))
    return {**settings, "disables": []}


def _usable_causes(pages: Mapping[str, Any], refused: list[_Refusal]) -> dict[str, Any]:
    causes = {}
    for slug, page in pages.items():
        prior = page.get("prior", 0.01) if isinstance(page, dict) else None
        if isinstance(prior, (int, float)) and not isinstance(prior, bool) and 0 < prior < 1:
            causes[slug] = page
        else:
            what = f"'{slug}' is not a page with a prior between 0 and 1"
            refused.append((CAUSES, (slug,), what, "{prior: 0.01, title: …}"))
    return causes


def _usable_noise(table: Mapping[str, Any], refused: list[_Refusal]) -> dict[str, Any]:
    noise: dict[str, Any] = {}
    for part, listed in table.items():
        noise[part] = []
        for number, pattern in enumerate(listed if isinstance(listed, list) else [listed]):
            if error := patterns.check(str(pattern)):
                refused.append(("noise", (part, number), f"RE2 does not take {pattern!r}: {error}", ""))
            else:
                noise[part].append(str(pattern))
    return noise


def _usable_distributions(table: Mapping[str, Any], refused: list[_Refusal]) -> dict[str, Any]:
    distributions: dict[str, Any] = {}
    for part, entry in table.items():
        rows = entry.get("rows") if isinstance(entry, dict) else None
        distributions[part] = {"rows": {}}
        for module, text in rows.items() if isinstance(rows, dict) else ((None, None),):
            # The rows of `packages` end up in commands, the others are sentences.
            if isinstance(text, str) and (part != "packages" or re.fullmatch(_REQUIREMENT, text)):
                distributions[part]["rows"][str(module)] = text
            else:
                path = (part, "rows", module) if module else (part,)
                what = "a row is a module and the package that brings it"
                refused.append(("distributions", path, what, "cv2: opencv-python"))
    return distributions


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
