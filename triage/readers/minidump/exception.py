"""What the exception in a dump says: the exit status, the fault, and the DLL that was missing."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from triage import status
from triage.crash import Access, ExitStatus, Fault
from triage.readers.minidump.memory import AddressSpace, MemoryRegions
from triage.readers.minidump.pe import Images
from triage.readers.minidump.streams import ExceptionRecord, Module, ModuleMap, Registers, System, ThreadRecord

_STACK_OVERFLOW = 0xC00000FD
_ILLEGAL_INSTRUCTION, _LONGEST_INSTRUCTION = 0xC000001D, 15
# Access violation, in-page error, guard page and stack overflow have the access and the address.
_WITH_ADDRESS = {0xC0000005, 0xC0000006, 0x80000001, _STACK_OVERFLOW}
_ACCESS: dict[int, Access] = {0: "read", 1: "write", 8: "execute"}
# What Breakpad and Crashpad write when a program requests a dump and lives on.
_REQUESTED = {"windows": {0x0517A7ED, 0x0CCA11ED}, "linux": {0xFFFFFFFF}, "macos": {0x43507378}}
# Mach exceptions -> the signals that a program gets for them.
_MACH = {1: "SIGSEGV", 2: "SIGILL", 3: "SIGFPE", 5: "SIGABRT", 6: "SIGTRAP", 11: "SIGKILL", 12: "SIGKILL"}
_MACH_BAD_ACCESS, _MACH_SOFTWARE, _MACH_CRASH = 1, 5, 10
_MACH_PROTECTION, _MACH_UNIX_SIGNAL = 2, 0x10003
_TOUCHING = {"SIGSEGV", "SIGBUS"}
_FIRST_PAGES = 1 << 16
_UNKNOWN_ADDRESS = (1 << 64) - 1
# The size of a pointer, and the offsets in the TEB of where the stack begins and where its reserved part ends.
_TEB = {"x64": (8, 8, 0x1478), "arm64": (8, 8, 0x1478), "x86": (4, 4, 0xE0C)}
_NEAR = 1 << 16
# Raised by a delay load, which happens on first use: the DLL is not found, or a function in it.
_MODULE_NOT_FOUND, _PROCEDURE_NOT_FOUND = 0xC06D007E, 0xC06D007F
_DELAY_LOAD_64, _DELAY_LOAD_32 = struct.Struct("<I4xQQQI4xQQQI"), struct.Struct("<9I")
_LONGEST_NAME = 512


def was_requested(exception: ExceptionRecord, system: System) -> bool:
    """Whether the program requested the dump itself, and went on."""
    return exception.code in _REQUESTED.get(_family(system), ())


def status_of(exception: ExceptionRecord, system: System) -> ExitStatus:
    """How the process ended, as its system names it."""
    family = _family(system)
    if family == "macos":
        return status.from_signal(_mach_signal(exception)) or status.from_code(128 + exception.code % 128)
    if family == "linux":
        return status.from_code(-exception.code) if 0 < exception.code <= 64 else status.from_code(exception.code)
    subcode = None
    if exception.code == status.FAST_FAIL_STATUS and exception.parameters:
        subcode = exception.parameters[0] & 0xFFFFFFFF
    return status.from_ntstatus(exception.code, subcode)


def fault_of(
    exception: ExceptionRecord,
    registers: Registers | None,
    system: System,
    died: ExitStatus,
    regions: MemoryRegions,
    memory: AddressSpace,
    stack: tuple[int, int] | None,
) -> Fault:
    """What the processor could not do. `stack` is how much of its stack the thread used, and how much it has."""
    address, access = _touched(exception, registers, system, died)
    says = _says(address, access, registers, system, regions) if address is not None else None
    instruction = None
    if _family(system) == "windows" and exception.code == _STACK_OVERFLOW:
        says = "the stack is used up"
    elif registers is not None and (died.signal == "SIGILL" or exception.code == _ILLEGAL_INSTRUCTION):
        instruction, says = _illegal(memory.read(registers.pc, _LONGEST_INSTRUCTION), registers.architecture)
    used, limit = stack or (None, None)
    return Fault(
        died.signal,
        address,
        access,
        instruction,
        tuple(registers.values.items()) if registers else (),
        used,
        limit,
        parameters=exception.parameters,
        says=says,
    )


def _illegal(code: bytes, architecture: str) -> tuple[str | None, str | None]:
    """The instruction that the processor did not know, and the extension that its first bytes hint at."""
    if architecture == "arm64" or not code:
        return None, None
    if code.startswith(b"\x0f\x0b"):
        return "ud2", "an instruction that compilers put where the program must never come"
    if code[0] in (0xC4, 0xC5):
        kind = "as those of AVX, AVX2 and FMA are"
    elif code[0] == 0x62:
        kind = "as those of AVX-512 are"
    else:
        return None, f"the instruction begins with the bytes {code[:6].hex(' ')}"
    return None, f"the instruction is coded {kind} (bytes {code[:6].hex(' ')})"


def stack_use(
    exception: ExceptionRecord, thread: ThreadRecord | None, registers: Registers | None, memory: AddressSpace
) -> tuple[int, int] | None:
    """How much of its stack a Windows thread used and how much it has, if the dump holds its TEB.

    An overflow is by itself the news that all of it was used, and what was stored of the stack is what was used.
    """
    if exception.code == _STACK_OVERFLOW and thread is not None and thread.stack_size:
        return thread.stack_size, thread.stack_size
    if thread is None or registers is None or not thread.teb or registers.architecture not in _TEB:
        return None
    width, base_at, kept_at = _TEB[registers.architecture]
    base = int.from_bytes(memory.read(thread.teb + base_at, width), "little")
    kept = int.from_bytes(memory.read(thread.teb + kept_at, width), "little")
    if not 0 < kept < base or not kept - _NEAR <= registers.sp <= base:
        return None
    return min(base - registers.sp, base - kept), base - kept


def _family(system: System) -> str:
    return {"android": "linux", "ios": "macos", "linux": "linux", "macos": "macos"}.get(system.os or "", "windows")


def _mach_signal(exception: ExceptionRecord) -> str:
    code, detail = exception.code, exception.flags
    if code == _MACH_BAD_ACCESS and detail == _MACH_PROTECTION:
        return "SIGBUS"
    if code == _MACH_SOFTWARE and detail == _MACH_UNIX_SIGNAL and len(exception.parameters) > 2:
        return status.signal_named_by_number(exception.parameters[2]) or "SIGABRT"
    if code == _MACH_CRASH:
        # The signal is in the top byte of the detail.
        return status.signal_named_by_number(detail >> 24 & 0xFF) or "SIGABRT"
    return _MACH.get(code, "SIGABRT")


def _touched(
    exception: ExceptionRecord, registers: Registers | None, system: System, died: ExitStatus
) -> tuple[int | None, Access | None]:
    """The address that could not be used, and for what."""
    address: int | None = None
    access: Access | None = None
    if _family(system) != "windows":
        if died.signal in _TOUCHING:
            address = exception.address
            access = "execute" if registers is not None and registers.pc == address else None
    elif exception.code in _WITH_ADDRESS and len(exception.parameters) >= 2:
        access, address = _ACCESS.get(exception.parameters[0]), exception.parameters[1]
    if address is not None and system.architecture == "x86":
        address &= 0xFFFFFFFF
    return address, access


def _says(
    address: int, access: Access | None, registers: Registers | None, system: System, regions: MemoryRegions
) -> str | None:
    """What kind of address it is, from its value and from what the dump says about the memory around it."""
    lowest = 1 << (48 if system.architecture == "arm64" else 47)
    if address < _FIRST_PAGES:
        return "a null pointer was called" if access == "execute" else "a null pointer, or a field behind one"
    if system.architecture != "x86":
        if address == _UNKNOWN_ADDRESS and _family(system) == "windows":
            return (
                "the processor does not tell this address: it is none that can exist (non-canonical), or the kernel's"
            )
        if lowest <= address < (1 << 64) - lowest:
            return "no address that can exist (non-canonical): a pointer that was overwritten"
    region = regions.at(address)
    near_stack = registers is not None and -(1 << 12) <= address - registers.sp < _NEAR
    if region is not None and region.guard:
        return "the guard page of a stack: the stack is used up"
    if access == "execute":
        if near_stack:
            return "code on the stack, which may not be run (DEP)"
        if region is not None and region.state == "committed" and not region.executable:
            return "data, which may not be run as code (DEP)"
    if near_stack and access != "execute":
        return "just where the stack pointer is: the stack is used up"
    if region is not None and region.state == "free":
        return "memory that was not there, or had been given back"
    if region is not None and region.state == "reserved":
        return "memory that was reserved and never made usable"
    if region is not None and region.no_access:
        return "memory that was closed to any access"
    return None


class MissingImport(NamedTuple):
    """What could not be loaded, as far as it can be read. `error` is the Windows error, 126 for a missing DLL."""

    dll: str | None
    function: str | None
    needed_by: str | None
    error: int | None = None


def missing_import(
    exception: ExceptionRecord, modules: Iterable[Module], memory: AddressSpace, images: Images
) -> MissingImport | None:
    """What a failed delay load was looking for; None for any other exception, or if its record is not held.

    The first parameter points to a record on the stack, that to the names, and those lie in the library that asked.
    """
    if exception.code not in (_MODULE_NOT_FOUND, _PROCEDURE_NOT_FOUND) or not exception.parameters:
        return None
    narrow = exception.registers is not None and exception.registers.architecture == "x86"
    record = _DELAY_LOAD_32 if narrow else _DELAY_LOAD_64
    data = memory.read(exception.parameters[0], record.size)
    if len(data) < record.size:
        return None
    _, descriptor, _, dll, by_name, function, _, _, error = record.unpack(data)
    by_address = ModuleMap(modules)
    asker = by_address.at(descriptor)
    named = _text(function, by_address, memory, images) if by_name else f"#{function & 0xFFFF}"
    return MissingImport(_text(dll, by_address, memory, images), named, asker.file if asker else None, error)


def _text(address: int, modules: ModuleMap, memory: AddressSpace, images: Images) -> str | None:
    """The C string at an address of the process, from the dump or from the library that holds it."""
    data = memory.read(address, _LONGEST_NAME)
    if b"\0" not in data:
        module = modules.at(address)
        image = images.image(module) if module else None
        data = image.read(address - module.base, _LONGEST_NAME) if module and image else b""
    text, end, _ = data.partition(b"\0")
    return text.decode("ascii", "replace") if text and end else None


def with_missing_library(fault: Fault, missing: MissingImport | None) -> Fault:
    """The fault of a delay load, with the names of what was missing, if they can be read."""
    if missing is None:
        return fault
    what = missing.dll or "a library whose name the dump does not hold"
    asked = f", which {missing.needed_by} needs" if missing.needed_by else ""
    function = f" for {missing.function}" if missing.function else ""
    error = f" (Windows error {missing.error})" if missing.error else ""
    return fault._replace(says=f"could not load {what}{asked}{function}{error}", missing_library=missing.dll)
