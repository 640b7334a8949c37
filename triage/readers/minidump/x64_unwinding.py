"""One step of an x64 stack, done as Windows does it: with the unwind data that the compiler left in .pdata and .xdata.

The registers of the caller are computed, never guessed. Where a byte is missing or does not make sense, `NotHeld` ends
the walk: a frame that is marked `cfi` must be right.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from triage.readers.minidump.memory import NotHeld
from triage.readers.minidump.pe import Function, Image, chained
from triage.readers.minidump.x64_epilogs import leave_epilog
from triage.readers.minidump.x64_machine import RSP, TOP, WORD, Machine

_MAX_CHAIN = 32
# Further in than any prolog reaches: all of it has run.
_WHOLE_PROLOG = 0x100

_PUSH, _ALLOC_LARGE, _ALLOC_SMALL, _SET_FRAME, _SAVE, _SAVE_FAR = 0, 1, 2, 3, 4, 5
_EPILOG, _SPARE, _SAVE_XMM, _SAVE_XMM_FAR, _MACHINE_FRAME = 6, 7, 8, 9, 10


class Code(NamedTuple):
    """One thing that a prolog does, undone in this order. `at` is the offset behind the instruction that does it."""

    at: int
    operation: int
    info: int
    operand: int


class UnwindInfo(NamedTuple):
    """What a function does to the stack before its body runs."""

    prolog: int
    frame_register: int
    frame_offset: int
    codes: tuple[Code, ...]


def unwind(machine: Machine, image: Image, base: int, function: Function, *, interrupted: bool) -> bool:
    """Move a machine from a function to its caller. True where the caller was interrupted, not calling.

    `interrupted` says that the pc is the instruction that was running and not one to return to: it may then stand in an
    epilog. In a prolog it may stand either way, since large prologs call a function that probes the stack.
    """
    at = machine.pc - base
    if function.unwind & 1:  # the entry only points to another one, which has the unwind data
        function = Function(*struct.unpack("<III", image.read_exactly(function.unwind & ~1, 12)))
    parent = chained(image, function.unwind)
    if interrupted and leave_epilog(machine, image, base, function):
        return False
    offset = at - function.begin
    for _ in range(_MAX_CHAIN):
        info = read_unwind_info(image, function.unwind)
        done = offset if 0 <= offset < info.prolog else _WHOLE_PROLOG
        if _undo(machine, info, done):
            return True
        if parent is None:
            machine.step_out()
            return False
        function, parent = parent, chained(image, parent.unwind)
        offset = at - function.begin if function.begin <= at < function.end else -1
    raise NotHeld


def _undo(machine: Machine, info: UnwindInfo, done: int) -> bool:
    """Undo what a prolog has done; codes behind `done` have not run yet. True at a machine frame, which ends it."""
    registers = machine.registers
    frame = registers[RSP]
    has_frame = any(code.operation == _SET_FRAME and code.at <= done for code in info.codes)
    if info.frame_register and (done == _WHOLE_PROLOG or has_frame):
        frame = (registers[info.frame_register] - info.frame_offset) % TOP
    for code in info.codes:
        if code.at > done:
            continue
        if code.operation == _PUSH:
            registers[code.info] = machine.pop()
        elif code.operation in (_ALLOC_SMALL, _ALLOC_LARGE):
            machine.move_stack(code.operand)
        elif code.operation == _SET_FRAME:
            if not info.frame_register:
                raise NotHeld
            registers[RSP] = frame
        elif code.operation in (_SAVE, _SAVE_FAR):
            registers[code.info] = machine.word((frame + code.operand) % TOP)
        elif code.operation == _MACHINE_FRAME:
            pushed = registers[RSP] + (WORD if code.info else 0)  # an error code lies before it
            machine.pc, registers[RSP] = machine.word(pushed), machine.word(pushed + 3 * WORD)
            return True
    return False


def read_unwind_info(image: Image, rva: int) -> UnwindInfo:
    """The unwind data at an address; `NotHeld` where it is not there or is not of a kind that is known."""
    head = image.read_exactly(rva, 4)
    version, prolog, count = head[0] & 7, head[1], head[2]
    if version not in (1, 2) or rva % 4:
        raise NotHeld
    slots = image.read_exactly(rva + 4, 2 * count) if count else b""
    return UnwindInfo(prolog, head[3] & 15, (head[3] >> 4) * 16, _codes(slots, version))


def _codes(slots: bytes, version: int) -> tuple[Code, ...]:
    codes = []
    at = 0
    while at < len(slots):
        operation, info = slots[at + 1] & 15, slots[at + 1] >> 4
        length = _slots_of(operation, info, version)
        if at + 2 * length > len(slots):
            raise NotHeld
        operand = int.from_bytes(slots[at + 2 : at + 2 * length], "little")
        if operation == _ALLOC_SMALL:
            operand = 8 * info + 8
        elif length == 2 and operation in (_ALLOC_LARGE, _SAVE):
            operand *= 8
        if not (operation == _EPILOG and version == 2):
            codes.append(Code(slots[at], operation, info, operand))
        at += 2 * length
    return tuple(codes)


def _slots_of(operation: int, info: int, version: int) -> int:
    """How many slots of two bytes a code takes."""
    if operation in (_ALLOC_LARGE, _MACHINE_FRAME) and info > 1:
        raise NotHeld
    if operation == _ALLOC_LARGE:
        return 3 if info else 2
    if operation in (_PUSH, _ALLOC_SMALL, _SET_FRAME, _MACHINE_FRAME):
        return 1
    if operation == _EPILOG:  # in version 1 this number meant the saving of half an XMM register
        return 1 if version == 2 else 2
    if operation in (_SAVE, _SAVE_XMM):
        return 2
    if operation in (_SAVE_FAR, _SPARE, _SAVE_XMM_FAR):
        return 3
    raise NotHeld
