"""Windows Error Reporting's dumps: found where an administrator has set them up, explained where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.capture.windows.error_reporting import KEY, dump_of, folder_for, how_to_set_up


def test_nothing_is_set_up() -> None:
    assert folder_for("python.exe", lambda key: None) is None


def test_the_programs_own_folder_beats_the_general_one() -> None:
    keys = {KEY: {"DumpFolder": "/all"}, f"{KEY}\\python.exe": {"DumpFolder": "/own"}}
    assert folder_for("python.exe", keys.get) == Path("/own")
    assert folder_for("host.exe", keys.get) == Path("/all")


def test_without_a_folder_it_is_the_one_that_windows_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert folder_for("python.exe", {KEY: {}}.get) == Path("/local\\CrashDumps")


def test_the_dump_of_this_process_and_no_other(tmp_path: Path) -> None:
    for name in ("python.exe.471.dmp", "python.exe.4711.dmp", "pythonw.exe.4711.dmp", "python.exe.4711.txt"):
        (tmp_path / name).write_text("")
    assert dump_of("python.exe", 4711, tmp_path) == tmp_path / "python.exe.4711.dmp"
    assert dump_of("python.exe", 11, tmp_path) is None
    assert dump_of("python.exe", 4711, tmp_path / "nowhere") is None


@pytest.mark.parametrize("name", ["Python.EXE.4711.DMP", "python.exe(1).4711.dmp", "python.exe(12).4711.dmp"])
def test_a_dump_is_known_in_any_case_and_with_a_number(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "python.exe(x).4711.dmp").write_text("")
    assert dump_of("python.exe", 4711, tmp_path) == tmp_path / name


def test_the_lines_for_an_administrator_are_for_this_program() -> None:
    told = how_to_set_up("python.exe")
    assert (
        told.count('reg add "HKLM\\SOFTWARE\\Microsoft\\Windows\\Windows Error Reporting\\LocalDumps\\python.exe"') == 2
    )
