"""Whether a pc stands in an epilog, where the stack is already half taken down, and what the rest of it would do.

Windows knows an epilog by its instructions, and so do we: at most one `add rsp` or `lea rsp`, then pops, then a return
or a jump out of the function. An epilog has no other form, or Windows could not unwind it either.
"""

from __future__ import annotations

from typing import NamedTuple

from triage.readers.minidump.memory import NotHeld
from triage.readers.minidump.pe import Function, Image, primary
from triage.readers.minidump.x64_machine import RSP, TOP, Machine

# lea rsp with a large distance, pops of all registers, and the jump
_LONGEST = 48
_MAX_POPS = 16


class _Epilog(NamedTuple):
    """The rest of an epilog. `base` is the register that the stack pointer is computed from, if not from itself."""

    base: int | None
    add: int
    pops: tuple[int, ...]


def leave_epilog(machine: Machine, image: Image, image_base: int, function: Function) -> bool:
    """If the pc stands in an epilog of this function, do the rest of it and answer True; else change nothing."""
    at = machine.pc - image_base
    epilog = _parse(_code(machine, image, at, min(_LONGEST, function.end - at)), at, image, function)
    if epilog is None:
        return False
    registers = machine.registers
    if epilog.base is not None:
        registers[RSP] = registers[epilog.base]
    registers[RSP] = (registers[RSP] + epilog.add) % TOP
    for register in epilog.pops:
        registers[register] = machine.pop()
    machine.step_out()
    return True


def _code(machine: Machine, image: Image, at: int, size: int) -> bytes:
    """The instructions from the pc on, as the process had them if the dump says so."""
    in_dump, in_image = machine.memory.read(machine.pc, size), image.read(at, size)
    code = in_dump if len(in_dump) >= len(in_image) else in_image
    if not code:
        raise NotHeld
    return code


def _parse(code: bytes, at: int, image: Image, function: Function) -> _Epilog | None:
    base, add, length = _stack_adjustment(code)
    pops: list[int] = []
    while len(pops) < _MAX_POPS:
        prefix = code[length] if len(code) > length + 1 and code[length] & 0xF0 == 0x40 else 0
        opcode = code[length + 1] if prefix else (code[length] if len(code) > length else 0)
        if not 0x58 <= opcode <= 0x5F:
            break
        pops.append(opcode - 0x58 + 8 * (prefix & 1))
        length += 2 if prefix else 1
    if RSP in pops or not _leaves(code[length:], at + length, image, function, bare=not length):
        return None
    return _Epilog(base, add, tuple(pops))


def _stack_adjustment(code: bytes) -> tuple[int | None, int, int]:
    """The `add rsp` or `lea rsp` that some code begins with: base register, distance, length in bytes."""
    if code[:3] == b"\x48\x83\xc4" and len(code) > 3:
        return None, _signed(code[3:4]), 4
    if code[:3] == b"\x48\x81\xc4" and len(code) > 6:
        return None, _signed(code[3:7]), 7
    if len(code) > 3 and code[0] in (0x48, 0x49) and code[1] == 0x8D and (code[2] >> 3) & 7 == RSP:
        mode, low = code[2] >> 6, code[2] & 7
        base = low + 8 * (code[0] & 1)
        if low == RSP:  # computed from two registers: no epilog does that
            return None, 0, 0
        if mode == 0 and low != 5:
            return base, 0, 3
        if mode == 1:
            return base, _signed(code[3:4]), 4
        if mode == 2 and len(code) > 6:
            return base, _signed(code[3:7]), 7
    return None, 0, 0


def _leaves(code: bytes, at: int, image: Image, function: Function, *, bare: bool) -> bool:
    """Whether an instruction leaves the function: a return, or a jump to somewhere else."""
    if code[:1] == b"\xc2":  # takes more off the stack than the address, which no x64 compiler does
        raise NotHeld
    if code[:1] == b"\xc3" or code[:2] in (b"\xf3\xc3", b"\xf2\xc3"):
        return True
    if code[:1] == b"\xeb" and len(code) > 1:
        return _jumps_out(at + 2 + _signed(code[1:2]), image, function, bare)
    if code[:1] == b"\xe9" and len(code) > 4:
        return _jumps_out(at + 5 + _signed(code[1:5]), image, function, bare)
    if code[:2] == b"\xff\x25":
        return True
    # Compilers leave by a pointer with a REX.W that the jump does not need: by it a switch is told from an epilog.
    return len(code) > 2 and code[0] in (0x48, 0x49) and code[1] == 0xFF and (code[2] >> 3) & 7 == 4


def _jumps_out(target: int, image: Image, function: Function, bare: bool) -> bool:
    whole = primary(image, function)
    if target == whole.begin and function == whole:
        return True  # calls itself again as its last act
    if function.begin <= target < function.end:
        return False
    there = image.function_at(target) if image.is_code(target) else None
    if there and primary(image, there) == whole:
        return False
    if bare:  # a last call, or a jump to a cold part that says nothing of where it belongs
        raise NotHeld
    return True


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)
