"""Where bytes come from: files, FIFOs, standard input, streams; and one sentence where they do not come."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from triage.readers import Source, Unreadable, read
from triage.readers.source import files_in

NOBODY = 65534


def _refusal(source: Source) -> str:
    """The sentence with which a source is refused."""
    with pytest.raises(Unreadable) as refused:
        read(source, 0)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@contextmanager
def _without_privileges() -> Iterator[None]:
    """Root may read everything; a test about permissions must not be root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


# What is read


def test_a_file_is_read_by_its_path_as_text_or_as_a_path_object(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"Epoch 1/5\n")
    for given in (str(path), path):
        crash = read(Source.of(given), 4)
        assert crash.logs[0].text == "Epoch 1/5"
        assert (crash.inputs[0].id, crash.inputs[0].kind, crash.inputs[0].name) == (4, "log", str(path))


def test_bytes_and_open_streams_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"Killed\n")
    assert read(Source.of(b"Killed\n"), 0).logs[0].text == "Killed"
    assert read(Source.of(io.BytesIO(b"Killed\n")), 0).logs[0].text == "Killed"
    with path.open("rb") as stream:
        assert read(Source.of(stream), 0).inputs[0].name == str(path)


def test_a_stream_that_was_handed_in_is_left_open() -> None:
    stream = io.BytesIO(b"Killed\n")
    read(Source.of(stream), 0)
    assert not stream.closed


def test_a_file_is_closed_after_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"x")
    with Source.of(path).open() as stream:
        assert not stream.closed
    assert stream.closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_is_read_to_its_end_though_it_cannot_be_rewound(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    lines = b"".join(b"line %d\n" % number for number in range(30_000))
    writer = threading.Thread(target=fifo.write_bytes, args=(lines + b"Segmentation fault (core dumped)\n",))
    writer.start()
    crash = read(Source.of(fifo), 0)
    writer.join()
    assert crash.exit is not None
    assert (crash.exit.signal, crash.exit.place and crash.exit.place.line) == ("SIGSEGV", 30_001)


def test_a_dash_is_standard_input() -> None:
    program = "from triage.readers import *; print(read(Source('-'), 0).exit.signal)"
    done = subprocess.run([sys.executable, "-c", program], input=b"Killed\n", capture_output=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (b"SIGKILL", b"")


@pytest.mark.skipif(os.name == "nt", reason="the shell closes standard input here")
def test_standard_input_that_is_closed_is_refused_in_one_sentence() -> None:
    program = "from triage.readers import *\ntry: read(Source('-'), 0)\nexcept Unreadable as refused: print(refused)\n"
    done = subprocess.run(["sh", "-c", '"$0" -c "$1" <&-', sys.executable, program], capture_output=True, timeout=60)
    assert done.stderr == b""
    assert done.stdout.strip()


def test_a_process_that_writes_slowly_is_read_to_its_end() -> None:
    """A pipe gives what is there: a short read is not the end."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb", buffering=0) as stream:
            for piece in (b"Segment", b"ation fault", b" (core dumped)\n"):
                stream.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    with open(reading, "rb") as stream:
        crash = read(Source.of(stream), 0)
    writer.join()
    assert crash.exit is not None
    assert crash.exit.signal == "SIGSEGV"


def test_an_empty_file_is_a_log_that_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    crash = read(Source.of(path), 0)
    assert crash.is_empty
    assert (crash.inputs[0].kind, crash.inputs[0].complete) == ("log", True)


# What is refused, with what to try


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "nowhere.log does not exist; check the path" in _refusal(Source.of(tmp_path / "nowhere.log"))


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert "is a directory" in _refusal(Source.of(tmp_path))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of a Unix file")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_bytes(b"Killed\n")
    path.chmod(0)
    with _without_privileges():
        assert "may not be read by you" in _refusal(Source.of(path))


@pytest.mark.parametrize("name", ["a" * 5000, "with\0nul"])
def test_a_name_that_cannot_be_a_path_is_refused(name: str) -> None:
    assert "could not be opened" in _refusal(Source.of(name))


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to(path)
    assert "could not be opened" in _refusal(Source.of(path))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens but does not read")
def test_a_file_that_opens_but_fails_while_it_is_read_is_refused() -> None:
    assert "/proc/self/mem" in _refusal(Source.of("/proc/self/mem"))


# A directory


def test_a_directory_gives_its_plain_files_sorted_and_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "c.log").touch()
    assert files_in(str(tmp_path)) == [str(tmp_path / "a.log"), str(tmp_path / "b.log")]


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="holds no files to analyze"):
        files_in(str(tmp_path))


def test_a_directory_that_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="could not be listed"):
        files_in(str(tmp_path / "nowhere"))
