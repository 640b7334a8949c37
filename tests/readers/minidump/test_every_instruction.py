"""The frames at each single instruction of a real program, against what its calls and returns were.

The program and the recording are in fixtures/dumps/stepped, with how they were made.
"""

import lzma
from pathlib import Path

import pytest
from single_steps import SteppedMemory, steps

from triage.readers.minidump.pe import ImageFinder, memory_image
from triage.readers.minidump.streams import Module
from triage.readers.minidump.walk import walk

STEPPED = Path(__file__).resolve().parents[3] / "fixtures" / "dumps" / "stepped"
BASE = 0x1_4000_0000


class FileAsMemory:
    """The bytes of a file at address 0, to read its header."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()

    def read(self, address: int, size: int) -> bytes:
        return self._data[address : address + size]


@pytest.fixture(scope="module")
def program() -> Module:
    header = memory_image(FileAsMemory(STEPPED / "stepped.exe"), 0).header
    return Module(BASE, header.size, "C:\\work\\stepped.exe", header.timestamp, header.checksum)


def test_prologs_bodies_and_epilogs_are_all_left_rightly(program: Module):
    memory = SteppedMemory()
    moments = frames = 0
    with ImageFinder(None, [str(STEPPED)]) as finder:
        for moment in steps(lzma.decompress((STEPPED / "steps.xz").read_bytes()), memory):
            stack = walk([program], memory, moment.registers, finder)
            walked = tuple(frame.pc for frame in stack.frames[1:])
            assert walked[: len(moment.calls)] == moment.calls, f"step {moments} at 0x{moment.registers.pc:x}"
            moments, frames = moments + 1, frames + len(moment.calls)
    assert (moments, frames) == (421, 1401)


def test_only_exported_functions_are_named(program: Module):
    memory = SteppedMemory()
    with ImageFinder(None, [str(STEPPED)]) as finder:
        named = {
            frame.function
            for moment in steps(lzma.decompress((STEPPED / "steps.xz").read_bytes()), memory)
            for frame in walk([program], memory, moment.registers, finder).frames
        }
    assert named == {None, "everything", "again"}
