"""Stacks that are linked lists: ebp of x86 and x29 of ARM64 point to where the caller's own was saved.

The return address lies beside it. A function that does without breaks the chain, so each link must look like one:
further up, not too far, and back into code.
"""

from __future__ import annotations

from triage.readers.minidump.memory import AddressSpace
from triage.readers.minidump.scanning import Code
from triage.readers.minidump.streams import Registers

_LARGEST_FRAME = 1 << 20
# ARM64 signs return addresses in the bits that no address uses.
_ADDRESS_BITS = (1 << 47) - 1


def x86_caller(code: Code, memory: AddressSpace, registers: Registers) -> Registers | None:
    """The caller by ebp; with a pc of 0 at the end of the chain, None where it is broken."""
    return _linked(code, memory, registers, 4)


def arm64_caller(code: Code, memory: AddressSpace, registers: Registers) -> Registers | None:
    """The caller by x29; with a pc of 0 at the end of the chain, None where it is broken."""
    return _linked(code, memory, registers, 8)


def _linked(code: Code, memory: AddressSpace, registers: Registers, width: int) -> Registers | None:
    fp, sp = registers.fp, registers.sp
    if fp % width or not sp <= fp < sp + _LARGEST_FRAME:
        return None
    link = memory.read(fp, 2 * width)
    if len(link) < 2 * width:
        return None
    saved, pc = int.from_bytes(link[:width], "little"), int.from_bytes(link[width:], "little")
    if width == 8:
        pc &= _ADDRESS_BITS
    if saved == 0 and pc == 0:
        return registers._replace(pc=0, sp=fp + 2 * width)
    if (saved and saved <= fp) or not _is_code(code, pc, registers.architecture):
        return None
    return registers._replace(pc=pc, sp=fp + 2 * width, fp=saved)


def bad_jump_caller(code: Code, memory: AddressSpace, registers: Registers) -> Registers | None:
    """The caller where a call went to an address without code: on top of the stack, or in ARM64's link register."""
    if code.modules.at(registers.pc):
        return None
    if registers.architecture == "arm64":
        pc = registers.values.get("lr", registers.values.get("x30", 0)) & _ADDRESS_BITS
        return registers._replace(pc=pc) if pc and _is_code(code, pc, "arm64") else None
    pc = int.from_bytes(memory.read(registers.sp, 4), "little")
    return registers._replace(pc=pc, sp=registers.sp + 4) if code.is_return_address(pc) else None


def _is_code(code: Code, pc: int, architecture: str) -> bool:
    """Whether one can return to an address: in a module and, where its bytes are at hand, behind a call."""
    module = code.modules.at(pc - 1)
    if module is None:
        return False
    if architecture == "x86":
        return code.is_return_address(pc) is not False
    image = code.image(module)
    return pc % 4 == 0 and (image is None or image.is_code(pc - 1 - module.base))
