"""The machine and the Python that ran: a real environment, interpreters that do not start, metadata that is broken."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

import triage
from triage.capture.machine import (
    _installed,
    ask_interpreter,
    cpu_flags,
    environment_of,
    graphics_cards,
    packages_on,
)
from triage.crash import Fact, Library

POSIX = pytest.mark.skipif(os.name != "posix", reason="the interpreters are shell scripts")


def script(path: Path, *lines: str) -> str:
    """A program that stands in for an interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)
    return str(path)


def metadata(directory: Path, name: str, text: str | bytes | None) -> Path:
    """A package's metadata directory, None for one without METADATA."""
    (directory / name).mkdir(parents=True)
    if text is not None:
        data = text if isinstance(text, bytes) else text.encode()
        (directory / name / "METADATA").write_bytes(data)
    return directory


def test_this_environment_is_described_as_it_is() -> None:
    library = Library("libc.so.6")
    found = environment_of(sys.executable, [library], libraries_complete=True)
    assert found.python == "{}.{}.{}".format(*sys.version_info[:3])
    assert found.interpreter == sys.executable
    assert found.os == {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform]
    assert (found.libraries, found.libraries_complete) == ((library,), True)
    assert found.package("setuptools") is None or found.package("setuptools") == version("setuptools")
    assert "pytest" not in dict(found.packages), "only packages that decide a crash are listed"
    assert Fact("python", found.python, "measured") in found.facts


def test_the_tensorflow_of_this_environment_is_found_without_importing_it(require: Callable[[str], None]) -> None:
    require("tensorflow")
    found = environment_of(sys.executable)
    builds = [version(name) for name in packages_distributions()["tensorflow"]]
    assert found.package("tensorflow") in builds
    assert found.package("numpy") == version("numpy")
    assert "tensorflow" not in sys.modules


def test_a_cuda_that_pip_brought_is_installed_which_is_less_than_measured(tmp_path: Path) -> None:
    site = tmp_path / "lib"
    for name in ("nvidia_cuda_runtime_cu12-12.1.105", "nvidia_cudnn_cu12-8.9.2.26"):
        (site / f"{name}.dist-info").mkdir(parents=True)
        package, _, version_ = name.partition("-")
        (site / f"{name}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version_}\n"
        )
    facts = set(_installed(packages_on((str(site),))))
    assert facts == {Fact("cuda", "12.1.105", "installed"), Fact("cudnn", "8.9.2.26", "installed")}


def test_the_container_is_measured(tmp_path: Path) -> None:
    assert environment_of(None, environ={}, root=str(tmp_path)).fact("container") is None
    (tmp_path / ".dockerenv").touch()
    assert Fact("container", "Docker", "measured") in environment_of(None, environ={}, root=str(tmp_path)).facts


def test_no_interpreter_is_no_error() -> None:
    found = environment_of(None)
    assert (found.python, found.packages, found.interpreter) == (None, (), None)
    assert found.os


def test_tensorflow_has_one_name_whichever_build_it_is(tmp_path: Path) -> None:
    metadata(tmp_path, "tensorflow_intel-2.16.1.dist-info", "Name: tensorflow-intel\nVersion: 2.16.1\n")
    assert packages_on([str(tmp_path)]) == (("tensorflow", "2.16.1"), ("tensorflow-intel", "2.16.1"))


def test_a_package_of_that_name_beats_its_builds(tmp_path: Path) -> None:
    metadata(tmp_path, "tensorflow-2.15.0.dist-info", "Name: tensorflow\nVersion: 2.15.0\n")
    metadata(tmp_path, "tf_nightly-2.22.0.dev3.dist-info", "Name: tf-nightly\nVersion: 2.22.0.dev3\n")
    assert dict(packages_on([str(tmp_path)]))["tensorflow"] == "2.15.0"


def test_the_first_directory_on_the_path_is_imported_from(tmp_path: Path) -> None:
    first = metadata(tmp_path / "a", "numpy-1.26.4.dist-info", "Name: numpy\nVersion: 1.26.4\n")
    second = metadata(tmp_path / "b", "numpy-2.1.0.dist-info", "Name: numpy\nVersion: 2.1.0\n")
    assert packages_on(["/nowhere", str(first), str(second)]) == (("numpy", "1.26.4"),)


@pytest.mark.parametrize(
    "text", [None, "", "no field at all", b"\xff\xfe\x00Version", "Metadata-Version: 2.1\n\nVersion: 9\n"]
)
def test_broken_metadata_still_leaves_the_version_in_the_name(tmp_path: Path, text: str | bytes | None) -> None:
    metadata(tmp_path, "ml_dtypes-0.5.1.dist-info", text)
    metadata(tmp_path, "h5py-3.14.0-py3.11.egg-info", None)
    assert packages_on([str(tmp_path)]) == (("h5py", "3.14.0"), ("ml-dtypes", "0.5.1"))


def test_an_unreadable_path_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "some.zip").write_bytes(b"PK")
    assert packages_on([str(tmp_path / "some.zip"), "", "\0"]) == ()


@POSIX
@pytest.mark.parametrize(
    "lines", [("exit 1",), ("kill -SEGV $$",), ("echo 'triage:('",), ("echo triage:",), ("echo \"triage:('3.9', 7)\"",)]
)
def test_an_interpreter_that_does_not_start_leaves_what_lies_beside_it(tmp_path: Path, lines: tuple[str, ...]) -> None:
    broken = script(tmp_path / "bin" / "python", *lines)
    packages = metadata(
        tmp_path / "lib/python3.9/site-packages", "keras-2.15.0.dist-info", "Name: keras\nVersion: 2.15.0\n"
    )
    found = ask_interpreter(broken)
    assert (found.path, found.version, found.search_path) == (broken, "3.9", (str(packages),))
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.9.18\n")
    environment = environment_of(broken)
    assert (environment.python, environment.package("keras")) == ("3.9.18", "2.15.0")


@POSIX
def test_an_interpreter_that_hangs_is_given_up(tmp_path: Path) -> None:
    hanging = script(tmp_path / "bin" / "python", "exec sleep 60")
    started = time.monotonic()
    assert ask_interpreter(hanging, patience=0.3).version is None
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("path", ["/nowhere/bin/python", "/", "", "\0"])
def test_no_interpreter_there_is_no_error(path: str) -> None:
    assert ask_interpreter(path).version is None


@POSIX
def test_chatter_of_a_site_hook_is_not_taken_for_the_answer(tmp_path: Path) -> None:
    chatty = script(tmp_path / "python", "echo welcome", "echo \"triage:('3.12.1', ['', '/a'])\"", "echo bye")
    assert ask_interpreter(chatty)[1:] == ("3.12.1", ("/a",))


@POSIX
def test_the_interpreter_is_asked_without_our_hook(tmp_path: Path) -> None:
    hook = str(Path(triage.__file__).parent / "capture" / "hook")
    seen = tmp_path / "seen"
    asked = script(tmp_path / "python", f"env > {seen}")
    ask_interpreter(asked, {**os.environ, "TRIAGE_RUN": "1", "PYTHONPATH": os.pathsep.join((hook, "/theirs"))})
    lines = seen.read_text().splitlines()
    assert "PYTHONPATH=/theirs" in lines
    assert not any(line.startswith("TRIAGE_") for line in lines)
    ask_interpreter(asked, {**os.environ, "PYTHONPATH": hook})
    assert "PYTHONPATH" not in seen.read_text()


def test_a_module_in_the_working_directory_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "site", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not me')\n")
    monkeypatch.chdir(tmp_path)
    assert ask_interpreter(sys.executable).version is not None


# the processor and the cards


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 avx\n\nprocessor\t: 1\nflags\t\t: other\n", ("fpu", "sse2", "avx")),
        ("processor\t: 0\nFeatures\t: fp asimd\n", ("fp", "asimd")),
        ("processor\t: 0\n", ()),
    ],
)
def test_the_first_processors_flags_are_read(tmp_path: Path, text: str, flags: tuple[str, ...]) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(text)
    assert cpu_flags(str(tmp_path)) == flags


def test_a_machine_without_cards_and_without_files_has_none(tmp_path: Path) -> None:
    assert graphics_cards(str(tmp_path)) == ((), None)
    assert cpu_flags(str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("kernel_module", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n", "535.104.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14\n", "550.54.14"),
        ("", None),
    ],
)
def test_cards_are_read_from_the_drivers_files(tmp_path: Path, kernel_module: str, version: str | None) -> None:
    driver = tmp_path / "proc/driver/nvidia"
    (driver / "gpus/0000:65:00.0").mkdir(parents=True)
    (driver / "gpus/0000:66:00.0").mkdir()
    (driver / "gpus/0000:65:00.0/information").write_text("Model: \t\t NVIDIA A100 \nIRQ:   \t\t 120\n")
    (driver / "gpus/0000:66:00.0/information").write_text("Model: \t\t \nIRQ:   \t\t 121\n")
    (driver / "version").write_text(kernel_module)
    assert graphics_cards(str(tmp_path)) == (("NVIDIA A100",), version)
