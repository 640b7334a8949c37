"""The registers of an x64 processor while a stack is walked."""

from __future__ import annotations

from triage.readers.minidump.memory import AddressSpace, NotHeld
from triage.readers.minidump.streams import Registers

RSP = 4
WORD = 8
TOP = 1 << 64
# In the order of their numbers in instructions and in unwind codes.
_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))


class Machine:
    """The registers while a stack is walked, by number, with the memory they point to."""

    def __init__(self, memory: AddressSpace, pc: int, registers: list[int]) -> None:
        self.memory = memory
        self.pc = pc
        self.registers = registers

    def word(self, address: int) -> int:
        """The eight bytes at an address of the process."""
        data = self.memory.read(address, WORD)
        if len(data) != WORD:
            raise NotHeld
        return int.from_bytes(data, "little")

    def pop(self) -> int:
        """The word on top of the stack, which is taken off."""
        value = self.word(self.registers[RSP])
        self.move_stack(WORD)
        return value

    def move_stack(self, size: int) -> None:
        """Take that many bytes off the stack."""
        self.registers[RSP] = (self.registers[RSP] + size) % TOP

    def step_out(self) -> None:
        """Go back to the caller, whose address is on top of the stack."""
        self.pc = self.pop()


def machine_of(memory: AddressSpace, registers: Registers) -> Machine:
    """A machine in the state that a dump has of a thread."""
    values = [registers.values.get(name, 0) for name in _NAMES]
    values[RSP] = registers.sp
    return Machine(memory, registers.pc, values)
