"""Causes were moved into their families and long lines folded without changing a single parsed value.

Both sides come from git, so this says the same for ever, whatever is written into the signatures afterwards: on one the
commit before causes were split, on the other the commit that brought this file.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import PurePosixPath
from typing import Any

import pytest
from conftest import REPOSITORY

from triage.knowledge.pack_files import load_yaml

SPLIT = "signatures/gpu/causes.yaml"
FOLDED = "tests/knowledge/test_parsed_content.py"


def git(*arguments: str) -> bytes:
    try:
        return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and the history of the repository")


def commit_that_added(path: str) -> str:
    commits = git("log", "--diff-filter=A", "--format=%H", "--", path).decode().split()
    if not commits:
        pytest.skip(f"the history here does not reach back to the commit that added {path}")
    return commits[-1]


def parsed_at(commit: str) -> dict[str, Any]:
    """Every YAML file of signatures/ as it was, by its path; all causes together under one name."""
    files: dict[str, Any] = {}
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit, "signatures"))) as archive:
        for member in archive.getmembers():
            path = PurePosixPath(member.name).relative_to("signatures")
            if path.suffix == ".yaml" and (file := archive.extractfile(member)):
                files[str(path)] = load_yaml(file.read().decode("utf-8"))
    families = files["pack.yaml"].pop("families", None)
    if families:
        # The one value that is new: the order that one file had by being one.
        files["causes.yaml"] = {}
        for family in families:
            files["causes.yaml"].update(files.pop(f"{family}/causes.yaml"))
    return files


def test_every_file_says_what_it_said_before() -> None:
    before, after = parsed_at(commit_that_added(SPLIT) + "^"), parsed_at(commit_that_added(FOLDED))
    assert len(before) > 100
    assert set(after) == set(before)
    for path, content in before.items():
        # As text: the order of keys counts, and 1 is not 1.0 and not true.
        assert json.dumps(after[path], default=str) == json.dumps(content, default=str), path
