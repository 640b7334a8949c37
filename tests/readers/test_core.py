"""`triage analyze core`: whole, cut off, compressed or through a pipe, a core becomes facts or one sentence."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from building import sentences
from conftest import TRIAGE
from dying import core_of

import triage
from triage.crash import Crash
from triage.readers import Source, Unreadable, of_one_process, read
from triage.reports import FORMATS
from triage.stacks.core_file import read_core

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these are cores of Linux")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core of a thread that read from address 8."""
    return core_of(tmp_path_factory.mktemp("core"), "read", "worker")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, so that a test sees whether any is left."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return directory


def assert_whole(crash: Crash) -> None:
    assert crash.inputs[0].kind == "core"
    assert crash.exit and crash.exit.signal == "SIGSEGV"
    process = crash.processes[0]
    assert process.pid
    assert process.fault and process.fault.address == 8
    assert crash.threads[0].crashed
    assert "read" in {frame.function for frame in crash.threads[0].python_stack}


def test_a_core_becomes_a_process_with_its_threads_and_its_fault(core: Path, scratch: Path) -> None:
    crash = read(Source.of(core), 3)
    assert_whole(crash)
    assert sentences(crash.gaps) == ()
    assert crash.inputs[0].complete
    assert crash.inputs[0].id == 3
    assert crash.exit and crash.exit.place and crash.exit.place.input == 3
    assert crash.threads[0].place and crash.threads[0].place.input == 3
    process = crash.processes[0]
    assert process.command and process.command.endswith("dying.py read worker")
    environment = crash.environment
    assert environment.os == "linux"
    assert environment.python == ".".join(map(str, sys.version_info[:2]))
    assert environment.interpreter == os.path.realpath(sys.executable)
    assert environment.libraries_complete
    assert any(library.name.startswith("libc.so") for library in environment.libraries)
    assert list(scratch.iterdir()) == []


def zstd(data: bytes) -> bytes:
    try:
        from compression.zstd import compress
    except ImportError:
        from backports.zstd import compress
    packed: bytes = compress(data)
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstd,
}


@pytest.mark.parametrize("packer", PACKERS)
def test_a_compressed_core_is_unpacked_aside_and_nothing_is_left(
    core: Path, packer: str, tmp_path: Path, scratch: Path
) -> None:
    packed = tmp_path / "core.python.0.1234"  # the name does not show it, like those of systemd
    packed.write_bytes(PACKERS[packer](core.read_bytes()))
    crash = read(Source.of(packed), 0)
    assert_whole(crash)
    assert sentences(crash.gaps) == ()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("packer", PACKERS)
def test_a_compressed_core_that_is_cut_off_is_read_as_far_as_it_goes(
    core: Path, packer: str, tmp_path: Path, scratch: Path
) -> None:
    packed = PACKERS[packer](core.read_bytes())
    cut = tmp_path / "core.packed"
    cut.write_bytes(packed[: len(packed) // 2])
    crash = read(Source.of(cut), 0)
    assert crash.exit and crash.exit.signal == "SIGSEGV"
    assert not crash.inputs[0].complete
    assert any("its end is missing" in sentence for sentence in sentences(crash.gaps))
    assert list(scratch.iterdir()) == []


def test_a_core_through_a_pipe_is_spooled(core: Path, tmp_path: Path, scratch: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(core.read_bytes()))
    writer.start()
    crash = read(Source.of(pipe), 0)
    writer.join()
    assert_whole(crash)
    assert list(scratch.iterdir()) == []


def test_the_bytes_of_a_core_that_a_program_has_are_spooled(core: Path, scratch: Path) -> None:
    assert_whole(read(Source.of(io.BytesIO(core.read_bytes())), 0))
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("share", [0.6, 0.02])
def test_a_core_that_is_cut_off_says_how_much_is_there(core: Path, share: float, tmp_path: Path) -> None:
    data = core.read_bytes()
    cut = tmp_path / "core"
    cut.write_bytes(data[: int(len(data) * share)])
    crash = read(Source.of(cut), 0)
    assert not crash.inputs[0].complete
    assert crash.exit and crash.exit.signal == "SIGSEGV"
    assert crash.processes[0].fault and crash.processes[0].fault.address == 8
    size = f"{len(data) / (1 << 20):,.0f} MiB"
    assert any(
        sentence.startswith(f"{cut} is cut off: ") and f" of {size} are there" in sentence
        for sentence in sentences(crash.gaps)
    )


def test_a_core_with_nothing_in_it_is_refused_in_one_sentence(core: Path, tmp_path: Path) -> None:
    stub = tmp_path / "core"
    stub.write_bytes(core.read_bytes()[:200])
    with pytest.raises(Unreadable) as refused:
        read(Source.of(stub), 0)
    assert str(refused.value).startswith(f"{stub} cannot be read as a core (")
    assert str(refused.value).endswith(".")


def test_a_program_that_is_not_there_is_not_named_as_the_one_that_made_the_core(core: Path) -> None:
    crash = read(Source.of(core), 0, executable="/no/such/python")
    assert sentences(crash.gaps) == ("--executable /no/such/python: there is no such file, and it was not used",)
    assert crash.environment.interpreter == os.path.realpath(sys.executable)
    assert_whole(crash)


def test_a_core_that_ends_in_its_headers_is_cut_off(core: Path, tmp_path: Path) -> None:
    cut = tmp_path / "core"
    cut.write_bytes(core.read_bytes()[:1000])
    with pytest.raises(Unreadable, match="it is cut off"):
        read(Source.of(cut), 0)


def test_cores_of_two_processes_are_not_taken_for_one(core: Path, tmp_path: Path) -> None:
    other = core_of(tmp_path, "abort")
    log = read(Source.of(b"Segmentation fault (core dumped)\n"), 0)
    first, again, second = (read(Source.of(path), number) for number, path in enumerate((core, core, other), 1))
    kept = of_one_process([log, first, again, second])
    assert kept[:3] == [log, first, again]
    assert kept[3].processes == ()
    assert kept[3].inputs == second.inputs
    pids = second.processes[0].pid, first.processes[0].pid
    assert sentences(kept[3].gaps) == (
        f"{other} is the core of another process ({pids[0]}, not {pids[1]}); analyze it by itself",
    )


def test_where_a_core_has_no_room_a_sentence_says_what_to_do(core: Path, tmp_path: Path, scratch: Path) -> None:
    packed = tmp_path / "core.gz"
    packed.write_bytes(gzip.compress(core.read_bytes(), 1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))  # no file may grow beyond a MiB now
    try:
        with pytest.raises(Unreadable) as refused:
            read(Source.of(packed), 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(refused.value).startswith(f"{packed} is too large to unpack into {scratch} (")
    assert "set TMPDIR" in str(refused.value)
    assert list(scratch.iterdir()) == []


def test_zeros_take_no_room_on_the_disk(scratch: Path) -> None:
    from triage.readers.source import as_file

    with as_file(None, "core", b"begin", io.BytesIO(bytes(64 << 20) + b"end")) as path:
        status = os.stat(path)
        assert status.st_size == 5 + (64 << 20) + 3
        assert status.st_blocks * 512 < 1 << 20
        assert os.stat(os.path.dirname(path)).st_mode & 0o077 == 0


def test_a_core_and_a_log_of_the_same_crash_are_one_incident(core: Path) -> None:
    log = b"Traceback noise\nFatal Python error: Segmentation fault\n"
    report = triage.analyze(str(core), log)
    assert [entry.kind for entry in report.crash.inputs] == ["core", "log"]
    assert report.crash.exit and report.crash.exit.signal == "SIGSEGV"


def test_a_path_that_is_no_text_is_shown_as_far_as_it_is(core: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.core"
    odd.write_bytes(core.read_bytes().replace(b"/libc.so.6", b"/lib\xff.so.6"))
    assert read_core(str(odd)).files != read_core(str(core)).files, "the core names no C library"
    for form in FORMATS:
        done = subprocess.run(
            [*TRIAGE, "analyze", odd, "--format", form, "--output", tmp_path / form], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) in ((0, ""), (1, ""))
        assert "lib?.so.6" in (tmp_path / form).read_text("utf-8")
