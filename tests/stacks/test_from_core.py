"""Cores of processes that really died: the notes say which thread died of what, pystack and gdb where."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from building import sentences
from dying import ON_X86_64, core_of, held, waiting

from triage.crash import Thread
from triage.frames import name_of
from triage.stacks import Collected, from_core, gdb

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these are cores of Linux")
PYENV = Path.home() / ".pyenv" / "versions"


@pytest.fixture(autouse=True)
def _tools(require: Callable[[str], None]) -> None:
    require("gdb")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core of a thread that read from address 8."""
    return core_of(tmp_path_factory.mktemp("core"), "read", "worker")


def crashed_thread(collected: Collected) -> Thread:
    (thread,) = (thread for thread in collected.threads if thread.crashed)
    return thread


def test_a_core_shows_which_thread_died_of_what_and_where(core: Path) -> None:
    collected = from_core(str(core))
    assert sentences(collected.missing) == ()
    assert collected.complete
    assert collected.exit and collected.exit.signal == "SIGSEGV"
    assert collected.pid
    assert collected.command and "dying.py read worker" in collected.command
    assert collected.executable == os.path.realpath(sys.executable)
    assert collected.python == ".".join(map(str, sys.version_info[:2]))
    assert any(library.name.startswith("libc.so") for library in collected.libraries)
    thread = crashed_thread(collected)
    assert [frame.function for frame in thread.python_stack][:2] == ["string_at", "read"]
    assert "ffi_call" in {name_of(frame) for frame in thread.native_stack}
    assert len(collected.threads) == 2


@ON_X86_64
@pytest.mark.parametrize(
    ("kind", "name", "access"),
    [
        ("write", "SIGSEGV", "write"),
        ("jump", "SIGSEGV", "execute"),
        ("abort", "SIGABRT", None),
        ("divide", "SIGFPE", None),
        ("illegal", "SIGILL", None),
        ("trap", "SIGTRAP", None),
        ("bus", "SIGBUS", "read"),
    ],
)
def test_every_kind_of_death_has_its_fault(kind: str, name: str, access: str | None, tmp_path: Path) -> None:
    collected = from_core(str(core_of(tmp_path, kind)))
    assert collected.exit and collected.exit.signal == name
    assert collected.fault
    assert (collected.fault.signal, collected.fault.access) == (name, access)
    # there is no code where it jumped to, and no instruction causes an abort
    assert (collected.fault.instruction is None) == (kind in ("jump", "abort"))
    assert kind in {frame.function for frame in crashed_thread(collected).python_stack}
    assert crashed_thread(collected).native_stack


def test_if_faulthandler_raised_the_signal_again_the_first_fault_is_reported(tmp_path: Path) -> None:
    core = core_of(tmp_path, "read", options=("-X", "faulthandler"))
    collected = from_core(str(core))
    assert collected.fault
    assert (collected.fault.address, collected.fault.access) == (8, "read")
    assert not {"raise", "faulthandler_fatal_error"} & {name_of(f) for f in crashed_thread(collected).native_stack}


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_the_core_of_a_python_that_is_not_ours(version: str, tmp_path: Path) -> None:
    found = sorted(PYENV.glob(f"{version}.*/bin/python{version}"))
    if not found:
        pytest.skip(f"there is no Python {version} here")
    collected = from_core(str(core_of(tmp_path, "read", python=str(found[0]))))
    assert sentences(collected.missing) == ()
    assert collected.python == version
    assert "read" in {frame.function for frame in crashed_thread(collected).python_stack}
    assert "ffi_call" in {name_of(frame) for frame in crashed_thread(collected).native_stack}


def test_a_held_process_that_was_dumped_shows_the_crash_and_not_its_handler(
    tmp_path: Path, require: Callable[[str], None]
) -> None:
    require("ptrace")
    with held(tmp_path, "read", "worker") as pid:
        core = written_by_gdb(pid, tmp_path / "held.core")
    collected = from_core(str(core))
    assert collected.fault
    assert (collected.fault.signal, collected.fault.address) == ("SIGSEGV", 8)
    assert "read" in {frame.function for frame in crashed_thread(collected).python_stack}


def test_a_process_that_was_dumped_alive_did_not_crash(tmp_path: Path, require: Callable[[str], None]) -> None:
    require("ptrace")
    with waiting(tmp_path) as pid:
        core = written_by_gdb(pid, tmp_path / "living.core")
    collected = from_core(str(core))
    assert collected.exit is None
    assert collected.fault is None
    assert not any(thread.crashed for thread in collected.threads)
    assert "wait" in {frame.function for thread in collected.threads for frame in thread.python_stack}


def written_by_gdb(pid: int, core: Path) -> Path:
    command = ["gdb", "--nx", "--batch", "-p", str(pid), "-ex", f"generate-core-file {core}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    os.kill(pid, signal.SIGSTOP)
    return core


def test_without_gdb_the_notes_have_the_fault_except_for_the_instruction(
    core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    collected = from_core(str(core))
    (sentence,) = sentences(collected.missing)
    assert sentence.startswith("faulting instruction: gdb is not installed")
    assert collected.fault
    assert (collected.fault.signal, collected.fault.address) == ("SIGSEGV", 8)
    assert "rip" in dict(collected.fault.registers) or "pc" in dict(collected.fault.registers)
    assert crashed_thread(collected).python_stack


def test_huge_libraries_are_walked_through_stubs_and_have_their_names(
    core: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pygdbmi.IoManager  # noqa: F401

    usual = from_core(str(core))
    monkeypatch.setattr(gdb, "_HUGE", 0)  # now every library is one
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    stubbed = from_core(str(core))
    named = {frame.function for frame in crashed_thread(usual).native_stack if frame.function}
    assert {"ffi_call", "PyCFuncPtr_call"} <= named & {f.function for f in crashed_thread(stubbed).native_stack}
    assert any("pystack is not installed" in sentence for sentence in sentences(stubbed.missing))


@pytest.fixture(scope="module")
def orphan(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The core of an interpreter that is gone since, and where that was."""
    directory = tmp_path_factory.mktemp("orphan")
    program = directory / os.path.basename(os.path.realpath(sys.executable))
    shutil.copy(os.path.realpath(sys.executable), program)
    os.environ["PYTHONHOME"] = sysconfig.get_config_var("prefix")
    try:
        core = core_of(directory / "run", "read", python=str(program))
    finally:
        del os.environ["PYTHONHOME"]
    program.unlink()
    return core, program


def test_a_program_that_is_not_here_any_more_is_asked_for(orphan: tuple[Path, Path]) -> None:
    core, program = orphan
    collected = from_core(str(core))
    assert collected.executable == str(program)
    assert any(
        s.startswith("native stack:") and "--executable" in s and str(program) in s
        for s in sentences(collected.missing)
    )
    assert collected.exit and collected.exit.signal == "SIGSEGV"
    assert collected.fault and collected.fault.address == 8


def test_the_program_can_be_named(orphan: tuple[Path, Path]) -> None:
    core, _ = orphan
    collected = from_core(str(core), executable=os.path.realpath(sys.executable))
    assert "read" in {frame.function for frame in crashed_thread(collected).python_stack}
    assert not any("--executable" in sentence for sentence in sentences(collected.missing))


def test_a_wrong_program_is_noticed(core: Path) -> None:
    (sentence,) = sentences(from_core(str(core), executable=shutil.which("gdb")).missing)
    assert "not the program that made the core" in sentence


@pytest.mark.parametrize("wrong", ["/no/such/python", "gdb"])
def test_a_program_that_did_not_make_the_core_is_not_used(wrong: str, core: Path) -> None:
    right = from_core(str(core))
    collected = from_core(str(core), executable=shutil.which(wrong) or wrong)
    (sentence,) = sentences(collected.missing)
    assert sentence.startswith(f"--executable {shutil.which(wrong) or wrong}: ")
    assert collected._replace(missing=()) == right


def test_names_in_any_script_are_read_from_a_core_too(tmp_path: Path) -> None:
    frames = crashed_thread(from_core(str(core_of(tmp_path, "大きさ", script="脚本.py")))).python_stack
    assert [frame.function for frame in frames] == ["string_at", "read", "größe", "大きさ", "<module>"]
    assert {Path(frame.file).name for frame in frames[1:]} == {"脚本.py"}
