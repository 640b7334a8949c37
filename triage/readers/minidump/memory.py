"""The memory that a dump holds, and what it says about the rest: which addresses were in use, and for what."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol

from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile
from triage.readers.minidump.streams import stack_extents

_RANGE = struct.Struct("<QII")
_FULL_RANGE = struct.Struct("<QQ")
_REGION = struct.Struct("<QQIIQIIII")
_MOST_RANGES = 1 << 18
_MOST_REGIONS = 1 << 17
_LONGEST_READ = 16 << 20
# Ranges may overlap, but no honest writer stores the same address more often than this.
_OVERLAPS = 8
State = Literal["committed", "reserved", "free"]
_STATES: Mapping[int, State] = {0x1000: "committed", 0x2000: "reserved"}
_GUARD, _NO_ACCESS = 0x100, 0x01
_EXECUTABLE = 0xF0


class NotHeld(Exception):
    """The bytes that are needed are missing or make no sense."""


class AddressSpace(Protocol):
    """Bytes by address: the memory of a process as far as the dump holds it, or an image."""

    def read(self, address: int, size: int, /) -> bytes:
        """The bytes at an address; fewer than asked for, or none, where they are not held."""
        ...


class MemoryRegion(NamedTuple):
    """A range of addresses, its state, and what could be done there."""

    start: int
    size: int
    state: State
    guard: bool
    no_access: bool
    executable: bool

    def holds(self, address: int) -> bool:
        """Whether an address is in it."""
        return self.start <= address < self.start + self.size


class DumpMemory:
    """Reads memory by address. `missing` is the number of bytes that the dump lists and the file does not have."""

    def __init__(self, dump: DumpFile) -> None:
        self._dump = dump
        self.missing = 0
        ranges = sorted(self._listed())
        self._starts = [start for start, _, _ in ranges]
        self._ranges = ranges

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address; fewer than asked for, or none, where the dump does not hold them."""
        wanted = min(size, _LONGEST_READ)
        pieces = []
        while wanted > 0:
            piece = self._piece(address, wanted)
            if not piece:
                break
            pieces.append(piece)
            address, wanted = address + len(piece), wanted - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, address: int, size: int) -> bytes:
        at = bisect_right(self._starts, address)
        for start, length, offset in reversed(self._ranges[max(0, at - _OVERLAPS) : at]):
            if address < start + length:
                inside = address - start
                return self._dump.at(offset + inside, min(size, length - inside))
        return b""

    def _listed(self) -> list[tuple[int, int, int]]:
        found = []
        listed = [*self._dump.records(parts.MEMORY, _RANGE, _MOST_RANGES), *self._full()]
        known = {(record[0], record[1]) for record in listed}
        stacks = [stack for stack in stack_extents(self._dump) if stack[:2] not in known]
        for start, size, offset in (*listed, *stacks):
            there = max(0, min(size, self._dump.size - offset))
            self.missing += size - there
            if there:
                found.append((start, there, offset))
        return found

    def _full(self) -> list[tuple[int, int, int]]:
        """The ranges of a dump with full memory, which follow one another."""
        data = self._dump.stream(parts.MEMORY64)
        if len(data) < 16:
            return []
        count, offset = struct.unpack_from("<QQ", data)
        count = self._dump.fitting(parts.MEMORY64, count, len(data) - 16, _FULL_RANGE.size, _MOST_RANGES)
        found = []
        for start, size in _FULL_RANGE.iter_unpack(data[16 : 16 + count * _FULL_RANGE.size]):
            found.append((start, size, offset))
            offset += size
        return found


class MemoryRegions:
    """What the addresses of the process were used for, if the dump says so."""

    def __init__(self, dump: DumpFile) -> None:
        records = dump.headed_records(parts.REGIONS, _REGION, _MOST_REGIONS)
        self._regions = sorted(map(_region, records), key=lambda region: region.start)
        self._starts = [region.start for region in self._regions]

    def at(self, address: int) -> MemoryRegion | None:
        """The region around an address."""
        number = bisect_right(self._starts, address) - 1
        region = self._regions[number] if number >= 0 else None
        return region if region and region.holds(address) else None


def _region(record: tuple[int, ...]) -> MemoryRegion:
    start, _, _, _, size, state, protection, *_ = record
    named = _STATES.get(state, "free")
    return MemoryRegion(
        start,
        size,
        named,
        bool(protection & _GUARD),
        named == "committed" and bool(protection & _NO_ACCESS),
        bool(protection & _EXECUTABLE),
    )
