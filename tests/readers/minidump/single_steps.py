"""A program run one instruction at a time: the registers and the stack of each moment, and who had called whom.

The calls are known from the steps themselves (an address is pushed, the pc goes elsewhere), without any unwind data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from triage.readers.minidump.streams import Registers

_STACK = 1024
_RECORD = struct.Struct(f"<17Q{_STACK}s")
_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)), "rip")
_LONGEST_CALL = 8


class SteppedMemory:
    """The stack at a step; what is further up was seen at earlier steps."""

    def __init__(self) -> None:
        self._words: dict[int, int] = {}

    def see(self, sp: int, stack: bytes) -> None:
        """Take in the stack of a step."""
        self._words.update(
            zip(range(sp, sp + len(stack), 8), struct.unpack(f"<{len(stack) // 8}Q", stack), strict=True)
        )

    def read(self, address: int, size: int) -> bytes:
        """The bytes of the stack, a word at a time."""
        words = (self._words.get(at) for at in range(address, address + size, 8))
        if address % 8 or any(word is None for word in words):
            return b""
        return b"".join(self._words[at].to_bytes(8, "little") for at in range(address, address + size, 8))[:size]


class Step(NamedTuple):
    """One moment: the registers, and the return addresses of all calls since the first step, the innermost first."""

    registers: Registers
    calls: tuple[int, ...]


def steps(data: bytes, memory: SteppedMemory) -> Iterator[Step]:
    """The moments of a recording; `memory` follows along."""
    calls: list[tuple[int, int]] = []
    before: tuple[int, int] | None = None
    for *numbers, stack in _RECORD.iter_unpack(data):
        values = dict(zip(_NAMES, numbers, strict=True))
        pc, sp = values["rip"], values["rsp"]
        memory.see(sp, stack)
        if before is not None:
            pc_before, sp_before = before
            top = int.from_bytes(stack[:8], "little")
            if sp == sp_before - 8 and pc_before < top <= pc_before + _LONGEST_CALL and pc != top:
                calls.append((sp, top))
            elif calls and (sp_before, pc) == calls[-1] and sp == sp_before + 8:
                calls.pop()
        before = pc, sp
        yield Step(Registers("x64", pc, sp, values["rbp"], values), tuple(address for _, address in reversed(calls)))
