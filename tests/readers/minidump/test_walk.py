"""Whole stacks: what ends a walk, what is only seen, and that nothing seen becomes a frame."""

import struct

import pytest
from pe_builder import (
    ARM64,
    BASE,
    CODE,
    SIZE,
    STACK,
    TIMESTAMP,
    X86,
    FakeImages,
    FakeMemory,
    as_loaded,
    code,
    make_pe,
    unwind_info,
    words,
)

from triage.readers.minidump.exception import missing_import
from triage.readers.minidump.pe import memory_image
from triage.readers.minidump.streams import ExceptionRecord, Module, Registers
from triage.readers.minidump.walk import MAX_FRAMES, walk
from triage.readers.minidump.x86 import ends_in_call

SMALL = 2
MODULE = Module(BASE, SIZE, "C:\\app\\engine.dll", TIMESTAMP)
# A function of 0x40 bytes that takes eight bytes of stack and calls at 0x20, and behind it a leaf of 0x10.
CALL = bytes.fromhex("e8 0b000000")
TEXT = (b"\x90" * 0x1B + CALL).ljust(0x50, b"\x90")
RETURN = BASE + CODE + 0x20
FUNCTIONS = [(CODE, CODE + 0x40, unwind_info(code(4, SMALL, 0), prolog=4))]
LEAF = BASE + CODE + 0x44


def x64(pc: int, sp: int = STACK) -> Registers:
    return Registers("x64", pc, sp, 0, {"rip": pc, "rsp": sp})


def walked(stack: bytes, pc: int, *, with_image: bool = True, text: bytes = TEXT, base: int = STACK):
    loaded = as_loaded(make_pe(text, FUNCTIONS, {"engine_run": CODE}))
    memory = FakeMemory({base: stack})
    image = memory_image(FakeMemory({BASE: loaded}), BASE) if with_image else None
    return walk([MODULE], memory, x64(pc, base), FakeImages(image))


def test_a_stack_is_followed_to_its_end():
    stack = walked(words(RETURN, 0, RETURN, 0, 0), LEAF)
    assert [(frame.trust, frame.function, frame.offset) for frame in stack.frames] == [
        ("context", None, LEAF - BASE),
        ("leaf", "engine_run", 0x20),
        ("cfi", "engine_run", 0x20),
    ]
    assert (stack.seen, stack.left_out, stack.wanted) == ((), 0, None)


def test_without_the_file_there_is_the_first_frame_and_what_was_seen():
    stack = walked(words(RETURN, 0, RETURN, 0, 0), LEAF, with_image=False)
    assert [frame.trust for frame in stack.frames] == ["context"]
    assert (stack.seen, stack.wanted) == (("engine.dll",), "engine.dll")


def test_an_address_that_no_call_leads_to_is_no_caller():
    """The word on top of the stack points into the code, but not behind a call: the stack was overwritten."""
    stack = walked(words(RETURN + 1, 0, RETURN, 0, 0), LEAF)
    assert [frame.trust for frame in stack.frames] == ["context"]
    assert stack.seen == ("engine.dll",)


def test_a_return_address_outside_of_all_modules_ends_the_walk():
    assert len(walked(words(0x4141414141414141, 0, RETURN), LEAF).frames) == 1


def test_a_function_without_unwind_data_calls_nobody():
    """A return address in a leaf cannot be: leaves do not call."""
    text = TEXT[:0x40] + b"\x90" * 3 + CALL + b"\x90" * 8
    stack = walked(words(BASE + CODE + 0x48, 0, 0), BASE + CODE + 0x4C, text=text)
    assert [frame.trust for frame in stack.frames] == ["context", "leaf"]


def test_a_call_to_a_bad_address_is_left_by_its_return_address():
    stack = walked(words(RETURN, 0, 0), 0x10)
    assert [(frame.module, frame.trust) for frame in stack.frames] == [(None, "context"), ("engine.dll", "leaf")]


def test_a_jump_to_a_bad_address_is_not():
    assert len(walked(words(0, RETURN, 0, 0), 0x10).frames) == 1


def test_a_stack_that_ran_over_is_counted_and_not_kept():
    depth = 1000
    stack = walked(words(RETURN, *[0, RETURN] * depth, 0, 0), LEAF)
    assert len(stack.frames) == MAX_FRAMES
    assert len(stack.frames) + stack.left_out == depth + 2


def test_the_stack_probe_of_gcc_is_left_though_it_pushes_without_saying_so():
    probe = bytes.fromhex("5150483d00100000488d4c24187219 4881e900100000 48830900")
    text = (TEXT[:0x40] + probe).ljust(0x80, b"\x90")
    stack = walked(words(1, 2, RETURN, 0, 0), BASE + CODE + 0x40 + 0x16, text=text)
    assert [frame.trust for frame in stack.frames] == ["context", "leaf"]


@pytest.mark.parametrize(
    ("instruction", "is_call"),
    [
        ("e8 11223344", True),  # call there
        ("ffd0", True),  # call rax
        ("41ffd4", True),  # call r12
        ("ff15 11223344", True),  # call [there]
        ("ff5018", True),  # call [rax + 0x18]
        ("ff542420", True),  # call [rsp + 0x20]
        ("ff942400010000", True),  # call [rsp + 0x100]
        ("ff1425 11223344", True),  # call [an address]
        ("e9 11223344", False),  # jmp there
        ("ffe0", False),  # jmp rax
        ("ff7018", False),  # push [rax + 0x18]
        ("9090909090", False),
    ],
)
def test_a_call_is_known_by_its_bytes(instruction, is_call):
    assert ends_in_call((b"\x90" * 8 + bytes.fromhex(instruction))[-8:]) is is_call


def x86_stack(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def test_x86_follows_the_frame_pointers():
    base, sp = 0x400000, 0x12F000
    module = Module(base, SIZE, "C:\\app\\old.exe", TIMESTAMP)
    back = base + CODE + 0x20
    stack = x86_stack(9, 9, sp + 20, back, 9, sp + 32, back, 9, 0, 0)
    registers = Registers("x86", base + CODE, sp, sp + 8, {})
    loaded = as_loaded(make_pe(TEXT, machine=X86))
    image = memory_image(FakeMemory({0: loaded}), 0)
    for found in (image, None):
        walk_ = walk([module], FakeMemory({sp: stack}), registers, FakeImages(found))
        assert [frame.trust for frame in walk_.frames] == ["context", "frame_pointer", "frame_pointer"]
        assert walk_.seen == ()
    registers = registers._replace(fp=sp - 8)  # used for something else
    walk_ = walk([module], FakeMemory({sp: stack}), registers, FakeImages(image))
    assert ([frame.trust for frame in walk_.frames], walk_.seen) == (["context"], ("old.exe",))


def test_x86_does_not_return_to_where_no_call_was():
    base, sp = 0x400000, 0x12F000
    module = Module(base, SIZE, "old.exe", TIMESTAMP)
    image = memory_image(FakeMemory({0: as_loaded(make_pe(TEXT, machine=X86))}), 0)
    stack = x86_stack(sp + 16, base + CODE + 0x21, 9, 9, 0, 0)
    walk_ = walk([module], FakeMemory({sp: stack}), Registers("x86", base + CODE, sp, sp, {}), FakeImages(image))
    assert [frame.trust for frame in walk_.frames] == ["context"]


def test_arm64_follows_the_frame_pointers_and_takes_the_signature_off():
    back = BASE + CODE + 0x20
    signed = back | 0x00AB_8000_0000_0000
    stack = words(STACK + 0x20, signed, 0, 0, 0, 0)
    image = memory_image(FakeMemory({0: as_loaded(make_pe(TEXT, machine=ARM64))}), 0)
    registers = Registers("arm64", BASE + CODE, STACK, STACK, {"lr": back})
    walk_ = walk([MODULE], FakeMemory({STACK: stack}), registers, FakeImages(image))
    assert [(frame.trust, frame.pc) for frame in walk_.frames] == [("context", BASE + CODE), ("frame_pointer", back)]


def test_arm64_leaves_a_bad_call_by_its_link_register():
    back = BASE + CODE + 0x20
    registers = Registers("arm64", 0, STACK, STACK, {"lr": back})
    walk_ = walk([MODULE], FakeMemory({STACK: words(0, 0)}), registers, FakeImages(None))
    assert [(frame.trust, frame.pc) for frame in walk_.frames] == [("context", 0), ("leaf", back)]


def test_a_missing_dll_is_named_with_the_function_that_was_wanted():
    """The record lies on the stack, its names in the library: from the dump alone only the error is known."""
    names = CODE + 0x30
    text = b"\x90" * 0x30 + b"zlibwapi.dll\0inflate\0"
    image = memory_image(FakeMemory({0: as_loaded(make_pe(text))}), 0)
    record = struct.pack("<I4xQQQI4xQQQI", 72, BASE + 0x2000, 0, BASE + names, 1, BASE + names + 13, 0, 0, 126)
    memory = FakeMemory({STACK: record})
    exception = ExceptionRecord(1, 0xC06D007E, parameters=(STACK,), registers=x64(LEAF))
    assert missing_import(exception, [MODULE], memory, FakeImages(image)) == (
        "zlibwapi.dll",
        "inflate",
        "engine.dll",
        126,
    )
    assert missing_import(exception, [MODULE], memory, FakeImages(None)) == (None, None, "engine.dll", 126)
    assert missing_import(exception, [MODULE], FakeMemory({}), FakeImages(image)) is None
    assert missing_import(exception._replace(code=0xC0000005), [MODULE], memory, FakeImages(image)) is None


def test_a_missing_function_may_only_have_a_number():
    record = struct.pack("<9I", 36, 0x402000, 0, 0x401030, 0, 42, 0, 0, 127)
    module = Module(0x400000, SIZE, "old.exe", TIMESTAMP)
    registers = Registers("x86", 0x401000, 0x12F000, 0, {})
    exception = ExceptionRecord(1, 0xC06D007F, parameters=(0x12F000,), registers=registers)
    missing = missing_import(
        exception, [module], FakeMemory({0x12F000: record, 0x401030: b"a.dll\0"}), FakeImages(None)
    )
    assert missing == ("a.dll", "#42", "old.exe", 127)
