"""The draft of a new signature: it can be loaded as soon as its two logs exist, whatever its title says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from building import write_log, write_pack

from triage.knowledge.database import load
from triage.knowledge.drafting import draft
from triage.knowledge.signature import parse_signature
from triage.maintain.prove import lint_packs


def test_a_draft_parses() -> None:
    found = parse_signature("house/new", "house", yaml.safe_load(draft("The node went away", "host.out-of-memory")))
    assert (found.title, found.cause, found.grade) == ("The node went away", "host.out-of-memory", "claimed")
    assert [clue.kind for clue in found.clues] == ["log", "exit"]
    assert len(found.matches) == len(found.differs) == 1


@pytest.mark.parametrize(
    "title",
    [
        "Failed: no memory",
        "Broken # really",
        "[GPU] is full",
        "'quoted' words",
        '"quoted" words',
        "{a}",
        "- dash",
        "100%",
    ],
)
def test_a_draft_parses_whatever_its_title_says(title: str) -> None:
    assert yaml.safe_load(draft(title, "host.out-of-memory"))["title"] == title


def test_a_draft_is_loaded_without_problem_once_its_logs_exist(tmp_path: Path) -> None:
    text = draft("The node went away", "host.out-of-memory").replace("OTHER.CAUSE", "gpu.out-of-memory")
    pack = write_pack(tmp_path / "house", {"house/new": text})
    write_log(pack, "NAME.log", "the words that only this failure prints")
    write_log(pack, "OTHER.log", "something else")
    both = load((str(pack),))
    assert both.problems == ()
    assert both.signatures["house/new"].pack == "house"


def test_lint_has_nothing_to_say_about_a_draft(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "house", {"house/new": draft("The node went away", "host.out-of-memory")})
    assert lint_packs((str(pack),)).problems == ()
