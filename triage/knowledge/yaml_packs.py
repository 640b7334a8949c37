"""Signature packs on disk: one YAML file a signature, each family's causes beside its own, tables at the top."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from triage.knowledge.pack import CAUSES, PackData, Problem, our_directory
from triage.knowledge.places import line_of

SCHEMA = 1
# Files at the top of a pack that are not signatures.
TABLES = ("pack", CAUSES, "noise", "explanations", "documents", "versions", "distributions", "calibration")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def signature_files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Every signature file below a pack with its id, FAMILY/SLUG; fixtures are not looked into."""
    for path in sorted(directory.glob("*/*.yaml")):
        if path.parent.name != "fixtures" and path.stem != CAUSES:
            yield f"{path.parent.name}/{path.stem}", path


def load_yaml(text: str) -> Any:
    """YAML with the fast loader where it was compiled in."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - both candidates are safe loaders


def read_pack(where: str, name: str | None = None) -> PackData:
    """Read a pack's YAML files; a broken one is named in `problems` and left out."""
    directory = Path(where)
    problems: list[Problem] = []
    if not directory.is_dir():
        problems.append(Problem(str(directory), None, "this signature pack does not exist or is not a directory"))
        return PackData(name or directory.name, str(directory), {}, {}, problems=tuple(problems))
    digest = hashlib.sha256()
    tables = {}
    for table in TABLES:
        path = directory / f"{table}.yaml"
        if path.is_file():
            data = _read_mapping(path, problems, digest)
            if data is not None:
                tables[table] = data
    cause_files = dict.fromkeys(tables.get(CAUSES, {}), str(directory / f"{CAUSES}.yaml"))
    for path in _family_files(directory, tables.get("pack", {})):
        for slug, page in _causes_of_family(path, cause_files, problems, digest).items():
            tables.setdefault(CAUSES, {})[slug] = page
            cause_files[slug] = str(path)
    signatures = {}
    for id, path in signature_files(directory):
        data = _read_file(path, problems, digest)
        if data is not None:
            signatures[id] = data
    settings = tables.get("pack", {})
    if settings.get("schema") != SCHEMA:
        file = str(directory / "pack.yaml")
        problems.append(Problem(file, None, "this pack does not say its schema", f"schema: {SCHEMA}"))
    name = name or str(settings.get("name", directory.name))
    return PackData(
        name, str(directory), signatures, tables, "sha256:" + digest.hexdigest(), tuple(problems), cause_files
    )


def _family_files(directory: Path, settings: dict[str, Any]) -> list[Path]:
    """The families' files of causes: in the order that pack.yaml gives the families, then by name."""
    listed = settings.get("families")
    order = {str(family): number for number, family in enumerate(listed if isinstance(listed, list) else ())}
    files = sorted(path for path in directory.glob(f"*/{CAUSES}.yaml") if path.parent.name != "fixtures")
    return sorted(files, key=lambda path: order.get(path.parent.name, len(order)))


def _causes_of_family(
    path: Path, cause_files: dict[str, str], problems: list[Problem], digest: hashlib._Hash
) -> dict[str, Any]:
    """The causes of one family; what belongs elsewhere or stands elsewhere too is named and left out."""
    family = path.parent.name
    written = _read_mapping(path, problems, digest) or {}
    if "clues" in written:
        what = "this file has the causes of its family, so no signature can be called so"
        problems.append(Problem(str(path), 1, what, "the signature into a file of another name"))
        return {}
    causes = {}
    for slug, page in written.items():
        if str(slug).split(".")[0] != family:
            what, instead = f"'{slug}' is no cause of the family {family}", f"{family}.NAME: {{prior: 0.01, title: …}}"
            problems.append(Problem(str(path), line_of(path, (slug,)), what, instead))
        elif slug in cause_files:
            what = f"'{slug}' stands in {cause_files[slug]} too"
            problems.append(Problem(str(path), line_of(path, (slug,)), what, "it in one of them"))
        else:
            causes[slug] = page
    return causes


def _read_mapping(path: Path, problems: list[Problem], digest: hashlib._Hash) -> dict[Any, Any] | None:
    data = _read_file(path, problems, digest)
    if data is not None and not isinstance(data, dict):
        problems.append(Problem(str(path), 1, "this file is not a mapping", "key: value"))
    return data if isinstance(data, dict) else None


@functools.cache
def our_pack() -> PackData:
    """Our own pack, read once in a process as the index of a wheel is."""
    return read_pack(our_directory(), "triage")


def _read_file(path: Path, problems: list[Problem], digest: hashlib._Hash) -> Any:
    try:
        raw = path.read_bytes()
        digest.update(path.name.encode() + b"\0" + raw)
        data = load_yaml(raw.decode("utf-8"))
        if data is None:
            problems.append(Problem(str(path), 1, "this file is empty", "what CONTRIBUTING.md shows, or remove it"))
        return data
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "not YAML"
        line = mark.line + 1 if mark else None
        problems.append(Problem(str(path), line, f"not YAML: {reason}", "quotes around texts with ': ' or '#'"))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(Problem(str(path), None, f"could not be read ({error.__class__.__name__})"))
    return None
