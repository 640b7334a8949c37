"""The lists of a dump: modules, unloaded modules, threads with their names, and the exception."""

from __future__ import annotations

import struct

from triage.readers.minidump import file as parts
from triage.readers.minidump.contexts import LONGEST_CONTEXT, registers_in
from triage.readers.minidump.file import DumpFile
from triage.readers.minidump.shapes import ExceptionRecord, Module, ThreadRecord

_MODULE = struct.Struct("<QIIII13IIIII16x")
_UNLOADED = struct.Struct("<QIIII")
_THREAD = struct.Struct("<IIIIQQIIII")
_THREAD_NAME = struct.Struct("<IQ")
_EXCEPTION = struct.Struct("<IIIIQQII15QII")
_FIXED_FILE_INFO = 0xFEEF04BD
_MOST_MODULES, _MOST_THREADS, _MOST_UNLOADED = 8192, 16384, 1024
_MOST_PARAMETERS = 15


def modules_of(dump: DumpFile) -> tuple[Module, ...]:
    """The libraries and the program that were loaded, with versions and the ids of their debug information."""
    return tuple(_module(dump, record) for record in dump.records(parts.MODULES, _MODULE, _MOST_MODULES))


def unloaded_of(dump: DumpFile) -> tuple[Module, ...]:
    """The libraries that had been unloaded again; Windows remembers the last few."""
    found = []
    for base, size, checksum, timestamp, name in dump.headed_records(parts.UNLOADED, _UNLOADED, _MOST_UNLOADED):
        found.append(Module(base, size, dump.string(name), timestamp, checksum))
    return tuple(found)


def threads_of(dump: DumpFile, architecture: str | None) -> tuple[ThreadRecord, ...]:
    """The threads with their names and registers."""
    names = {
        number: dump.string(offset)
        for number, offset in dump.records(parts.THREAD_NAMES, _THREAD_NAME, _MOST_THREADS)
        if offset < dump.size
    }
    found = []
    for record in dump.records(parts.THREADS, _THREAD, _MOST_THREADS):
        number, _, _, _, teb, stack, size, _, context_size, context = record
        registers = registers_in(dump.at(context, min(context_size, LONGEST_CONTEXT)), architecture)
        found.append(ThreadRecord(number, names.get(number, ""), registers, stack, size, teb))
    return tuple(found)


def stack_extents(dump: DumpFile) -> list[tuple[int, int, int]]:
    """Address, size and offset in the file of each thread's stack: some writers list them nowhere else."""
    return [(r[5], r[6], r[7]) for r in dump.records(parts.THREADS, _THREAD, _MOST_THREADS) if r[6] and r[7]]


def exception_of(dump: DumpFile, architecture: str | None) -> ExceptionRecord | None:
    """The exception that the dump was written for; None where there is none."""
    data = dump.stream(parts.EXCEPTION, 1024)
    if len(data) < _EXCEPTION.size:
        if parts.EXCEPTION in dump.streams:
            dump.note("the exception is too short to be read", parts.EXCEPTION)
        return None
    thread, _, code, flags, _, address, count, _, *rest = _EXCEPTION.unpack_from(data)
    if count > _MOST_PARAMETERS:
        dump.note(f"the exception claims {count:,} parameters; {_MOST_PARAMETERS} are the most there can be")
    size, offset = rest[_MOST_PARAMETERS:]
    registers = registers_in(dump.at(offset, min(size, LONGEST_CONTEXT)), architecture) if size else None
    parameters = tuple(rest[: min(count, _MOST_PARAMETERS)])
    return ExceptionRecord(thread, code, address, flags, parameters, registers)


def _module(dump: DumpFile, record: tuple[int, ...]) -> Module:
    base, size, checksum, timestamp, name, signature, _, high, low, *_ = record
    debug_size, debug_offset = record[18:20]
    # Crashpad writes zeros where a module tells no version.
    told = signature == _FIXED_FILE_INFO and (high or low)
    version = f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}" if told else None
    pdb, debug_id = _debug(dump.at(debug_offset, min(debug_size, 1024)))
    return Module(base, size, dump.string(name), timestamp, checksum, version, pdb, debug_id)


def _debug(data: bytes) -> tuple[str | None, str | None]:
    """The name of the debug file and its id: of a PDB as symbol servers write it, of an ELF file its build id."""
    if data[:4] == b"RSDS" and len(data) >= 24:
        first, second, third = struct.unpack_from("<IHH", data, 4)
        (age,) = struct.unpack_from("<I", data, 20)
        name = data[24:].partition(b"\0")[0].decode("utf-8", "replace")
        return name or None, f"{first:08X}{second:04X}{third:04X}{data[12:20].hex().upper()}{age:X}"
    if data[:4] == b"NB10" and len(data) >= 16:
        stamp, age = struct.unpack_from("<II", data, 8)
        name = data[16:].partition(b"\0")[0].decode("utf-8", "replace")
        return name or None, f"{stamp:08X}{age:X}"
    if data[:4] == b"LEpB" and len(data) > 4:
        return None, data[4:24].hex()
    return None, None
