"""As much of a minidump as a walk needs, read plainly: these dumps were made a moment ago and are whole."""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from triage.readers.minidump.streams import ExceptionRecord, Module, Registers

_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)), "rip")
_MODULES, _MEMORY, _EXCEPTION, _ALL_MEMORY = 4, 5, 6, 9


class TinyMemory:
    """The memory of a dump."""

    def __init__(self, data: mmap.mmap, ranges: list[tuple[int, int, int]]) -> None:
        self._data = data
        self._ranges = sorted(ranges)
        self._starts = [start for start, _, _ in self._ranges]

    def read(self, address: int, size: int) -> bytes:
        """The bytes of the range that holds an address."""
        last = bisect_right(self._starts, address)
        for start, length, offset in reversed(self._ranges[max(0, last - 4) : last]):
            if address < start + length:
                at = offset + address - start
                return self._data[at : at + min(size, start + length - address)]
        return b""


class TinyDump(NamedTuple):
    """A dump of an x64 process."""

    modules: tuple[Module, ...]
    memory: TinyMemory
    exception: ExceptionRecord

    @property
    def registers(self) -> Registers:
        """The registers of the exception."""
        assert self.exception.registers
        return self.exception.registers


def read_tiny_dump(path: Path) -> TinyDump:
    """Read a dump that is known to be good."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    count, directory = struct.unpack_from("<II", data, 8)
    streams = {}
    for number in range(count):
        kind, _, at = struct.unpack_from("<III", data, directory + 12 * number)
        streams[kind] = at
    return TinyDump(
        _modules(data, streams[_MODULES]), TinyMemory(data, _ranges(data, streams)), _exception(data, streams)
    )


def _modules(data: mmap.mmap, at: int) -> tuple[Module, ...]:
    modules = []
    for number in range(struct.unpack_from("<I", data, at)[0]):
        base, size, checksum, timestamp, name = struct.unpack_from("<QIIII", data, at + 4 + 108 * number)
        (length,) = struct.unpack_from("<I", data, name)
        modules.append(Module(base, size, data[name + 4 : name + 4 + length].decode("utf-16-le"), timestamp, checksum))
    return tuple(modules)


def _ranges(data: mmap.mmap, streams: dict[int, int]) -> list[tuple[int, int, int]]:
    ranges = []
    if at := streams.get(_MEMORY):
        for number in range(struct.unpack_from("<I", data, at)[0]):
            ranges.append(struct.unpack_from("<QII", data, at + 4 + 16 * number))
    if at := streams.get(_ALL_MEMORY):
        count, offset = struct.unpack_from("<QQ", data, at)
        for number in range(count):
            start, size = struct.unpack_from("<QQ", data, at + 16 + 16 * number)
            ranges.append((start, size, offset))
            offset += size
    return ranges


def _exception(data: mmap.mmap, streams: dict[int, int]) -> ExceptionRecord:
    at = streams[_EXCEPTION]
    thread, _, code, flags, _, address, count = struct.unpack_from("<IIIIQQI", data, at)
    parameters = struct.unpack_from(f"<{min(count, 15)}Q", data, at + 40)
    (context,) = struct.unpack_from("<I", data, at + 164)
    values = dict(zip(_NAMES, struct.unpack_from("<17Q", data, context + 0x78), strict=True))
    registers = Registers("x64", values["rip"], values["rsp"], values["rbp"], values)
    return ExceptionRecord(thread, code, address, flags, parameters, registers)
