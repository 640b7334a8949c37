"""What is started for the words of a command line, and the sentence for what can't be."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from triage.capture import command
from triage.capture.command import CannotStart, interpreter, program_for, shortened


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A working directory of its own, and no environment that happens to be active."""
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# ---------------------------------------------------------------- the interpreter


def test_an_active_environment_comes_before_ours(tmp_path, monkeypatch):
    for name in ("conda", "venv"):
        executable(tmp_path / name / "bin" / "python")
    assert interpreter() == sys.executable
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    assert interpreter() == str(tmp_path / "conda" / "bin" / "python")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert interpreter() == str(tmp_path / "venv" / "bin" / "python")


def test_an_active_environment_that_was_deleted_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    assert interpreter() == sys.executable


@pytest.mark.parametrize("mark", ["pipx_metadata.json", "uv-receipt.toml"])
def test_a_tool_install_has_none_of_the_packages_of_a_script(tmp_path, monkeypatch, mark):
    (tmp_path / mark).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = executable(tmp_path / "bin" / "python3")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert interpreter() == str(found)
    found.unlink()
    with pytest.raises(CannotStart, match="--python") as refused:
        interpreter()
    assert refused.value.code == 127


def test_the_one_that_was_asked_for(tmp_path, monkeypatch):
    wanted = executable(tmp_path / "bin" / "python3.99")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert interpreter("python3.99") == interpreter(str(wanted)) == str(wanted)
    for refused in ("python2.1", str(tmp_path), str(tmp_path / "bin"), ""):
        with pytest.raises(CannotStart, match="--python"):
            interpreter(refused)


# ---------------------------------------------------------------- a script


def test_a_script_gets_the_interpreter_and_its_arguments(tmp_path):
    (tmp_path / "train.py").touch()
    program = program_for(["train.py", "--epochs", "3", "--", "-x"])
    assert program.arguments == (sys.executable, "train.py", "--epochs", "3", "--", "-x")
    assert (program.path, program.python, program.shown) == (sys.executable, sys.executable, "train.py")


@pytest.mark.parametrize(
    ("name", "text", "mode"),
    [
        ("train", "print(1)\n", 0o644),
        ("train.txt", "", 0o644),
        ("tool", "#!/usr/bin/env python3\n", 0o755),
        ("train.py", "#!/bin/sh\n", 0o755),
        ("train.py", "print(1)\n", 0o755),
        ("app.pyz", "PK\x03\x04", 0o644),
    ],
)
def test_what_is_python(tmp_path, name, text, mode):
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(mode)
    assert program_for([name]).arguments == (sys.executable, name)


@pytest.mark.parametrize("text", ["#!/bin/sh\necho\n", "#!/usr/bin/perl\n", "\x7fELF"])
def test_what_is_not_is_started_itself(tmp_path, text):
    executable(tmp_path / "tool", text)
    program = program_for(["tool", "-x"])
    assert program.arguments == ("./tool", "-x")
    assert (program.path, program.python) == ("./tool", None)
    assert program_for([str(tmp_path / "tool")]).path == str(tmp_path / "tool")


def test_a_directory_and_an_archive_run_as_python_runs_them(tmp_path):
    (tmp_path / "package").mkdir()
    with pytest.raises(CannotStart, match=r"is a directory without a __main__\.py") as refused:
        program_for(["package"])
    assert refused.value.code == 126
    (tmp_path / "package" / "__main__.py").touch()
    program = program_for(["package/"])
    assert (program.arguments[1:], program.shown) == (("package/",), "package")


@pytest.mark.parametrize("name", ["my train.py", "trän ✓.py", "-train.py", "a'b\".py", "\udcff.py"])
def test_any_name_will_do(tmp_path, name):
    (tmp_path / name).touch()
    assert program_for([f"./{name}"]).arguments[1] == f"./{name}"


def test_a_command_on_the_path_needs_no_dashes(tmp_path, monkeypatch):
    found = executable(tmp_path / "bin" / "pytest")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program = program_for(["pytest", "-x"])
    assert (program.path, program.arguments) == (str(found), ("pytest", "-x"))


def test_a_script_in_the_working_directory_comes_before_a_command(tmp_path, monkeypatch):
    executable(tmp_path / "bin" / "train")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "train").write_text("print(1)\n")
    assert program_for(["train"]).arguments == (sys.executable, "train")
    assert program_for(["train"], as_given=True).path == str(tmp_path / "bin" / "train")


# ---------------------------------------------------------------- what can't be started


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["trian.py"], r"trian\.py does not exist \(did you mean train\.py\?\)", 127),
        (["sub/trian.py"], r"did you mean sub/train\.py\?", 127),
        (["nowhere/x.py"], r"nowhere/x\.py does not exist; check the path", 127),
        (["no-such-command-here"], "does not exist", 127),
        (["train.ipynb.py"], "does not exist", 127),
        ([""], "does not exist", 127),
        (["sub"], "is a directory", 126),
    ],
)
def test_a_script_that_is_not_there(tmp_path, words, sentence, code):
    (tmp_path / "train.py").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").touch()
    with pytest.raises(CannotStart, match=sentence) as refused:
        program_for(words)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["no-such-command"], "no such program on the PATH", 127),
        (["./missing"], "no such program", 127),
        (["./plain"], r"may not be run by you; try: chmod \+x", 126),
        (["./sub"], "is a directory", 126),
    ],
)
def test_a_command_that_can_not_be_run(tmp_path, words, sentence, code):
    (tmp_path / "plain").touch()
    (tmp_path / "sub").mkdir()
    with pytest.raises(CannotStart, match=sentence) as refused:
        program_for(words, as_given=True)
    assert refused.value.code == code


def test_a_script_that_may_not_be_read(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "train.py").touch(0o000)
    with pytest.raises(CannotStart, match=r"chmod \+r"):
        program_for(["train.py"])


# ---------------------------------------------------------------- PEP 723

METADATA = "# /// script\n# dependencies = ['numpy']\n# ///\nprint(1)\n"


def test_a_script_with_dependencies_runs_through_uv(tmp_path, monkeypatch):
    uv = executable(tmp_path / "bin" / "uv")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "train.py").write_text("#!/usr/bin/env -S uv run --script\n" + METADATA)
    program = program_for(["train.py", "-x"])
    assert program.arguments == (str(uv), "run", "--script", "train.py", "-x")
    assert program.python is None
    assert any("PEP 723" in note for note in program.notes)
    asked = program_for(["train.py"], python="3.12")
    assert asked.arguments == (str(uv), "run", "--python", "3.12", "--script", "train.py")


def test_without_uv_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "train.py").write_text(METADATA)
    program = program_for(["train.py"])
    assert program.arguments == (sys.executable, "train.py")
    assert any("PEP 723" in note and "uv" in note for note in program.notes)


@pytest.mark.parametrize("text", ["print('# /// script')\n", "x = 1  # /// script\n", "# /// scripts\n", "\xff\xfe"])
def test_what_only_looks_like_metadata(tmp_path, monkeypatch, text):
    executable(tmp_path / "bin" / "uv")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "train.py").write_text(text)
    assert program_for(["train.py"]).notes == ()


def test_line_ends_of_windows(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "train.py").write_bytes(METADATA.replace("\n", "\r\n").encode())
    assert program_for(["train.py"]).notes


# ---------------------------------------------------------------- a notebook


def test_a_notebook_needs_nbclient(tmp_path):
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    without = executable(tmp_path / "bin" / "python", "#!/bin/sh\nexit 1\n")
    with pytest.raises(CannotStart, match="-m pip install nbclient ipykernel") as refused:
        program_for(["train.ipynb"], python=str(without))
    assert refused.value.code == 126
    having = executable(tmp_path / "bin" / "other", "#!/bin/sh\nexit 0\n")
    program = program_for(["train.ipynb"], python=str(having))
    assert (program.python, program.shown) == (str(having), "train.ipynb")
    assert program.arguments[-1] == "train.ipynb"


def test_a_notebook_and_an_interpreter_that_does_not_start(tmp_path):
    (tmp_path / "train.ipynb").write_text("{}")
    broken = executable(tmp_path / "python", "#!/nowhere/at/all\n")
    with pytest.raises(CannotStart, match="could not be started"):
        program_for(["train.ipynb"], python=str(broken))


# ---------------------------------------------------------------- a command for people


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["/usr/bin/python3", "/home/ann/train.py", "--token", "secret"], "python3 train.py"),
        (["python", "-X", "dev", "-c", "print('secret')"], "python dev"),
        (["python", "-c", "secret()"], "python -c …"),
        (["python", "-m", "package.train", "secret"], "python -m package.train"),
        (["python", "-c", "from multiprocessing.spawn import spawn_main"], "python -c multiprocessing worker"),
        (["bash"], "bash"),
        (["bash", "-c", "secret"], "bash -c …"),
        (["sleep", "60"], "sleep 60"),
    ],
)
def test_a_command_is_shown_without_what_is_nobodys_business(words, shown):
    assert shortened(words) == shown


def test_everything_that_can_go_wrong_is_a_sentence_for_people(tmp_path):
    """It names what was given and ends like a sentence, or with a command to copy."""
    (tmp_path / "plain").touch()
    for words, as_given in ((["x.py"], False), (["./plain"], True), (["nope"], True), (["."], False)):
        with pytest.raises(CannotStart) as refused:
            program_for(words, as_given=as_given)
        sentence = str(refused.value)
        assert words[0] in sentence
        assert "\n" not in sentence
        assert sentence.endswith(".") or "try: " in sentence
    assert command.CannotStart("x").code == 126
