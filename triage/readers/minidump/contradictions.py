"""What in a dump does not fit together. It is told and not smoothed over: it may be the dump, or the crash itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from triage.crash import base_name
from triage.readers.minidump.module_list import Module, ModuleMap, look_alike
from triage.readers.minidump.streams import ExceptionRecord, Registers, System, ThreadRecord

# A breakpoint is one byte long, and some systems tell the address behind it.
_BREAKPOINTS = {0x80000003, 0x4000001F}
_MOST_OF_A_KIND = 3


def contradictions_in(
    system: System,
    modules: Sequence[Module],
    unloaded: Sequence[Module],
    threads: Sequence[ThreadRecord],
    exception: ExceptionRecord | None,
) -> tuple[str, ...]:
    """One sentence for each thing that does not fit."""
    by_address = ModuleMap(modules)
    said = _of_modules(modules)
    if system.architecture == "x64" and any(module.file.lower() == "wow64cpu.dll" for module in modules):
        said.append("a 64-bit tool dumped this 32-bit program: registers and stacks are those of Windows' own layer")
    if exception is None:
        return tuple(said)
    thread = next((one for one in threads if one.id == exception.thread_id), None)
    registers = exception.registers or (thread.registers if thread else None)
    if threads and thread is None:
        said.append(f"the thread that crashed ({exception.thread_id}) is not in the list of threads")
    if exception.registers is None:
        said.append("the exception has no registers of its own; those of its thread may be from later")
    elif thread is not None and thread.registers is not None:
        said += _of_two_contexts(exception.registers, thread.registers, by_address)
    if system.os == "windows" and registers is not None:
        said += _of_addresses(system, exception, registers)
    where = registers.pc if registers is not None else exception.address
    if modules and by_address.at(where) is None:
        gone = next((module.file for module in unloaded if module.holds(where)), None)
        had = f", and {gone} had been there before it was unloaded" if gone else ""
        said.append(f"the crash was at 0x{where:x}, which is in no module{had}")
    return tuple(said)


def _of_modules(modules: Sequence[Module]) -> list[str]:
    said = []
    ordered = sorted(modules, key=lambda module: module.base)
    for one, two in pairwise(ordered):
        if two.base < one.base + one.size:
            said.append(f"{one.file} and {two.file} claim the same addresses (0x{two.base:x})")
            break
    for module in modules:
        if (known := look_alike(module.name)) and len(said) <= _MOST_OF_A_KIND:
            said.append(f"a module is called {module.file}, which looks like {known} and is not it ({module.name})")
    return said


def _of_two_contexts(own: Registers, later: Registers, by_address: ModuleMap) -> list[str]:
    """A handler in the process writes the dump later: its thread has moved on, and the exception's registers count."""
    if own.pc == later.pc:
        return []
    where = by_address.at(later.pc)
    place = base_name(where.name) if where else f"0x{later.pc:x}"
    return [f"the crashed thread stood in {place} when the dump was written; the exception tells where it crashed"]


def _of_addresses(system: System, exception: ExceptionRecord, registers: Registers) -> list[str]:
    said = []
    address = exception.address
    if system.architecture == "x86":
        if any(value >> 32 == 0xFFFFFFFF for value in (address, *exception.parameters)):
            said.append("addresses of this 32-bit program were stored with 64 bits; the upper half was dropped")
        address &= 0xFFFFFFFF
    slack = 1 if exception.code in _BREAKPOINTS else 0
    if not 0 <= abs(registers.pc - address) <= slack:
        said.append(f"the exception names the address 0x{address:x}, its registers stand at 0x{registers.pc:x}")
    return said
