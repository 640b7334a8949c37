"""Signature packs on disk: one YAML file a signature, tables beside them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from triage.knowledge.pack import PackData, Problem, our_directory

SCHEMA = 1
# Files at the top of a pack that are not signatures.
TABLES = ("pack", "causes", "noise", "explanations", "documents", "versions", "distributions", "calibration")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def signature_files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Every signature file below a pack with its id, FAMILY/SLUG; fixtures are not looked into."""
    for path in sorted(directory.glob("*/*.yaml")):
        if path.parent.name != "fixtures":
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
            data = _read_file(path, problems, digest)
            if isinstance(data, dict):
                tables[table] = data
            elif data is not None:
                problems.append(Problem(str(path), 1, "this file is not a mapping", "key: value"))
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
    return PackData(name, str(directory), signatures, tables, "sha256:" + digest.hexdigest(), tuple(problems))


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
