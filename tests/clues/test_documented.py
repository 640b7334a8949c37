"""What people read about clue kinds is made from the kinds' own docstrings, and is true of them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import clue_kinds
import pytest
import yaml

from triage import clues
from triage.clues import KINDS, memory, parse_clue


def test_the_table_of_clue_kinds_is_what_their_docstrings_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert clue_kinds.main(clue_kinds.PAGE, write=False) == 0, capsys.readouterr().out


def test_a_table_that_is_out_of_date_is_named_with_what_to_run_and_is_made_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "CONTRIBUTING.md"
    text = clue_kinds.PAGE.read_text("utf-8")
    page.write_text(text.replace("| how the process ended |", "| how it ended |"), "utf-8")
    assert clue_kinds.main(page, write=False) == 1
    assert capsys.readouterr().out == "CONTRIBUTING.md: the table of clue kinds is out of date; run 'make docs'\n"
    assert clue_kinds.main(page, write=True) == 0
    assert page.read_text("utf-8") == text


def test_a_page_without_a_place_for_the_table_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "CONTRIBUTING.md"
    page.write_text("# Contributing\n", "utf-8")
    assert clue_kinds.main(page, write=True) == 1
    assert "is between" in capsys.readouterr().out
    assert page.read_text("utf-8") == "# Contributing\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_clue_of_its_kind(kind: str) -> None:
    for example, _ in clue_kinds.documented(kind).examples:
        assert parse_clue(yaml.safe_load(example), (), p=0.9).kind == kind


def test_every_condition_over_memory_is_an_example() -> None:
    examples = [yaml.safe_load(example)["memory"] for example, _ in clue_kinds.documented("memory").examples]
    assert sorted(examples) == sorted(memory.CONDITIONS)


def test_every_module_with_a_kind_is_in_the_registry() -> None:
    modules = [importlib.import_module(f"triage.clues.{found.name}") for found in pkgutil.iter_modules(clues.__path__)]
    assert {module.__name__.rpartition(".")[2] for module in modules if hasattr(module, "KIND")} == set(KINDS)
