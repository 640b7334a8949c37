"""Cores that name what must not be opened: none of us, gdb and pystack opens it, and the rest is still reported.

The file is a library of a real process until that has died; then something else takes its place.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TRIAGE, clean_environment
from dying import core_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these are cores of Linux")
PATIENCE = 90
LIBRARY, DATA = "libown.so", "data.bin"
# Both are mapped by a program that dies; `_struct` is a library of Python's own, copied.
LOADER = """
import ctypes, mmap, os
_here = os.path.dirname(os.path.abspath(__file__))
_library = ctypes.CDLL(os.path.join(_here, {library!r}))
_data = mmap.mmap(os.open(os.path.join(_here, {data!r}), os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
"""


@pytest.fixture(autouse=True)
def _tools(require: Callable[[str], None]) -> None:
    require("gdb")


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The core of a process that had loaded a library and mapped a file of its own folder."""
    import _struct

    import dying

    folder = tmp_path.resolve()
    shutil.copy(_struct.__file__, folder / LIBRARY)
    (folder / DATA).write_bytes(bytes(4096))
    monkeypatch.setattr(dying, "CRASHER", LOADER.format(library=LIBRARY, data=DATA) + dying.CRASHER)
    return core_of(folder, "read", "worker")


def analyzed(core: Path, *options: str, watched: Path | None = None) -> dict[str, Any]:
    """The report, in time; `watched` is a pipe that nobody may have opened meanwhile."""
    words = [*TRIAGE, "analyze", "--no-redact", "--format", "json", *options, str(core)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(), start_new_session=True
    )
    until = time.monotonic() + PATIENCE
    try:
        while process.poll() is None:
            assert time.monotonic() < until, "it hangs"
            assert not (watched and is_open(watched)), "somebody has opened the pipe"
            try:
                output, _ = process.communicate(timeout=0.01)
            except subprocess.TimeoutExpired:
                continue
            return json.loads(output)
        return json.loads(process.communicate()[0])
    finally:
        process.kill()
        process.communicate()


def is_open(pipe: Path) -> bool:
    """Whether anybody reads a pipe, or waits in the open for it: then, and only then, it can be opened for writing."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        assert error.errno == errno.ENXIO
        return False
    return True


def crashed_thread(report: dict[str, Any]) -> dict[str, Any]:
    (thread,) = (thread for thread in report["crash"]["processes"][0]["threads"] if thread["crashed"])
    return thread


def test_while_every_file_is_there_nothing_is_missing(core: Path) -> None:
    report = analyzed(core)
    assert "read" in {frame["function"] for frame in crashed_thread(report)["python_stack"]}
    assert not [sentence for sentence in report["not_observable"] if LIBRARY in sentence or DATA in sentence]


@pytest.mark.parametrize("through_link", [False, True], ids=["itself", "through a link"])
def test_a_library_that_is_a_pipe_now_is_not_opened(core: Path, through_link: bool) -> None:
    library, pipe = core.parent / LIBRARY, core.parent / "pipe"
    library.unlink()
    os.mkfifo(pipe)
    if through_link:
        library.symlink_to(pipe)
    else:
        pipe.rename(library)
        pipe = library
    report = analyzed(core, watched=pipe)
    gaps = " ".join(report["not_observable"])
    assert f"the core names {library}, which is a pipe, and pystack would open it" in gaps
    # gdb is asked all the same, with that one library left out
    assert crashed_thread(report)["native_stack"]
    assert report["crash"]["processes"][0]["fault"]["address"] == "0x8"
    assert report["crash"]["processes"][0]["fault"]["instruction"]


def test_a_mapped_file_that_is_a_pipe_now_is_not_opened_and_takes_nothing_away(core: Path) -> None:
    data = core.parent / DATA
    data.unlink()
    os.mkfifo(data)
    report = analyzed(core, watched=data)
    assert "read" in {frame["function"] for frame in crashed_thread(report)["python_stack"]}
    assert crashed_thread(report)["native_stack"]


@pytest.mark.parametrize(
    ("name", "why"), [("/proc/self/mem", "below /proc"), ("/dev/zero", "below /dev"), ("/net/no/x", "below /net")]
)
def test_a_library_that_leads_to_the_kernel_or_a_server_now_is_not_opened(core: Path, name: str, why: str) -> None:
    library = core.parent / LIBRARY
    library.unlink()
    library.symlink_to(name)
    report = analyzed(core)
    assert f"the core names {library}, which is {why}" in " ".join(report["not_observable"])
    assert crashed_thread(report)["native_stack"]


def test_a_library_of_another_build_is_not_used(core: Path) -> None:
    import math

    shutil.copy(math.__file__, core.parent / LIBRARY)
    (sentence,) = (one for one in analyzed(core)["not_observable"] if LIBRARY in one)
    assert sentence.startswith(f"frames in {LIBRARY} may be wrong or lack names: another build")


@pytest.mark.parametrize("beginning", ["/..", "target:"])
def test_a_core_that_was_written_by_hand_is_given_to_no_debugger(core: Path, beginning: str) -> None:
    pipe = core.parent / "libown.so"
    name = os.fsencode(pipe)
    crafted = (beginning.encode() + name)[: len(name) - len(LIBRARY)].ljust(len(name), b"x")
    core.write_bytes(core.read_bytes().replace(name, crafted))
    pipe.unlink()
    os.mkfifo(pipe)
    report = analyzed(core, watched=pipe)
    assert any("names files as no system does" in sentence for sentence in report["not_observable"])
    assert report["crash"]["processes"][0]["exit"]["signal"] == "SIGSEGV"


def test_the_program_itself_may_be_a_pipe_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path.resolve() / "python3"
    shutil.copy(os.path.realpath(sys.executable), program)
    monkeypatch.setenv("PYTHONHOME", sys.base_prefix)
    core = core_of(tmp_path.resolve() / "run", "read", python=str(program))
    monkeypatch.delenv("PYTHONHOME")
    program.unlink()
    os.mkfifo(program)
    report = analyzed(core, watched=program)
    expected = f"native stack: {program}, which the core names, is a pipe; name the program with --executable PATH"
    assert expected in report["not_observable"]


@pytest.mark.parametrize(("kind", "what"), [("pipe", "a pipe"), ("/dev/zero", "a device"), (".", "a directory")])
def test_what_the_person_names_must_be_a_program(core: Path, kind: str, what: str) -> None:
    given = core.parent / kind
    if kind == "pipe":
        os.mkfifo(given)
    report = analyzed(core, "--executable", str(given), watched=given if kind == "pipe" else None)
    sentence = f"--executable {given}: this is {what} and no program, and it was not used"
    assert sentence in report["not_observable"]
    assert "read" in {frame["function"] for frame in crashed_thread(report)["python_stack"]}
