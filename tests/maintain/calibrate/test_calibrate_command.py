"""`make calibrate`: what it writes and prints, and what it says about folders without cases."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from triage.knowledge.calibration import parse_calibration
from triage.knowledge.pack import our_directory
from triage.maintain.calibrate.__main__ import main, wrapped

CHANNELS = (
    "tensorflow.python.framework.errors_impl.InvalidArgumentError: "
    "input depth must be evenly divisible by filter depth: {} vs 3\n"
)
KILLED = "kernel: Out of memory: Killed process {} (python3) total-vm:1kB\nKilled\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Labelled reports of two causes, in a folder with a space in its name."""
    folder = tmp_path / "labelled reports"
    folder.mkdir()
    for number in range(6):
        reports = (
            (f"channels-{number}", "shape.conv-channels", CHANNELS.format(number + 4)),
            (f"killed-{number}", "host.out-of-memory", KILLED.format(4000 + number)),
        )
        for name, cause, text in reports:
            (folder / f"{name}.yaml").write_text(yaml.safe_dump({"cause": cause, "input": text}), "utf-8")
    return folder


def test_it_writes_a_file_that_loads_and_prints_the_reliability_table(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "calibration.yaml"
    assert main([str(cases), "--output", str(target)]) == 0
    printed = capsys.readouterr().out
    assert "12 cases, whole projects left out: top1 1.0" in printed
    table = printed.split("| confidence | answers | right |")[1].splitlines()[2:]
    answers = [int(row.split("|")[2]) for row in itertools.takewhile(lambda row: row.startswith("|"), table)]
    assert sum(answers) == 12
    data = yaml.safe_load(target.read_text("utf-8"))
    fitted = parse_calibration(data)
    assert fitted.cases == 12
    assert fitted.causes == {"host.out-of-memory": 6, "shape.conv-channels": 6}
    assert fitted.counts["shape/conv-channels"].own == 6
    assert data["corpus"].startswith("sha256:")
    assert data["figures"]["top1"] == 1.0


def test_figures_of_unread_reports_are_copied_and_never_computed_from_the_cases(cases: Path, tmp_path: Path) -> None:
    kept, given = tmp_path / "kept.yaml", tmp_path / "given.yaml"
    measured = {"measured": "2026-02-01", "commit": "abc1234", "reports": 9}
    measured["bins"] = [{"from": 0.97, "answers": 8, "right": 7}]
    (tmp_path / "unread.yaml").write_text(yaml.safe_dump(measured), "utf-8")
    main([str(cases), "--output", str(kept)])
    main([str(cases), "--output", str(given), "--reliability", str(tmp_path / "unread.yaml")])
    assert yaml.safe_load(given.read_text("utf-8"))["reliability"] == measured
    ours = yaml.safe_load((Path(our_directory()) / "calibration.yaml").read_text("utf-8"))
    assert yaml.safe_load(kept.read_text("utf-8"))["reliability"] == ours["reliability"]


def test_the_same_cases_give_the_same_file(cases: Path, tmp_path: Path) -> None:
    targets = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for target in targets:
        main([str(cases), "--output", str(target)])
    assert targets[0].read_text("utf-8") == targets[1].read_text("utf-8")


def test_a_long_row_is_broken_between_its_entries_without_changing_its_content() -> None:
    clues = {f"clue-{number}": [number, 0] for number in range(40)}
    row = (
        "  gpu/a: {own: 10, elsewhere: 188, clues: {" + ", ".join(f"{id}: {hits}" for id, hits in clues.items()) + "}}"
    )
    lines = wrapped(row).splitlines()
    assert len(lines) > 3 and all(80 < len(line) <= 120 for line in lines[:-1])
    assert not [line for line in lines if line.lstrip()[0].isdigit()]
    assert yaml.safe_load("\n".join(lines)) == {"gpu/a": {"own": 10, "elsewhere": 188, "clues": clues}}
    assert wrapped("weights: {hits: 1.0, absences: 0.35}") == "weights: {hits: 1.0, absences: 0.35}"


def test_a_folder_without_cases_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "There are no cases (*.yaml) in" in capsys.readouterr().err


def test_a_file_that_is_not_a_case_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.yaml").write_text("just: notes\n", "utf-8")
    assert main([str(tmp_path)]) == 2
    assert "notes.yaml is not a labelled report; it needs 'cause' and 'input'." in capsys.readouterr().err
