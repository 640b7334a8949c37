"""What differs from processor to processor: registers, and what the kernel leaves in a signal frame."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from triage.crash import Access

_PAGE_FAULT = 14
# The processor's exception -> the signal that Linux makes of it; a page fault is SIGSEGV or SIGBUS.
_X86_TRAPS = {
    0: "SIGFPE",
    1: "SIGTRAP",
    3: "SIGTRAP",
    6: "SIGILL",
    12: "SIGBUS",
    13: "SIGSEGV",
    16: "SIGFPE",
    17: "SIGBUS",
    19: "SIGFPE",
}
_WRITE, _FETCH = 1 << 1, 1 << 4


class Trap(NamedTuple):
    """What the kernel noted when the processor stopped: the signal, where the trap alone tells it, and the access."""

    signal: str | None = None
    address: int | None = None
    access: Access | None = None


class Machine(NamedTuple):
    """The registers of a processor, and the trap in a signal frame: where from the frame's stack pointer, how long."""

    registers: tuple[str, ...]
    pc: str
    sp: str
    # the third argument of a system call: in tgkill it is the signal
    third: str
    trap_at: int
    trap_bytes: int
    trap: Callable[[bytes], Trap]


def _x86_64_trap(data: bytes) -> Trap:
    error, number, _, address = struct.unpack("<4Q", data)
    if number != _PAGE_FAULT:
        return Trap(_X86_TRAPS.get(number))
    access: Access = "execute" if error & _FETCH else "write" if error & _WRITE else "read"
    return Trap(None, address, access)


def _aarch64_trap(data: bytes) -> Trap:
    return Trap(None, struct.unpack("<Q", data)[0])


# fmt: off
_X86_64_REGISTERS = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip", "eflags",
)
# fmt: on
_X86_64 = Machine(
    _X86_64_REGISTERS,
    pc="rip",
    sp="rsp",
    third="rdx",
    trap_at=192,
    trap_bytes=32,
    trap=_x86_64_trap,
)
_AARCH64 = Machine(
    (*(f"x{number}" for number in range(31)), "sp", "pc", "cpsr"),
    pc="pc",
    sp="sp",
    third="x2",
    trap_at=304,
    trap_bytes=8,
    trap=_aarch64_trap,
)


def machine_with(register_names: list[str]) -> Machine | None:
    """The machine that has these registers, or None for one that we do not know."""
    for machine in (_X86_64, _AARCH64):
        if set(machine.registers) <= set(register_names):
            return machine
    return None
