"""Where the dumps of `triage run` on Windows go, which are kept, and where Windows keeps its own (LocalDumps)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.capture.windows.dump_files import (
    KEY,
    DumpPlaces,
    how_to_set_up,
    local_dump_of,
    local_dumps_folder,
    remove_oldest,
)
from triage.readers.minidump.stored_frames import frames_beside


def written(places: DumpPlaces, pid: int) -> Path:
    places.prepare()
    part = places.temporary(pid, "final")
    part.write_bytes(b"MDMP")
    return places.keep(part, pid)


def test_a_dump_has_a_temporary_name_until_it_is_whole(tmp_path: Path) -> None:
    places = DumpPlaces("train.py", state=tmp_path / "dumps")
    places.prepare()
    part = places.temporary(7, "final")
    assert part.suffix == ".part"
    dump = written(places, 7)
    assert dump.suffix == ".dmp"
    assert not part.exists()


def test_its_name_has_the_script_and_the_process(tmp_path: Path) -> None:
    name = written(DumpPlaces("python train model.py", state=tmp_path), 4711).name
    assert name.startswith("model-")
    assert name.endswith("-4711.dmp")


@pytest.mark.parametrize("shown", ["", "python -c …", "../../etc/passwd", "a:b*c?.py", "x" * 300])
def test_no_program_gives_a_name_that_leads_elsewhere(shown: str, tmp_path: Path) -> None:
    assert written(DumpPlaces(shown, state=tmp_path), 1).parent == tmp_path


def test_the_ten_newest_are_kept_with_their_frames(tmp_path: Path) -> None:
    for day in range(1, 13):
        dump = tmp_path / f"train-202601{day:02}-120000-{day}.dmp"
        for file in (dump, frames_beside(dump)):
            file.write_text("")
            os.utime(file, (day, day))
    remove_oldest(tmp_path)
    assert sorted(path.name[6:14] for path in tmp_path.glob("*.dmp")) == [f"202601{day:02}" for day in range(3, 13)]
    assert len(list(tmp_path.glob("*.frames.json"))) == 10


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.dmp").write_text("")
    remove_oldest(tmp_path, keep=0)
    assert (tmp_path / "precious.dmp").exists()


def test_what_a_killed_run_left_unfinished_goes_after_a_day(tmp_path: Path) -> None:
    old, new = tmp_path / "a-20260101-120000-1.final.part", tmp_path / "a-20260102-120000-2.final.part"
    for file, at in ((old, 0), (new, 200_000)):
        file.write_text("")
        os.utime(file, (at, at))
    remove_oldest(tmp_path, now=200_000)
    assert [path.name for path in tmp_path.iterdir()] == [new.name]


def test_save_takes_a_directory_and_removes_nothing_there(tmp_path: Path) -> None:
    for day in range(1, 13):
        (tmp_path / f"train-202601{day:02}-120000-{day}.dmp").write_text("")
    assert written(DumpPlaces("train.py", str(tmp_path)), 7).parent == tmp_path
    assert len(list(tmp_path.glob("*.dmp"))) == 13


def test_save_takes_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    assert written(DumpPlaces("train.py", f"{tmp_path}/new/"), 7).parent == tmp_path / "new"


def test_save_takes_a_file_and_a_second_process_gets_one_beside_it(tmp_path: Path) -> None:
    places = DumpPlaces("train.py", str(tmp_path / "mine.dmp"))
    assert [written(places, pid).name for pid in (7, 8)] == ["mine.dmp", "mine.8.dmp"]


def test_windows_keeps_no_dumps_where_nobody_asked_for_them() -> None:
    assert local_dumps_folder("python.exe", lambda key: None) is None


def test_the_programs_own_folder_beats_the_general_one() -> None:
    keys = {KEY: {"DumpFolder": "/all"}, f"{KEY}\\python.exe": {"DumpFolder": "/own"}}
    assert local_dumps_folder("python.exe", keys.get) == Path("/own")
    assert local_dumps_folder("host.exe", keys.get) == Path("/all")


def test_without_a_folder_it_is_the_one_that_windows_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert local_dumps_folder("python.exe", {KEY: {}}.get) == Path("/local\\CrashDumps")


def test_the_dump_of_this_process_and_no_other(tmp_path: Path) -> None:
    for name in ("python.exe.471.dmp", "python.exe.4711.dmp", "pythonw.exe.4711.dmp", "python.exe.4711.txt"):
        (tmp_path / name).write_text("")
    assert local_dump_of("python.exe", 4711, tmp_path) == tmp_path / "python.exe.4711.dmp"
    assert local_dump_of("python.exe", 11, tmp_path) is None
    assert local_dump_of("python.exe", 4711, tmp_path / "nowhere") is None


@pytest.mark.parametrize("name", ["Python.EXE.4711.DMP", "python.exe(1).4711.dmp", "python.exe(12).4711.dmp"])
def test_a_dump_is_known_in_any_case_and_with_a_number(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "python.exe(x).4711.dmp").write_text("")
    assert local_dump_of("python.exe", 4711, tmp_path) == tmp_path / name


def test_the_lines_for_an_administrator_are_for_this_program() -> None:
    command = 'reg add "HKLM\\SOFTWARE\\Microsoft\\Windows\\Windows Error Reporting\\LocalDumps\\python.exe"'
    assert how_to_set_up("python.exe").count(command) == 2
