"""ARM64: frames are linked by x29, and the innermost caller may still be in the link register."""

from __future__ import annotations

import struct

from triage.readers.minidump.processor import Caller, Code, linked_caller
from triage.readers.minidump.streams import Registers

WORD = 8
# Return addresses are signed in the bits that addresses do not use.
_ADDRESS_BITS = (1 << 47) - 1
_NAMES = (*(f"x{number}" for number in range(29)), "fp", "lr", "sp", "pc")


def registers_in(context: bytes) -> Registers:
    """The registers in the stored context of a thread."""
    values = dict(zip(_NAMES, struct.unpack_from("<33Q", context, 8), strict=True))
    return Registers("arm64", values["pc"], values["sp"], values["fp"], values)


def caller(code: Code, registers: Registers, *, called: bool) -> Caller | None:
    """The caller by x29; by the link register if a call went to an address without code."""
    if not called and code.modules.at(registers.pc) is None:
        pc = registers.values.get("lr", registers.values.get("x30", 0)) & _ADDRESS_BITS
        if pc and _is_caller(code, pc):
            return Caller(registers._replace(pc=pc), "leaf")
    return linked_caller(code, registers, WORD, _ADDRESS_BITS, _is_caller)


def _is_caller(code: Code, pc: int) -> bool:
    """Whether an address is in code, as far as the image of its module shows."""
    module = code.modules.at(pc - 1)
    image = code.image(module) if module else None
    return module is not None and pc % 4 == 0 and (image is None or image.is_code(pc - 1 - module.base))


def may_return_to(code: Code, address: int) -> bool:
    """Always: calls are not looked for in ARM64 code."""
    return True
