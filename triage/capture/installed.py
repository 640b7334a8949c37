"""Which installed distribution brings a module, by the lists of files in their metadata; nothing is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from triage.crash import Provider, PythonException
from triage.patterns import compile as pattern

_NOT_FOUND = r"^No module named '?(\w+(?:\.\w+)*)"
_METADATA = (".dist-info", ".egg-info")
# What a name may be made of; metadata is text that anybody can write.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9._+!-]*"


def modules_not_found(exceptions: Iterable[PythonException]) -> tuple[str, ...]:
    """The modules that exceptions say were not found, with the packages they are in."""
    matches = (pattern(_NOT_FOUND).search(error.message) for error in exceptions)
    return tuple(dict.fromkeys(str(match[1]) for match in matches if match))


def providers_of(modules: Iterable[str], search_path: Iterable[str]) -> tuple[Provider, ...]:
    """For each module the distribution that brings it, else the one that brings the package it should be in."""
    wanted = tuple(modules)
    if not wanted:
        return ()
    lists = [(folder, files) for folder in _metadata_on(search_path) if (files := _files_of(folder))]
    found = (_provider_of(module, lists) for module in wanted)
    return tuple(provider for provider in found if provider)


def _provider_of(module: str, lists: list[tuple[Path, str]]) -> Provider | None:
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        path = re.escape("/".join(parts[:length]))
        # A folder without __init__.py may belong to many; a compiled module carries its Python in its name.
        holds = pattern(rf"^{path}(?:/__init__\.py|\.py|(?:\.[\w-]+)?\.(?:so|pyd))(?:,|$)")
        for folder, files in lists:
            if holds.search(files) and (told := _name_and_version(folder)):
                return Provider(".".join(parts[:length]), *told)
    return None


def _metadata_on(search_path: Iterable[str]) -> Iterator[Path]:
    for directory in dict.fromkeys(search_path):
        try:
            entries = sorted(os.listdir(directory))
        except (OSError, ValueError):  # a zip file, or a directory that is not there
            continue
        yield from (Path(directory, entry) for entry in entries if entry.endswith(_METADATA))


def _files_of(folder: Path) -> str:
    """The list of files that an installer left; where there is none, the names of the packages as such a list."""
    for name in ("RECORD", "top_level.txt"):
        try:
            text = (folder / name).read_text("utf-8", "replace")
        except OSError:
            continue
        return text if name == "RECORD" else "\n".join(f"{package}/__init__.py" for package in text.split())
    return ""


def _name_and_version(folder: Path) -> tuple[str, str] | None:
    from importlib.metadata import PathDistribution

    try:
        distribution = PathDistribution(folder)
        name, version = str(distribution.metadata["Name"]), str(distribution.version)
    except Exception:  # a broken METADATA fails in a different way in every version of Python
        return None
    return (name, version) if re.fullmatch(_NAME, name) and re.fullmatch(_VERSION, version) else None
