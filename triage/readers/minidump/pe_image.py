"""A PE image (a DLL or a program of Windows), read by relative virtual address, out of its file or out of the dump.

Nothing here believes the image: every read may come back short, every count is bounded, and no broken image raises.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from triage.readers.minidump.memory import AddressSpace, NotHeld

EXPORTS, UNWIND_TABLE, DELAY_IMPORTS = 0, 3, 13
_MAX_SECTIONS = 96
_MAX_DIRECTORIES = 16
_EXECUTABLE = 0x20000000
_ENTRY = struct.Struct("<III")
_X64 = 0x8664
_PAGE = 0x1000
_LARGEST_HEADER = 4 * _PAGE


class InMemory:
    """The image as the process had it, as far as the dump holds that memory."""

    def __init__(self, memory: AddressSpace, base: int) -> None:
        self._memory = memory
        self._base = base

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image."""
        return self._memory.read(self._base + rva, size) if rva >= 0 and size > 0 else b""


class Section(NamedTuple):
    """A part of an image, where it lies in memory and in the file."""

    rva: int
    size: int
    file_offset: int
    file_size: int
    executable: bool

    def holds(self, rva: int) -> bool:
        """Whether an address lies inside of it."""
        return self.rva <= rva < self.rva + self.size


class Header(NamedTuple):
    """What the PE header tells. `timestamp` and `size` identify the build; `directories` are (address, size) pairs."""

    machine: int
    timestamp: int
    size: int
    checksum: int
    header_size: int
    is_64_bit: bool
    sections: tuple[Section, ...]
    directories: tuple[tuple[int, int], ...]


class Function(NamedTuple):
    """An entry of the unwind table: where a function (or a part of one) begins and ends, and its unwind data."""

    begin: int
    end: int
    unwind: int


class Image:
    """One image. `kind` says where its bytes come from: file or dump."""

    def __init__(self, header: Header, held: AddressSpace, kind: str) -> None:
        self.header = header
        self.kind = kind
        self._bytes = held

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image; fewer than asked, or none, where they are not held."""
        return self._bytes.read(rva, size)

    def read_exactly(self, rva: int, size: int) -> bytes:
        """The bytes at an address, all of them; `NotHeld` where one is missing."""
        data = self._bytes.read(rva, size)
        if len(data) != size:
            raise NotHeld
        return data

    def text(self, rva: int, limit: int = 512) -> str | None:
        """The C string at an address, if it is there and ends."""
        data, end, _ = self.read(rva, limit).partition(b"\0")
        return data.decode("ascii", "replace") if end else None

    def directory(self, number: int) -> tuple[int, int]:
        """Address and size of one of the tables that the header points to; (0, 0) where there is none."""
        return self.header.directories[number] if number < len(self.header.directories) else (0, 0)

    def is_code(self, rva: int) -> bool:
        """Whether an address lies in a section that may be executed."""
        return any(section.executable and section.holds(rva) for section in self.header.sections)

    def function_at(self, rva: int) -> Function | None:
        """The entry of the unwind table that covers an address; None where the table is there and has none.

        Found by halving on the bytes: the table of a large library has a million entries.
        """
        table, size = self.directory(UNWIND_TABLE)
        if self.header.machine != _X64 or not table or size < _ENTRY.size:
            raise NotHeld
        low, high = 0, size // _ENTRY.size
        while low < high:
            middle = (low + high) // 2
            if self._entry(table + middle * _ENTRY.size).begin <= rva:
                low = middle + 1
            else:
                high = middle
        if not low:
            return None
        found = self._entry(table + (low - 1) * _ENTRY.size)
        return found if found.begin <= rva < found.end else None

    def _entry(self, rva: int) -> Function:
        return Function(*_ENTRY.unpack(self.read_exactly(rva, _ENTRY.size)))


def memory_image(memory: AddressSpace, base: int) -> Image | None:
    """The image at an address of the dump's own memory, if its header is held there."""
    held = InMemory(memory, base)
    header = read_header(held)
    return Image(header, held, "dump") if header else None


def read_header(held: AddressSpace) -> Header | None:
    """The PE header of some bytes, or None where they are not a PE image."""
    start = held.read(0, _PAGE)
    if len(start) < 0x40 or start[:2] != b"MZ":
        return None
    (at,) = struct.unpack_from("<I", start, 0x3C)
    if at > _LARGEST_HEADER:
        return None
    data = held.read(at, _PAGE) or start[at:]
    try:
        return _parse_header(data)
    except struct.error:
        return None


def _parse_header(data: bytes) -> Header | None:
    if data[:4] != b"PE\0\0":
        return None
    machine, section_count, timestamp, _, _, optional_size, _ = struct.unpack_from("<HHIIIHH", data, 4)
    optional = 24
    (magic,) = struct.unpack_from("<H", data, optional)
    if magic not in (0x10B, 0x20B):
        return None
    size, header_size, checksum = struct.unpack_from("<III", data, optional + 56)
    tables = optional + (112 if magic == 0x20B else 96)
    (directory_count,) = struct.unpack_from("<I", data, tables - 4)
    directories = tuple(
        struct.unpack_from("<II", data, tables + 8 * number) for number in range(min(directory_count, _MAX_DIRECTORIES))
    )
    first = optional + optional_size
    fitting = max(0, len(data) - first) // 40
    sections = tuple(
        _section(data, first + 40 * number) for number in range(min(section_count, fitting, _MAX_SECTIONS))
    )
    return Header(machine, timestamp, size, checksum, header_size, magic == 0x20B, sections, directories)


def _section(data: bytes, at: int) -> Section:
    size, rva, file_size, file_offset = struct.unpack_from("<IIII", data, at + 8)
    (flags,) = struct.unpack_from("<I", data, at + 36)
    # The loader rounds the place in the file down to whole disk sectors.
    return Section(rva, size or file_size, file_offset & ~0x1FF, file_size, bool(flags & _EXECUTABLE))
