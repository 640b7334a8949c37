"""Images, stacks and registers with random damage: a walk ends, says no more than it knows, and never raises."""

import lzma
import random
import time
from pathlib import Path

from pe_builder import FakeMemory, as_loaded, make_pe
from single_steps import SteppedMemory, steps
from test_cpython import CRASHED, LAYOUTS, Process, frames_of

from triage.readers.minidump.pe import ExportTable, ImageFinder, memory_image
from triage.readers.minidump.streams import Module, Registers
from triage.readers.minidump.walk import MAX_FRAMES, walk

STEPPED = Path(__file__).resolve().parents[3] / "fixtures" / "dumps" / "stepped"
BASE = 0x1_4000_0000
SEED = 20
TRUSTED = {"context", "cfi", "leaf"}


def damaged(data: bytes, random_: random.Random) -> bytes:
    """A few bytes changed, some to what headers are afraid of, or the end cut off."""
    changed = bytearray(data)
    for _ in range(random_.randint(1, 12)):
        at = random_.randrange(len(changed))
        value = random_.choice((bytes([random_.randrange(256)]), b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
        changed[at : at + len(value)] = value
    return bytes(changed[: random_.randrange(len(changed))] if random_.random() < 0.1 else changed)


def test_damaged_programs_are_walked_as_far_as_they_make_sense():
    random_ = random.Random(SEED)
    file = (STEPPED / "stepped.exe").read_bytes()
    sections = memory_image(FakeMemory({0: file}), 0).header.sections
    loaded = bytearray(0x7000)
    loaded[:0x400] = file[:0x400]
    for section in sections:
        held = file[section.file_offset : section.file_offset + section.file_size]
        loaded[section.rva : section.rva + len(held)] = held
    header = memory_image(FakeMemory({BASE: bytes(loaded)}), BASE).header
    module = Module(BASE, header.size, "stepped.exe", header.timestamp, header.checksum)
    memory = SteppedMemory()
    moments = []
    for moment in steps(lzma.decompress((STEPPED / "steps.xz").read_bytes()), memory):
        if len(moment.calls) > 3:
            moments.append((moment.registers, memory.read(moment.registers.sp, 512)))
    walks = 0
    for _ in range(400):
        registers, stack = random_.choice(moments)
        if random_.random() < 0.3:
            stack = damaged(stack, random_)
        if random_.random() < 0.2:
            values = {
                name: random_.getrandbits(64) if random_.random() < 0.3 else value
                for name, value in registers.values.items()
            }
            registers = Registers("x64", values["rip"], values["rsp"], values["rbp"], values)
        process = FakeMemory({BASE: damaged(bytes(loaded), random_), registers.sp: stack})
        began = time.monotonic()
        walked = walk([module], process, registers, ImageFinder(process))
        assert time.monotonic() - began < 2
        assert {frame.trust for frame in walked.frames} <= TRUSTED
        assert 1 <= len(walked.frames) <= MAX_FRAMES
        walks += len(walked.frames) > 1
    assert walks > 50, "the damage is so great that nothing is walked at all"


def test_damaged_tables_of_names_are_read_as_far_as_they_go():
    random_ = random.Random(SEED)
    whole = as_loaded(make_pe(exports={f"name{number}": 0x1000 + number for number in range(20)}))
    read = 0
    for _ in range(400):
        image = memory_image(FakeMemory({BASE: damaged(whole[:0x3000], random_)}), BASE)
        if image:
            read += bool(ExportTable(image).names)
    assert read > 200


def test_a_damaged_interpreter_gives_frames_or_a_reason():
    random_ = random.Random(SEED)
    for _ in range(300):
        version = random_.choice(list(LAYOUTS))
        process = Process(LAYOUTS[version], depth=3)
        for _ in range(random_.randint(1, 200)):
            at = random_.randrange(0x42000) & ~7
            process.pointer(0x10_0000 + at, random_.choice((0, 0x10_5000, 0x14_0000, random_.getrandbits(64))))
        stack = frames_of(process, version, CRASHED)
        assert bool(stack.frames) != bool(stack.reason)
