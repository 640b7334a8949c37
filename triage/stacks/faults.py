"""The fault of a crashed thread, asked from gdb: registers, instruction, the address that was touched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from triage import digits
from triage.crash import Fault
from triage.stacks.gdb_session import Gdb, GdbFailed
from triage.stacks.machines import Machine, Trap, machine_with
from triage.stacks.memory_map import MemoryMap
from triage.stacks.modules import Modules
from triage.status import signal_named_by_number

SIGNAL_FRAME = "<signal handler called>"
_NUMBER = re.compile(r"(?:LWP|process|Thread) (\d+)\b")
_HANDLER_FRAMES = 40
_ROUNDS = 12


class Found(NamedTuple):
    """The thread that faulted, by the system's number, the address of its instruction, and the fault."""

    tid: int | None
    pc: int | None
    fault: Fault


class Suspect(NamedTuple):
    """What is known before gdb is asked: the thread, the address of the instruction, and where else to look."""

    tid: int | None = None
    pc: int | None = None
    # no other thread need be looked at
    is_sure: bool = False
    # it stands where it faulted, in no handler
    is_bare: bool = False


def find(gdb: Gdb, modules: Modules, suspect: Suspect, *, stack_limit: int | None, is_core: bool) -> Found | None:
    """The fault of the thread that stands in a signal handler; in a core without one, of the thread that was dumped."""
    told = gdb.ask("-thread-info")
    threads = {str(thread["id"]): thread_number(thread) for thread in told.get("threads", ())}
    order = sorted(threads, key=lambda thread: threads[thread] != suspect.tid)
    for thread in order[: 0 if suspect.is_bare else 1 if suspect.is_sure else None]:
        frames = _down_to_fault(gdb, modules, thread, suspect.pc)
        doors = [number for number, frame in enumerate(frames[:-1]) if frame.get("func") == SIGNAL_FRAME]
        if doors:
            return _at(gdb, modules.map, thread, threads[thread], doors, stack_limit)
    current = order[0] if order and threads[order[0]] == suspect.tid else str(told.get("current-thread-id"))
    if is_core and current in threads:
        return _at(gdb, modules.map, current, threads[current], [], stack_limit)
    return None


def thread_number(thread: dict[str, Any]) -> int | None:
    """The system's number of a thread from gdb's name for it."""
    found = _NUMBER.search(str(thread.get("target-id", "")))
    return digits.whole(found[1]) if found else None


def _down_to_fault(gdb: Gdb, modules: Modules, thread: str, pc: int | None) -> list[dict[str, Any]]:
    """The innermost frames; libraries are loaded as far as the unwinder needs them to get past the handlers."""
    frames: list[dict[str, Any]] = []
    for _ in range(_ROUNDS):
        frames = frames_of(gdb, thread, _HANDLER_FRAMES)
        reached = next((n for n, frame in enumerate(frames) if pc is not None and address_of(frame) == pc), None)
        needed = frames if reached is None else frames[:reached]
        if not modules.load_for(address_of(frame) for frame in needed):
            break
    return frames


def frames_of(gdb: Gdb, thread: str, most: int) -> list[dict[str, Any]]:
    """The frames of a thread as gdb sees them now."""
    try:
        told = gdb.ask(f"-stack-list-frames --thread {thread} 0 {most - 1}")
    except GdbFailed as failure:
        if str(failure) in ("timeout", "ended"):
            raise
        return []  # it has no stack that can be walked
    return [frame for frame in told.get("stack", ()) if isinstance(frame, dict)]


def address_of(frame: dict[str, Any]) -> int:
    """The address at which a frame stands."""
    return digits.whole(str(frame.get("addr", "0")), 16) or 0


def _at(
    gdb: Gdb, map: MemoryMap, thread: str, tid: int | None, doors: Sequence[int], stack_limit: int | None
) -> Found | None:
    """The fault in the frame below the outermost door that the kernel opened to a handler, or in the innermost one."""
    names = [str(name) for name in gdb.ask("-data-list-register-names").get("register-names", ())]
    machine = machine_with(names)
    if machine is None:
        return None
    level = doors[-1] + 1 if doors else 0
    registers = _registers(gdb, machine, names, thread, level)
    trap = _trap(gdb, machine, thread, doors[-1]) if doors else Trap()
    signal = _raised(gdb, machine, names, thread, doors) or trap.signal
    pc, sp = registers.get(machine.pc), registers.get(machine.sp)
    used, limit = _stack(map, sp, stack_limit)
    instruction = _instruction(gdb, thread, level)
    if signal == "SIGABRT":  # it was sent: no instruction is to blame, and the trap is left from an earlier page fault
        trap, instruction = Trap(), None
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
    return Found(tid, pc, fault)


def _registers(gdb: Gdb, machine: Machine, names: list[str], thread: str, level: int) -> dict[str, int]:
    numbers = {str(names.index(name)): name for name in machine.registers}
    wanted = " ".join(numbers)
    told = gdb.ask(f"-data-list-register-values --thread {thread} --frame {level} --skip-unavailable x {wanted}")
    found = {}
    for register in told.get("register-values", ()):
        try:
            found[numbers[register["number"]]] = int(register["value"], 16)
        except (KeyError, ValueError, TypeError):
            continue
    return {name: found[name] for name in machine.registers if name in found}


def _trap(gdb: Gdb, machine: Machine, thread: str, door: int) -> Trap:
    """The trap that the kernel wrote into the signal frame."""
    where = f"${machine.sp} + {machine.trap_at}"
    try:
        told = gdb.ask(f'-data-read-memory-bytes --thread {thread} --frame {door} "{where}" {machine.trap_bytes}')
        return machine.trap(bytes.fromhex(told["memory"][0]["contents"]))
    except (GdbFailed, KeyError, IndexError, ValueError, TypeError):
        return Trap()


def _raised(gdb: Gdb, machine: Machine, names: list[str], thread: str, doors: Sequence[int]) -> str | None:
    """faulthandler raises the signal again: its number is an argument of the call that the inner handler interrupted.

    With one door only, the signal is that of the fault itself, and only an abort comes from such a call.
    """
    level = doors[-2] + 1 if len(doors) > 1 else doors[0] + 1 if doors else None
    if level is None:
        return None
    try:
        code = gdb.ask(f'-data-read-memory-bytes --thread {thread} --frame {level} "$pc - 4" 4')["memory"][0][
            "contents"
        ]
        if not str(code).endswith(("0f05", "010000d4")):  # the instruction before is a system call
            return None
        number = _registers(gdb, machine, names, thread, level).get(machine.third)
    except (GdbFailed, KeyError, IndexError, TypeError):
        return None
    return signal_named_by_number(number) if number is not None else None


def _page_fault_signal(map: MemoryMap, trap: Trap) -> str:
    """A page that is mapped and open to the access, and still could not be had, is a bus error."""
    region = map.at(trap.address or 0)
    needed = {"write": "w", "execute": "x"}.get(trap.access or "", "r")
    return "SIGBUS" if region and needed in region.permissions else "SIGSEGV"


def _instruction(gdb: Gdb, thread: str, level: int) -> str | None:
    try:
        told = gdb.ask(f'-data-disassemble --thread {thread} --frame {level} -s $pc -e "$pc + 1" -- 0')
        return " ".join(str(told["asm_insns"][0]["inst"]).split()) or None
    except (GdbFailed, KeyError, IndexError, TypeError):
        return None  # a jump to where no code is


def _stack(map: MemoryMap, sp: int | None, main_limit: int | None) -> tuple[int | None, int | None]:
    found = map.stack(sp) if sp is not None else None
    if found is None or sp is None:
        return None, None
    region, is_main = found
    limit = main_limit if is_main else region.end - region.start
    return stack_used(region.end - sp, limit), limit


def stack_used(size: int, limit: int | None) -> int:
    """How much of a stack is in use: what lies beyond its end, where an overflow got to, is not part of it."""
    return size if limit is None else min(size, limit)
