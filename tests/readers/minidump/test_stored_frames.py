"""Frames that were walked on the machine of the crash are found beside the dump, and believed for that dump only."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import REPOSITORY

import triage
from triage.crash import Crash, NativeFrame
from triage.readers import Source, read
from triage.readers.minidump.stored_frames import frames_beside, store, stored

DUMPS = REPOSITORY / "fixtures" / "dumps"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump without the DLLs that were in it, where only the first frame is known."""
    return Path(shutil.copy(DUMPS / "fast-fail-7.dmp", tmp_path))


def crash_in(dump: Path) -> Crash:
    return read(Source.of(str(dump)), 0)


def with_longer_stack(dump: Path) -> tuple[NativeFrame, ...]:
    (thread, *_) = crash_in(dump).threads
    frames = (*thread.native_stack, *(NativeFrame("host.exe", None, n, "cfi") for n in range(1, 9)))
    store(dump, [thread._replace(native_stack=frames)])
    return frames


def test_they_come_back_as_they_were(dump: Path) -> None:
    frames = with_longer_stack(dump)
    assert crash_in(dump).threads[0].native_stack == frames
    assert not any("--pe-dir" in sentence for sentence in triage.analyze(str(dump)).not_observable)


def test_another_dump_of_the_same_name_does_not_get_them(dump: Path) -> None:
    with_longer_stack(dump)
    shutil.copy(DUMPS / "read.dmp", dump)
    assert stored(dump) == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b'{"schema": "triage.frames/1"}', b"\xff\xfe"])
def test_a_damaged_file_is_no_file(content: bytes, dump: Path) -> None:
    frames_beside(dump).write_bytes(content)
    assert stored(dump) == {}


def test_nothing_that_only_lay_about_becomes_a_call(dump: Path) -> None:
    with_longer_stack(dump)
    content = json.loads(frames_beside(dump).read_bytes())
    content["threads"][0]["frames"][2]["trust"] = "scan"
    frames_beside(dump).write_text(json.dumps(content))
    (frames,) = stored(dump).values()
    assert len(frames) == 2
