"""Each kind of unwind code, each with the smallest stack that shows whether it was undone rightly."""

import pytest
from pe_builder import BASE, CODE, STACK, FakeMemory, as_loaded, code, make_pe, unwind_info, words

from triage.readers.minidump.amd64 import RSP, RegisterFile, read_unwind_info, unwind
from triage.readers.minidump.memory import NotHeld
from triage.readers.minidump.pe import Function, Image, memory_image

PUSH, LARGE, SMALL, SET_FRAME, SAVE, SAVE_FAR, EPILOG, SPARE, XMM, XMM_FAR, MACHINE_FRAME = range(11)
RBX, RBP, RSI, R12 = 3, 5, 6, 12
CALLER = BASE + 0x1234
BODY = 0x20
END = 0x80
NOTHING_LEAVES = b"\x90" * END


def machine_after(
    info: bytes,
    stack: bytes,
    *,
    at: int = BODY,
    text: bytes = NOTHING_LEAVES,
    interrupted: bool = True,
    **registers: int,
) -> RegisterFile:
    """The registers of the caller of a function that has this unwind data and is at `at`."""
    image, memory = loaded(info, stack, text)
    values = [0] * 16
    values[RSP] = STACK
    for name, value in registers.items():
        values[int(name[1:])] = value
    machine = RegisterFile(memory, BASE + CODE + at, values)
    unwind(machine, image, BASE, image.function_at(CODE + at), interrupted=interrupted)
    return machine


def loaded(info: bytes, stack: bytes, text: bytes = NOTHING_LEAVES) -> tuple[Image, FakeMemory]:
    memory = FakeMemory({BASE: as_loaded(make_pe(text, [(CODE, CODE + END, info)])), STACK: stack})
    image = memory_image(memory, BASE)
    assert image
    return image, memory


def test_a_pushed_register_is_popped():
    machine = machine_after(unwind_info(code(1, PUSH, RBX), prolog=1), words(7, CALLER))
    assert (machine.registers[RBX], machine.pc, machine.registers[RSP]) == (7, CALLER, STACK + 16)


@pytest.mark.parametrize(
    ("slots", "size"),
    [
        ((code(4, SMALL, 0),), 8),
        ((code(4, SMALL, 15),), 128),
        ((code(7, LARGE, 0), 0x100 // 8), 0x100),
        ((code(7, LARGE, 1), 0x808, 0), 0x808),
    ],
)
def test_room_for_locals_is_given_back(slots, size):
    machine = machine_after(unwind_info(*slots, prolog=7), bytes(size) + words(CALLER))
    assert (machine.pc, machine.registers[RSP]) == (CALLER, STACK + size + 8)


def test_a_frame_register_gives_the_stack_pointer_whatever_was_allocated_since():
    info = unwind_info(code(8, SET_FRAME), code(4, SMALL, 3), code(1, PUSH, RBP), prolog=8, frame=RBP | 1 << 4)
    stack = bytes(0x100) + bytes(32) + words(0x77, CALLER)
    machine = machine_after(info, stack, r5=STACK + 0x110)
    assert (machine.pc, machine.registers[RBP]) == (CALLER, 0x77)


def test_saved_registers_are_read_from_their_place_in_the_frame():
    info = unwind_info(code(9, SAVE, RSI), 2, code(9, SAVE_FAR, R12), 24, 0, code(4, SMALL, 3), prolog=9)
    machine = machine_after(info, words(0, 0, 0x51, 0x12, CALLER))
    assert (machine.registers[RSI], machine.registers[R12], machine.pc) == (0x51, 0x12, CALLER)


def test_saved_vector_registers_are_passed_over():
    info = unwind_info(code(9, XMM, 6), 1, code(9, XMM_FAR, 7), 1, 0, code(4, SMALL, 0), prolog=9)
    assert machine_after(info, words(0, CALLER)).pc == CALLER


@pytest.mark.parametrize("error_code", [0, 1])
def test_a_machine_frame_leads_to_the_interrupted_instruction(error_code):
    info = unwind_info(code(0, MACHINE_FRAME, error_code))
    image, memory = loaded(info, words(*[9] * error_code, CALLER, 0x33, 0, STACK + 0x800, 0x2B))
    machine = RegisterFile(memory, BASE + CODE + BODY, [STACK] * 16)
    assert unwind(machine, image, BASE, image.function_at(CODE + BODY), interrupted=True) is True
    assert (machine.pc, machine.registers[RSP]) == (CALLER, STACK + 0x800)


def test_in_a_prolog_only_what_has_run_is_undone():
    info = unwind_info(code(5, SMALL, 3), code(1, PUSH, RBX), prolog=5)
    assert machine_after(info, words(CALLER), at=0).pc == CALLER
    assert machine_after(info, words(7, CALLER), at=1).registers[RBX] == 7
    assert machine_after(info, bytes(32) + words(7, CALLER), at=5).pc == CALLER


def test_a_return_address_can_stand_in_a_prolog_too():
    """Large prologs call the function that probes the stack before they take the room."""
    info = unwind_info(code(12, LARGE, 0), 0x200, code(1, PUSH, RBX), prolog=12)
    assert machine_after(info, words(7, CALLER), at=9, interrupted=False).pc == CALLER


def test_version_2_lists_epilogs_before_the_codes():
    info = unwind_info(code(4, EPILOG, 1), code(0x20, EPILOG), code(4, SMALL, 0), version=2, prolog=4)
    assert machine_after(info, words(0, CALLER)).pc == CALLER


def test_chained_data_goes_on_with_that_of_the_function():
    """A part that was moved away pushes what it needs, and has what the function itself had pushed."""
    whole = unwind_info(code(1, PUSH, RBX), prolog=1)
    part = unwind_info(code(1, PUSH, RSI), prolog=1, flags=4, parent=(CODE, CODE + 0x40, 0x4000))
    functions = [(CODE, CODE + 0x40, whole), (CODE + 0x40, CODE + 0x80, part)]
    memory = FakeMemory({BASE: as_loaded(make_pe(NOTHING_LEAVES, functions)), STACK: words(6, 3, CALLER)})
    image = memory_image(memory, BASE)
    machine = RegisterFile(memory, BASE + CODE + 0x50, [STACK] * 16)
    unwind(machine, image, BASE, image.function_at(CODE + 0x50), interrupted=True)
    assert (machine.registers[RSI], machine.registers[RBX], machine.pc) == (6, 3, CALLER)


EPILOGS = {
    "add rsp": (bytes.fromhex("4883c420 5b 5e c3"), words(0, 0, 0, 0, 3, 6, CALLER)),
    "large add rsp": (bytes.fromhex("4881c420000000 5b 5e c3"), words(0, 0, 0, 0, 3, 6, CALLER)),
    "first pop": (bytes.fromhex("5b 5e c3"), words(3, 6, CALLER)),
    "second pop": (bytes.fromhex("5e c3"), words(6, CALLER)),
    "return": (b"\xc3", words(CALLER)),
    "return for old branch predictors": (b"\xf3\xc3", words(CALLER)),
    "lea rsp": (bytes.fromhex("488d6510 5b 5e c3"), bytes(16) + words(3, 6, CALLER)),
    "pop of a high register": (bytes.fromhex("415c c3"), words(12, CALLER)),
    "jump to another function": (bytes.fromhex("5b e9 00100000"), words(3, CALLER)),
    "jump by a pointer": (bytes.fromhex("5b 48ff25 00000000"), words(3, CALLER)),
}


@pytest.mark.parametrize("epilog", EPILOGS)
def test_in_an_epilog_the_rest_of_it_is_done(epilog):
    instructions, stack = EPILOGS[epilog]
    text = (b"\x90" * BODY + instructions).ljust(END, b"\x90")
    info = unwind_info(code(6, SMALL, 3), code(2, PUSH, RBX), code(1, PUSH, RSI), prolog=6)
    assert machine_after(info, stack, text=text, r5=STACK).pc == CALLER


@pytest.mark.parametrize("instructions", ["ffe0", "eb10", "4883c420 90", "5b 5e 90", "488d642420 c3"])
def test_what_only_looks_like_an_epilog_is_none(instructions):
    """A switch, a jump inside of the function, code that goes on."""
    text = (b"\x90" * BODY + bytes.fromhex(instructions)).ljust(END, b"\x90")
    assert machine_after(unwind_info(code(4, SMALL, 3), prolog=4), bytes(32) + words(CALLER), text=text).pc == CALLER


def test_a_bare_jump_out_of_the_function_is_undecided():
    """It can be a last call, with the stack taken down, or a jump to a cold part, with the stack as it was."""
    text = (b"\x90" * BODY + bytes.fromhex("e900100000")).ljust(END, b"\x90")
    with pytest.raises(NotHeld):
        machine_after(unwind_info(code(4, SMALL, 3), prolog=4), bytes(64), text=text)


@pytest.mark.parametrize(
    "info",
    [
        unwind_info(version=3),
        unwind_info(code(1, 11)),
        unwind_info(code(1, LARGE, 1), 0),
        unwind_info(code(1, LARGE, 2), 0, 0),
        unwind_info(code(1, SET_FRAME)),
        unwind_info(code(1, PUSH, RBX), prolog=1, flags=4, parent=(CODE, CODE + END, 0x4000)),
        b"\x01\x00\xff\x00",
    ],
)
def test_unwind_data_that_makes_no_sense_is_not_used(info):
    """Unknown versions and codes, codes that are cut off, a chain that goes in a circle, a table that ends."""
    with pytest.raises(NotHeld):
        machine_after(info, bytes(64))


def test_a_stack_that_the_dump_does_not_hold_ends_it():
    with pytest.raises(NotHeld):
        machine_after(unwind_info(code(7, LARGE, 1), 0x8000, 0, prolog=7), words(CALLER))


def test_an_unwind_table_entry_may_only_point_to_another():
    image, memory = loaded(unwind_info(code(1, PUSH, RBX), prolog=1), words(7, CALLER))
    machine = RegisterFile(memory, BASE + CODE + BODY, [STACK] * 16)
    unwind(machine, image, BASE, Function(CODE, CODE + END, 0x3000 | 1), interrupted=True)
    assert machine.pc == CALLER


def test_codes_are_read_in_the_order_they_are_undone():
    image, _ = loaded(unwind_info(code(5, SMALL, 3), code(1, PUSH, RBX), prolog=5), b"")
    info = read_unwind_info(image, image.function_at(CODE).unwind)
    assert [(entry.at, entry.operation, entry.operand) for entry in info.codes] == [(5, SMALL, 32), (1, PUSH, 0)]
