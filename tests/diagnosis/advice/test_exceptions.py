"""What is said about an everyday exception, and about an import that failed, from its own words."""

from __future__ import annotations

import pytest

from triage.crash import Crash, Log, PythonException, PythonFrame
from triage.diagnosis.advice.exceptions import about_exception
from triage.diagnosis.advice.missing_modules import missing_module
from triage.diagnosis.advice.system_libraries import missing_library

OWN = (PythonFrame("/home/user/app/main.py", 3, "<module>"),)


def said(type: str, message: str, *frames: PythonFrame) -> str:
    error = PythonException(type, message, message.split("\n")[0], frames or OWN, None, None, 0)
    return about_exception(Crash(exceptions=(error,))).get("exception_advice", "")


@pytest.mark.parametrize(
    ("type", "message", "says"),
    [
        ("TypeError", "'NoneType' object is not subscriptable", "is None"),
        ("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'int'", "One of the two values there is None"),
        ("TypeError", "f() takes 1 positional argument but 2 were given", "(1, not 2)"),
        ("TypeError", "f() takes from 1 to 2 positional arguments but 3 were given", "(from 1 to 2, not 3)"),
        ("TypeError", "A.fit() got an unexpected keyword argument 'epoch'", "A.fit() has no parameter epoch"),
        ("IndexError", "index 3 is out of bounds for axis 0 with size 3", "its last index is 2"),
        ("IndexError", "index 0 is out of bounds for axis 1 with size 0", "empty along axis 1"),
        (
            "ValueError",
            "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples."
            "'x' sizes: 10\n'y' sizes: 8\n",
            "x has 10 samples and y has 8",
        ),
        ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0x8b in position 1: invalid", "gzip.open()"),
        ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xff in position 0: invalid", "utf-16"),
        ("json.decoder.JSONDecodeError", "Extra data: line 2 column 1 (char 9)", "for each line"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'data/in.csv'", "data/in.csv is sought from"),
        ("PermissionError", "[Errno 13] Permission denied: '/srv/out'", "access to /srv/out"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "start the server"),
        ("sqlite3.OperationalError", "no such table: users", "no table users"),
        (
            "subprocess.CalledProcessError",
            "Command '['x']' died with <Signals.SIGSEGV: 11>.",
            "The program that it started died of SIGSEGV",
        ),
        ("SystemError", "<built-in function f> returned NULL without setting an exception", "broke Python's rules"),
        ("NameError", "name 'np' is not defined", "Define or import np"),
        ("NameError", "name 'vlaue' is not defined. Did you mean: 'value'?", "Write value for vlaue"),
        ("NameError", "name 'io' is not defined. Did you forget to import 'io'?", "Import io at the top"),
        ("AttributeError", "'A' object has no attribute 'nmae'. Did you mean: '.name'?", "Write name for nmae"),
    ],
)
def test_everyday_exceptions_have_a_sentence(type: str, message: str, says: str) -> None:
    assert says in said(type, message)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("ValueError", "no"),
        ("KeyError", "'x'"),
        ("AssertionError", ""),
        ("RuntimeError", "job failed"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/srv/in.csv'"),
        ("my.KeyError", "database is locked"),
    ],
)
def test_nothing_is_said_where_nothing_is_known(type: str, message: str) -> None:
    assert said(type, message) == ""


def test_the_frame_below_the_own_line_tells_what_a_key_is() -> None:
    frozen = PythonFrame("<frozen os>", 679, "__getitem__")
    assert "Set the environment variable DB_URL" in said("KeyError", "'DB_URL'", frozen, *OWN)
    popen = PythonFrame("/usr/local/lib/python3.11/subprocess.py", 1955, "_execute_child")
    message = "[Errno 2] No such file or directory: 'ffmpeg'"
    assert "no program ffmpeg on PATH" in said("FileNotFoundError", message, popen, *OWN)


PACKAGE = "/home/user/venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("type", "message", "says"),
    [
        ("ImportError", "attempted relative import with no known parent package", "python -m app.main"),
        ("ImportError", "attempted relative import beyond top-level package", "Take a dot away"),
        (
            "ModuleNotFoundError",
            "No module named 'requests.adapters'; 'requests' is not a package",
            "Rename the file requests.py",
        ),
        ("ModuleNotFoundError", "No module named 'math.x'; 'math' is not a package", "Correct the import: math of"),
        (
            "ImportError",
            f"cannot import name 'quickget' from 'requests' ({PACKAGE}/requests/__init__.py)",
            "Install the release of requests for which the code was written",
        ),
        (
            "ImportError",
            "cannot import name 'load' from 'config' (/home/user/app/config.py)",
            "Define load in app/config.py",
        ),
        ("ImportError", "cannot import name 'x' from 'random' (/home/user/app/random.py)", "hides Python's own random"),
        ("ImportError", "cannot import name 'Tensor' from 'torch' (unknown location)", "Rename the folder torch"),
        ("ImportError", "/x/ext.so: undefined symbol: _PyGen_Send", "for the Python that runs"),
        ("ImportError", "/x/ext.so: undefined symbol: sf_open", "none of them has sf_open"),
    ],
)
def test_import_failures_are_told_apart(type: str, message: str, says: str) -> None:
    assert says in said(type, message)


def test_two_own_modules_that_import_each_other() -> None:
    message = "cannot import name 'f' from partially initialized module 'a' (most likely due to a circular import)"
    frames = (PythonFrame("/home/user/app/b.py", 1, "<module>"), PythonFrame("/home/user/app/a.py", 1, "<module>"))
    assert "a and b.py import each other" in said("ImportError", message, *frames)
    # A file with the name of the package is no circle of two.
    alone = PythonFrame("/home/user/app/a.py", 1, "<module>")
    assert "each other" not in said("ImportError", message, alone)


def test_pip_of_another_environment_is_named_with_both_folders() -> None:
    text = "Requirement already satisfied: pandas in /home/user/miniconda3/lib/python3.11/site-packages (2.2.2)\n"
    frame = PythonFrame(f"{PACKAGE}/tool/__init__.py", 1, "<module>")
    error = PythonException("ModuleNotFoundError", "No module named 'pandas'", "", (frame, *OWN), None, None, 0)
    tables = {"packages": {"rows": {"pandas": "pandas"}}}
    crash = Crash(exceptions=(error,), logs=(Log(0, text.split("\n")),))
    advice = missing_module("pandas", crash, tables)
    assert "/home/user/miniconda3, and the program takes its packages from /home/user/venv" in advice["module_advice"]
    assert advice["module_install"] == "python -m pip install pandas"
    same = Crash(exceptions=(error,), logs=(Log(0, text.replace("miniconda3", "venv").split("\n")),))
    assert "takes its packages from" not in missing_module("pandas", same, tables)["module_advice"]


@pytest.mark.parametrize(
    ("file", "debian"),
    [
        ("libGL.so.1", "libgl1"),
        ("libgthread-2.0.so.0", "libglib2.0-0"),
        ("libsndfile.so.1", "libsndfile1"),
        ("libgomp.so.1", "libgomp1"),
        ("libpython3.10.so.1.0", "libpython3.10"),
        ("libstdc++.so.6", "libstdc++6"),
    ],
)
def test_a_library_of_the_system_is_named_with_its_package(file: str, debian: str) -> None:
    found = missing_library(file)
    assert debian in found["library_install"]
    assert found["library_advice"].startswith("Install the")


def test_an_unknown_library_is_not_guessed() -> None:
    assert missing_library("libsomething.so.3") == {}
