"""x86: frames are linked by ebp, and a return address is recognised by the call instruction before it."""

from __future__ import annotations

import struct

from triage.readers.minidump.processor import Caller, Code, linked_caller
from triage.readers.minidump.streams import Registers

WORD = 4
_ADDRESS_BITS = (1 << 32) - 1
_NAMES = ("edi", "esi", "ebx", "edx", "ecx", "eax", "ebp", "eip")
_LONGEST_CALL = 8
_FIRST_SECTION = 0x1000


def registers_in(context: bytes) -> Registers:
    """The registers in the stored context of a thread."""
    values = dict(zip(_NAMES, struct.unpack_from("<8I", context, 0x9C), strict=True))
    (values["esp"],) = struct.unpack_from("<I", context, 0xC4)
    return Registers("x86", values["eip"], values["esp"], values["ebp"], values)


def caller(code: Code, registers: Registers, *, called: bool) -> Caller | None:
    """The caller by ebp; from the top of the stack if a call went to an address without code."""
    if not called and code.modules.at(registers.pc) is None:
        pc = int.from_bytes(code.memory.read(registers.sp, WORD), "little")
        if is_return_address(code, pc):
            return Caller(registers._replace(pc=pc, sp=registers.sp + WORD), "leaf")
    return linked_caller(code, registers, WORD, _ADDRESS_BITS, _is_caller)


def _is_caller(code: Code, pc: int) -> bool:
    return code.modules.at(pc - 1) is not None and may_return_to(code, pc)


def may_return_to(code: Code, address: int) -> bool:
    """Whether there can be a call before an address: there is one, or its bytes are missing."""
    return is_return_address(code, address) is not False


def is_return_address(code: Code, address: int) -> bool | None:
    """Whether a call instruction ends at an address; None if the code before it is missing."""
    module = code.modules.at(address - 1)
    image = code.image(module) if module else None
    if module and address - module.base <= _FIRST_SECTION:
        return False
    if module and image and not image.is_code(address - 1 - module.base):
        return False
    before = code.memory.read(address - _LONGEST_CALL, _LONGEST_CALL)
    if len(before) < _LONGEST_CALL and module and image:
        before = image.read(address - _LONGEST_CALL - module.base, _LONGEST_CALL)
    return ends_in_call(before) if len(before) == _LONGEST_CALL else None


def ends_in_call(code: bytes) -> bool:
    """Whether some bytes of x86 or x64 code can end in a call instruction."""
    if len(code) >= 5 and code[-5] == 0xE8:
        return True
    # FF /2 (near) with a register or memory operand: its length follows from its second and third byte.
    return any(
        code[-length] == 0xFF and _call_length(code[-length:]) == length
        for length in (2, 3, 4, 6, 7)
        if length <= len(code)
    )


def _call_length(code: bytes) -> int | None:
    mode, kind, low = code[1] >> 6, (code[1] >> 3) & 7, code[1] & 7
    if kind != 2:
        return None
    length = 2
    if mode != 3 and low == 4:
        length += 1
        if mode == 0 and len(code) > 2 and code[2] & 7 == 5:
            length += 4
    if mode == 1:
        return length + 1
    return length + 4 if mode == 2 or (mode == 0 and low == 5) else length
