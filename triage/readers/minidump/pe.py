"""PE images, the DLLs and programs of Windows: where they are found, their unwind table and exports.

An image is read by relative virtual address, from its file or from the dump. It is not trusted: every read may come
back short, and every count is bounded. A file counts only if it is the very build that was loaded (same timestamp, same
size): unwinding with another build would give frames that look right and are wrong.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

from triage.readers.minidump.memory import AddressSpace, NotHeld
from triage.readers.minidump.streams import Module
from triage.stacks.untrusted_paths import UntrustedPaths

_EXPORT_TABLE, _UNWIND_TABLE = 0, 3
_MAX_SECTIONS = 96
_MAX_DIRECTORIES = 16
_EXECUTABLE = 0x20000000
_ENTRY = struct.Struct("<III")
_X64 = 0x8664
_PAGE = 0x1000
_LARGEST_HEADER = 4 * _PAGE
_MAX_EXPORTS = 1 << 17
_EXPORTS = struct.Struct("<5I")
_MAX_CHAIN = 32
_CHAINED = 0x4
_SUFFIXES = (".dll", ".exe", ".pyd", ".drv", ".ocx", ".cpl", ".sys")
_MAX_FILES_LOOKED_AT = 200_000
_MAX_SAME_NAME = 16
# Opening \\server\share or \??\UNC would contact another machine, so only paths on drives are opened.
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class _InMemory:
    """The image in the memory of the process, as far as the dump holds it."""

    def __init__(self, memory: AddressSpace, base: int) -> None:
        self._memory = memory
        self._base = base

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image."""
        return self._memory.read(self._base + rva, size) if rva >= 0 and size > 0 else b""


class _InFile:
    """The image in its file: each section is read from its place there."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.header: Header | None = None

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image."""
        if rva < 0 or size <= 0 or self._data.closed:
            return b""
        if self.header is None or rva < self.header.header_size:
            return self._data[rva : rva + size]
        for section in self.header.sections:
            if section.holds(rva):
                within = rva - section.rva
                length = min(size, section.file_size - within, section.size - within)
                start = section.file_offset + within
                return self._data[start : start + length] if length > 0 else b""
        return b""


class Section(NamedTuple):
    """A part of an image, with its place in memory and in the file."""

    rva: int
    size: int
    file_offset: int
    file_size: int
    executable: bool

    def holds(self, rva: int) -> bool:
        """Whether an address is in it."""
        return self.rva <= rva < self.rva + self.size


class Header(NamedTuple):
    """The PE header. `timestamp` and `size` identify the build; `directories` are (address, size) pairs."""

    machine: int
    timestamp: int
    size: int
    checksum: int
    header_size: int
    sections: tuple[Section, ...]
    directories: tuple[tuple[int, int], ...]


class Function(NamedTuple):
    """An entry of the unwind table: where a function (or a part of one) begins and ends, and its unwind data."""

    begin: int
    end: int
    unwind: int


class Image:
    """One image; `kind` is where its bytes come from."""

    def __init__(self, header: Header, held: AddressSpace, kind: Literal["file", "dump"]) -> None:
        self.header = header
        self.kind = kind
        self._bytes = held

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image; fewer than asked for, or none, where they are not held."""
        return self._bytes.read(rva, size)

    def read_exactly(self, rva: int, size: int) -> bytes:
        """All bytes at an address; `NotHeld` if one is missing."""
        data = self._bytes.read(rva, size)
        if len(data) != size:
            raise NotHeld
        return data

    def text(self, rva: int, limit: int = 512) -> str | None:
        """The C string at an address, if it is there and ends."""
        data, end, _ = self.read(rva, limit).partition(b"\0")
        return data.decode("ascii", "replace") if end else None

    def directory(self, number: int) -> tuple[int, int]:
        """Address and size of one of the tables that the header points to; (0, 0) if there is none."""
        return self.header.directories[number] if number < len(self.header.directories) else (0, 0)

    def is_code(self, rva: int) -> bool:
        """Whether an address is in an executable section."""
        return any(section.executable and section.holds(rva) for section in self.header.sections)

    def function_at(self, rva: int) -> Function | None:
        """The entry of the unwind table that covers an address; None if the table is there and has none.

        Found by bisection on the bytes: the table of a large library has a million entries.
        """
        table, size = self.directory(_UNWIND_TABLE)
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
    held = _InMemory(memory, base)
    header = _read_header(held)
    return Image(header, held, "dump") if header else None


def _read_header(held: AddressSpace) -> Header | None:
    """The PE header of some bytes, or None if they are not a PE image."""
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
    return Header(machine, timestamp, size, checksum, header_size, sections, directories)


def _section(data: bytes, at: int) -> Section:
    size, rva, file_size, file_offset = struct.unpack_from("<IIII", data, at + 8)
    (flags,) = struct.unpack_from("<I", data, at + 36)
    # The loader rounds the offset in the file down to whole disk sectors.
    return Section(rva, size or file_size, file_offset & ~0x1FF, file_size, bool(flags & _EXECUTABLE))


def primary(image: Image, function: Function) -> Function:
    """The function that a part of a function belongs to: compilers move cold code away and chain its unwind data."""
    for _ in range(_MAX_CHAIN):
        parent = chained(image, function.unwind)
        if parent is None:
            return function
        function = parent
    raise NotHeld


def chained(image: Image, unwind: int) -> Function | None:
    """The entry that some unwind data continues with, if it is chained."""
    head = image.read_exactly(unwind, 4)
    if not (head[0] >> 3) & _CHAINED:
        return None
    after_codes = unwind + 4 + 2 * ((head[2] + 1) & ~1)
    return Function(*struct.unpack("<III", image.read_exactly(after_codes, 12)))


class ExactName(NamedTuple):
    """The exported name of a function, and where it begins."""

    name: str
    begin: int


class ExportTable:
    """The exported names of an image, read once. `names` has the first name of each address."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.names: dict[int, str] = {}
        self.addresses: dict[str, int] = {}
        try:
            self._read()
        except NotHeld:
            return

    def _read(self) -> None:
        image = self._image
        table, size = image.directory(_EXPORT_TABLE)
        if not table:
            return
        count, name_count, addresses, names, ordinals = _EXPORTS.unpack(image.read_exactly(table + 20, 20))
        if count > _MAX_EXPORTS or name_count > _MAX_EXPORTS:
            return
        where = struct.unpack(f"<{count}I", image.read_exactly(addresses, 4 * count)) if count else ()
        places = struct.unpack(f"<{name_count}I", image.read_exactly(names, 4 * name_count)) if name_count else ()
        numbers = struct.unpack(f"<{name_count}H", image.read_exactly(ordinals, 2 * name_count)) if name_count else ()
        for place, number in zip(places, numbers, strict=True):
            if number >= count or table <= where[number] < table + size:  # in the table itself: the text of a forwarder
                continue
            name = image.text(place)
            if name:
                self.names.setdefault(where[number], name)
                self.addresses.setdefault(name, where[number])


def exact_name(image: Image, exports: ExportTable, rva: int) -> ExactName | None:
    """The function that holds an address, if an export points exactly to its beginning.

    The nearest export before an address is no name for it: hundreds of functions without a name lie between two.
    """
    try:
        function = image.function_at(rva)
        begin = primary(image, function).begin if function else None
    except NotHeld:
        return None
    name = exports.names.get(begin) if begin is not None else None
    return ExactName(name, begin) if name and begin is not None else None


class Images(Protocol):
    """A source of the images of modules."""

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        ...


class ImageFinder:
    """Finds the image of a module: at its own path, in the given directories, or in the dump's memory.

    `notes` has a sentence for each file that was found and not used, and for what was left out.
    """

    def __init__(self, memory: AddressSpace | None = None, directories: Iterable[str] = ()) -> None:
        self._memory = memory
        self._directories = tuple(directories)
        self._by_name: dict[str, list[str]] | None = None
        self._images: dict[Module, Image | None] = {}
        self._open: list[mmap.mmap] = []
        self._files = UntrustedPaths(*self._directories)
        self.notes: list[str] = []

    def __enter__(self) -> ImageFinder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; images from files are empty afterwards."""
        self._images.clear()
        for data in self._open:
            data.close()
        self._open.clear()

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        if module not in self._images:
            self._images[module] = self._from_file(module) or self._from_memory(module)
        return self._images[module]

    def _from_memory(self, module: Module) -> Image | None:
        image = memory_image(self._memory, module.base) if self._memory else None
        return image if image and _is_build_of(image.header, module) else None

    def _from_file(self, module: Module) -> Image | None:
        other_builds = []
        for path in self._candidates(module):
            image = self._read_file(path)
            if image and _is_build_of(image.header, module):
                return image
            if image:
                other_builds.append(path)
        if other_builds:
            self.notes.append(
                f"{module.file} was found, but it is another build than the one that was loaded "
                f"(timestamp 0x{module.timestamp:08X}, size {module.size:,}), so it is not used: {other_builds[0]}"
            )
        return None

    def _candidates(self, module: Module) -> Iterator[str]:
        if path := self._named(module.name):
            yield path
        if self._directories and self._by_name is None:
            self._by_name = self._index()
        yield from (self._by_name or {}).get(module.file.lower(), [])

    def _named(self, name: str) -> str | None:
        """The file at the path that the dump has for it, if it may be opened."""
        if not local_path(name):
            return None
        return name if os.name == "nt" else self._files.look(name).real

    def _index(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = {}
        looked_at = 0
        for directory in self._directories:
            if not os.path.isdir(directory):
                self.notes.append(f"{directory} is no directory: no library was looked for there")
            for folder, _, names in os.walk(directory):
                looked_at += len(names)
                if looked_at > _MAX_FILES_LOOKED_AT:
                    self.notes.append(
                        f"{directory} holds too many files: only the first {_MAX_FILES_LOOKED_AT:,} were looked at; "
                        "name a folder further in"
                    )
                    return by_name
                for name in names:
                    if name.lower().endswith(_SUFFIXES):
                        same = by_name.setdefault(name.lower(), [])
                        if len(same) < _MAX_SAME_NAME:
                            same.append(os.path.join(folder, name))
        return by_name

    def _read_file(self, path: str) -> Image | None:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # gone, forbidden, empty, or a name that no system allows
            return None
        held = _InFile(data)
        held.header = _read_header(held)
        if held.header is None:
            data.close()
            return None
        self._open.append(data)
        return Image(held.header, held, "file")


def local_path(name: str, windows: bool = os.name == "nt") -> bool:
    """Whether the path of a module can be opened here without contacting another machine."""
    if "\0" in name:
        return False
    return bool(_ON_A_DRIVE.match(name)) if windows else name.startswith("/")


def _is_build_of(header: Header, module: Module) -> bool:
    """Whether an image is the build that was loaded; without a timestamp the checksum decides."""
    if header.size != module.size or header.timestamp != module.timestamp:
        return False
    return bool(module.timestamp) or bool(module.checksum and module.checksum == header.checksum)
