"""ELF files, programs and libraries: their build ids, the names of functions, and a stub of a huge one for gdb.

libtensorflow_cc has 1.2 million symbols in 800 MB. gdb takes half a minute to read them, and walking a stack needs none
of them: the stub holds the unwind tables alone. The few names needed later are found in one pass over the symbol table.
"""

from __future__ import annotations

import mmap
import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import BinaryIO, NamedTuple

from triage.stacks.untrusted_paths import opened

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS, _DYNSYM = 1, 2, 3, 8, 11
_ALLOCATED, _EXECUTABLE = 0x2, 0x4
_FUNCTION, _INDIRECT_FUNCTION = 2, 10
_FIXED = 2
_PIECE = 1 << 20
_PT_NOTE = 4
_GNU_BUILD_ID = 3


class _Section(NamedTuple):
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    alignment: int


def build_id_of(path: str) -> bytes | None:
    """The build identifier of a program file; None for one that is not there or has none."""
    try:
        return build_id_in(opened(os.path.realpath(path)).head)
    except (OSError, ValueError):
        return None


def build_id_in(page: bytes) -> bytes | None:
    """The build identifier in the first page of a program file, which comes after the program headers."""
    if len(page) < 64 or page[:6] != b"\x7fELF\x02\x01":
        return None
    table, size, count = (*struct.unpack_from("<Q", page, 32), *struct.unpack_from("<HH", page, 54))
    for number in range(count):
        at = table + number * size
        if size < 56 or at + 56 > len(page):
            return None
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", page, at)
        if kind == _PT_NOTE:
            for type_, owner, content in notes(page[offset : offset + length]):
                if type_ == _GNU_BUILD_ID and owner == b"GNU":
                    return content
    return None


def notes(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Each note in a note segment: its type, its owner and its content."""
    at = 0
    while at + 12 <= len(data):
        owner, content, type_ = struct.unpack_from("<III", data, at)
        start = at + 12 + (owner + 3) // 4 * 4
        if start + content > len(data):
            return
        yield type_, data[at + 12 : at + 12 + owner].rstrip(b"\0"), data[start : start + content]
        at = start + (content + 3) // 4 * 4


def write_stub(library: str, stub: str) -> None:
    """Write a small ELF file with the unwind tables of a library; its code sections are empty shells."""
    with open(library, "rb") as source, open(stub, "wb") as target:
        header, sections = _sections(source.fileno())
        tables = [s for s in sections if s.name == ".eh_frame" and s.type != _NOBITS]
        shells = [s for s in sections if s.flags & _EXECUTABLE and s.flags & _ALLOCATED]
        if not tables:
            raise ValueError(f"{library} has no unwind tables")
        target.seek(_HEADER.size)
        entries = [_SECTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
        names = b"\0"
        for section in (*tables, *shells):
            at, kind = _aligned(target), _NOBITS
            if section in tables:
                kind = _PROGBITS
                _copy(source.fileno(), section, target)
            entries.append(
                _SECTION.pack(
                    len(names), kind, section.flags, section.address, at, section.size, 0, 0, section.alignment, 0
                )
            )
            names += section.name.encode("ascii", "replace") + b"\0"
        at = _aligned(target)
        entries.append(_SECTION.pack(len(names), _STRTAB, 0, 0, at, len(names) + 10, 0, 0, 1, 0))
        target.write(names + b".shstrtab\0")
        table = _aligned(target)
        target.write(b"".join(entries))
        target.seek(0)
        identity, kind, machine, version = header[:4]
        target.write(
            _HEADER.pack(
                identity, kind, machine, version, 0, 0, table, 0, _HEADER.size, 0, 0, 64, len(entries), len(entries) - 1
            )
        )


def is_at_fixed_address(path: str) -> bool:
    """Whether a program runs at the very addresses in its symbol table, and not wherever it is loaded."""
    with open(path, "rb") as source:
        return _sections(source.fileno())[0][1] == _FIXED


def names_in(library: str, addresses: Iterable[int]) -> dict[int, str]:
    """The mangled names of the functions around some addresses of a library, from its own symbol table."""
    wanted = sorted(set(addresses))
    if not wanted:
        return {}
    with open(library, "rb") as source, closing(mmap.mmap(source.fileno(), 0, prot=mmap.PROT_READ)) as data:
        _, sections = _sections(source.fileno())
        tables = [s for s in sections if s.type == _SYMTAB] or [s for s in sections if s.type == _DYNSYM]
        found: dict[int, str] = {}
        for table in tables:
            strings = sections[table.link] if table.link < len(sections) else None
            if strings is None or strings.offset + strings.size > len(data):
                continue
            for at, name in _covering(data, table, wanted):
                if at not in found:
                    start = strings.offset + name
                    end = data.find(b"\0", start, min(start + 4096, strings.offset + strings.size))
                    found[at] = data[start : end if end >= 0 else start].decode("utf-8", "replace")
        return {address: name for address, name in found.items() if name}


def _covering(data: mmap.mmap, table: _Section, wanted: list[int]) -> Iterable[tuple[int, int]]:
    """Every wanted address with the offset of the name of a function that contains it."""
    lowest, highest = wanted[0], wanted[-1]
    end = min(table.offset + table.size, len(data))
    for piece in range(table.offset, end, _SYMBOL.size * 65536):
        chunk = data[piece : min(piece + _SYMBOL.size * 65536, end)]
        for name, info, _, _, value, size in _SYMBOL.iter_unpack(chunk[: len(chunk) // _SYMBOL.size * _SYMBOL.size]):
            if value > highest or value + size <= lowest or info & 15 not in (_FUNCTION, _INDIRECT_FUNCTION):
                continue
            for address in wanted[bisect_left(wanted, value) :]:
                if address >= value + size:
                    break
                yield address, name


def _sections(descriptor: int) -> tuple[tuple[bytes, int, int, int], list[_Section]]:
    """The first fields of the header, and the sections, of a 64-bit little-endian ELF file; else ValueError."""
    raw = os.pread(descriptor, _HEADER.size, 0)
    if len(raw) < _HEADER.size or raw[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    identity, kind, machine, version, _, _, table, _, _, _, _, size, count, names_at = _HEADER.unpack(raw)
    rows = os.pread(descriptor, size * count, table)
    if size != _SECTION.size or len(rows) < size * count or names_at >= count:
        raise ValueError("no section table")
    unpacked = list(_SECTION.iter_unpack(rows))
    names = os.pread(descriptor, min(unpacked[names_at][5], _PIECE), unpacked[names_at][4])
    sections = []
    for name, type_, flags, address, offset, length, link, _, alignment, _ in unpacked:
        text = names[name : names.find(b"\0", name)].decode("ascii", "replace")
        sections.append(_Section(text, type_, flags, address, offset, length, link, alignment))
    return (identity, kind, machine, version), sections


def _aligned(target: BinaryIO) -> int:
    """Move to the next multiple of 16 and return it."""
    return target.seek((target.tell() + 15) & ~15)


def _copy(source: int, section: _Section, target: BinaryIO) -> None:
    """Copy a section piece by piece: 35 MB do not have to be in memory at once."""
    at, end = section.offset, section.offset + section.size
    while at < end and (piece := os.pread(source, min(_PIECE, end - at), at)):
        target.write(piece)
        at += len(piece)
