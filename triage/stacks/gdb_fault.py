"""The fault of a crashed thread, as gdb sees it: registers, instruction, and the address that was touched."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from triage.crash import Access, Fault
from triage.stacks.gdb import SIGNAL_FRAME, Gdb, GdbFailed, Modules, address_of, frames_of, thread_number
from triage.stacks.memory_map import MemoryMap
from triage.status import signal_named_by_number

_HANDLER_FRAMES = 40
_WALKS = 12
_PAGE_FAULT = 14
# The processor's exception -> the signal that Linux turns it into; a page fault is SIGSEGV or SIGBUS.
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


class _Trap(NamedTuple):
    """What the kernel recorded of a fault: the signal, if the trap alone determines it, and the access."""

    signal: str | None = None
    address: int | None = None
    access: Access | None = None


class _Machine(NamedTuple):
    """The registers of a processor, and where the trap is in a signal frame, counted from the stack pointer."""

    registers: tuple[str, ...]
    pc: str
    sp: str
    # the third argument of a system call; for tgkill that is the signal
    third: str
    trap_at: int
    trap_bytes: int
    trap: Callable[[bytes], _Trap]


def _x86_64_trap(data: bytes) -> _Trap:
    error, number, _, address = struct.unpack("<4Q", data)
    if number != _PAGE_FAULT:
        return _Trap(_X86_TRAPS.get(number))
    access: Access = "execute" if error & _FETCH else "write" if error & _WRITE else "read"
    return _Trap(None, address, access)


def _aarch64_trap(data: bytes) -> _Trap:
    return _Trap(None, struct.unpack("<Q", data)[0])


# fmt: off
_X86_64_REGISTERS = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip", "eflags",
)
# fmt: on
_X86_64 = _Machine(
    _X86_64_REGISTERS,
    pc="rip",
    sp="rsp",
    third="rdx",
    trap_at=192,
    trap_bytes=32,
    trap=_x86_64_trap,
)
_AARCH64 = _Machine(
    (*(f"x{number}" for number in range(31)), "sp", "pc", "cpsr"),
    pc="pc",
    sp="sp",
    third="x2",
    trap_at=304,
    trap_bytes=8,
    trap=_aarch64_trap,
)


def _machine_with(register_names: list[str]) -> _Machine | None:
    """The machine that has these registers, or None for an unknown one."""
    for machine in (_X86_64, _AARCH64):
        if set(machine.registers) <= set(register_names):
            return machine
    return None


class FoundFault(NamedTuple):
    """The thread that faulted, the address of its instruction, and the fault."""

    tid: int | None
    pc: int | None
    fault: Fault


class Suspect(NamedTuple):
    """What is known before gdb is asked: the thread and the address of its instruction."""

    tid: int | None = None
    pc: int | None = None
    # no other thread has to be checked
    is_sure: bool = False
    # it is where it faulted, and not in a signal handler
    is_bare: bool = False


def find(gdb: Gdb, modules: Modules, suspect: Suspect, *, stack_limit: int | None, is_core: bool) -> FoundFault | None:
    """The fault of the thread that is in a signal handler; in a core without one, of the thread that was dumped."""
    listed = gdb.ask("-thread-info")
    threads = {str(thread["id"]): thread_number(thread) for thread in listed.get("threads", ())}
    order = sorted(threads, key=lambda thread: threads[thread] != suspect.tid)
    for thread in order[: 0 if suspect.is_bare else 1 if suspect.is_sure else None]:
        frames = _down_to_fault(gdb, modules, thread, suspect.pc)
        signal_frames = [number for number, frame in enumerate(frames[:-1]) if frame.get("func") == SIGNAL_FRAME]
        if signal_frames:
            return _at(gdb, modules.map, thread, threads[thread], signal_frames, stack_limit)
    current = order[0] if order and threads[order[0]] == suspect.tid else str(listed.get("current-thread-id"))
    if is_core and current in threads:
        return _at(gdb, modules.map, current, threads[current], [], stack_limit)
    return None


def _down_to_fault(gdb: Gdb, modules: Modules, thread: str, pc: int | None) -> list[dict[str, Any]]:
    """The innermost frames; the libraries are loaded that the unwinder needs to get past the handlers."""
    frames: list[dict[str, Any]] = []
    for _ in range(_WALKS):
        frames = frames_of(gdb, thread, _HANDLER_FRAMES)
        reached = next((n for n, frame in enumerate(frames) if pc is not None and address_of(frame) == pc), None)
        needed = frames if reached is None else frames[:reached]
        if not modules.load_for(address_of(frame) for frame in needed):
            break
    return frames


def _at(
    gdb: Gdb, map: MemoryMap, thread: str, tid: int | None, signal_frames: Sequence[int], stack_limit: int | None
) -> FoundFault | None:
    """The fault in the frame below the outermost signal frame, or without one in the innermost frame."""
    names = [str(name) for name in gdb.ask("-data-list-register-names").get("register-names", ())]
    machine = _machine_with(names)
    if machine is None:
        return None
    level = signal_frames[-1] + 1 if signal_frames else 0
    registers = _registers(gdb, machine, names, thread, level)
    trap = _trap(gdb, machine, thread, signal_frames[-1]) if signal_frames else _Trap()
    signal = _raised(gdb, machine, names, thread, signal_frames) or trap.signal
    pc, sp = registers.get(machine.pc), registers.get(machine.sp)
    used, limit = _stack(map, sp, stack_limit)
    instruction = _instruction(gdb, thread, level)
    if signal == "SIGABRT":  # it was sent: the trap is left over from an earlier page fault
        trap, instruction = _Trap(), None
    elif signal is None and trap.address is not None:
        signal = _page_fault_signal(map, trap)
    fault = Fault(
        signal,
        trap.address,
        trap.access,
        instruction,
        tuple(registers.items()),
        used,
        limit,
    )
    return FoundFault(tid, pc, fault)


def _registers(gdb: Gdb, machine: _Machine, names: list[str], thread: str, level: int) -> dict[str, int]:
    numbers = {str(names.index(name)): name for name in machine.registers}
    wanted = " ".join(numbers)
    listed = gdb.ask(f"-data-list-register-values --thread {thread} --frame {level} --skip-unavailable x {wanted}")
    found = {}
    for register in listed.get("register-values", ()):
        try:
            found[numbers[register["number"]]] = int(register["value"], 16)
        except (KeyError, ValueError, TypeError):
            continue
    return {name: found[name] for name in machine.registers if name in found}


def _trap(gdb: Gdb, machine: _Machine, thread: str, signal_frame: int) -> _Trap:
    """The trap that the kernel wrote into the signal frame."""
    where = f"${machine.sp} + {machine.trap_at}"
    try:
        read = gdb.ask(
            f'-data-read-memory-bytes --thread {thread} --frame {signal_frame} "{where}" {machine.trap_bytes}'
        )
        return machine.trap(bytes.fromhex(read["memory"][0]["contents"]))
    except (GdbFailed, KeyError, IndexError, ValueError, TypeError):
        return _Trap()


def _raised(gdb: Gdb, machine: _Machine, names: list[str], thread: str, signal_frames: Sequence[int]) -> str | None:
    """The signal that faulthandler raised again: an argument of the call that the inner handler interrupted.

    With only one signal frame it is the signal of the fault itself, and only an abort comes from such a call.
    """
    level = signal_frames[-2] + 1 if len(signal_frames) > 1 else signal_frames[0] + 1 if signal_frames else None
    if level is None:
        return None
    try:
        code = gdb.ask(f'-data-read-memory-bytes --thread {thread} --frame {level} "$pc - 4" 4')["memory"][0][
            "contents"
        ]
        if not str(code).endswith(("0f05", "010000d4")):  # the previous instruction is a system call
            return None
        number = _registers(gdb, machine, names, thread, level).get(machine.third)
    except (GdbFailed, KeyError, IndexError, TypeError):
        return None
    return signal_named_by_number(number) if number is not None else None


def _page_fault_signal(map: MemoryMap, trap: _Trap) -> str:
    """A page that is mapped and allows the access, and still could not be accessed, is a bus error."""
    region = map.at(trap.address or 0)
    needed = {"write": "w", "execute": "x"}.get(trap.access or "", "r")
    return "SIGBUS" if region and needed in region.permissions else "SIGSEGV"


def _instruction(gdb: Gdb, thread: str, level: int) -> str | None:
    try:
        listed = gdb.ask(f'-data-disassemble --thread {thread} --frame {level} -s $pc -e "$pc + 1" -- 0')
        return " ".join(str(listed["asm_insns"][0]["inst"]).split()) or None
    except (GdbFailed, KeyError, IndexError, TypeError):
        return None  # a jump to an address without code


def _stack(map: MemoryMap, sp: int | None, main_limit: int | None) -> tuple[int | None, int | None]:
    found = map.stack(sp) if sp is not None else None
    if found is None or sp is None:
        return None, None
    region, is_main = found
    limit = main_limit if is_main else region.end - region.start
    return stack_used(region.end - sp, limit), limit


def stack_used(size: int, limit: int | None) -> int:
    """How much of a stack is in use; what an overflow used beyond its end is not part of it."""
    return size if limit is None else min(size, limit)
