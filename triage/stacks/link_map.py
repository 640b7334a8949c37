"""The names under which the dynamic loader had loaded its libraries, as a core's memory has them.

gdb and pystack open the files under these names by themselves, so they are read before either is asked. They find the
list through the program's own header in memory, or through its file and where it was started; both ways are gone here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from triage.stacks.core_file import CoreFile

_AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_ENTRY = 3, 4, 5, 9
_PT_DYNAMIC, _PT_PHDR = 2, 6
_DT_DEBUG = 21
_HEADER, _ENTRY = 56, 16
_MOST_HEADERS, _MOST_ENTRIES, _MOST_LIBRARIES, _MOST_LISTS = 256, 1024, 1 << 14, 64
_LONGEST_NAME = 4096


def loaded_names(core: CoreFile, program: bytes) -> dict[str, int]:
    """Every name in the loader's lists with the address of its file; `program` is the first page of the program's."""
    found: dict[str, int] = {}
    for dynamic in dict.fromkeys((*_by_memory(core), *_by_file(core, program))):
        debug = _pointer_of(core, dynamic)
        for _ in range(_MOST_LISTS):
            if not debug:
                break
            version, first, following = _list_at(core, debug)
            found.update(_libraries(core, first))
            debug = following if version > 1 else 0
    return found


def _by_memory(core: CoreFile) -> Iterator[int]:
    auxiliary = dict(core.auxiliary)
    table, count = auxiliary.get(_AT_PHDR, 0), min(auxiliary.get(_AT_PHNUM, 0), _MOST_HEADERS)
    if auxiliary.get(_AT_PHENT, _HEADER) != _HEADER:
        return
    headers = core.memory(table, _HEADER * count)
    moved = 0
    for kind, address in _headers(headers):
        if kind == _PT_PHDR:
            moved = table - address
        if kind == _PT_DYNAMIC:
            yield moved + address & 0xFFFFFFFFFFFFFFFF


def _by_file(core: CoreFile, program: bytes) -> Iterator[int]:
    if len(program) < 64 or program[:6] != b"\x7fELF\x02\x01":
        return
    entry, table = struct.unpack_from("<QQ", program, 24)
    (count,) = struct.unpack_from("<H", program, 56)
    for kind, address in _headers(program[table : table + _HEADER * count]):
        if kind == _PT_DYNAMIC:
            yield address
            yield dict(core.auxiliary).get(_AT_ENTRY, entry) - entry + address & 0xFFFFFFFFFFFFFFFF


def _headers(table: bytes) -> Iterator[tuple[int, int]]:
    for kind, _, _, address, *_ in struct.iter_unpack("<IIQQQQQQ", table[: len(table) // _HEADER * _HEADER]):
        yield kind, address


def _pointer_of(core: CoreFile, dynamic: int) -> int:
    """Where the loader says that its lists begin."""
    table = core.memory(dynamic, _ENTRY * _MOST_ENTRIES)
    for tag, value in struct.iter_unpack("<QQ", table[: len(table) // _ENTRY * _ENTRY]):
        if tag == _DT_DEBUG:
            return int(value)
        if tag == 0:
            break
    return 0


def _list_at(core: CoreFile, address: int) -> tuple[int, int, int]:
    """The version of a list's head, its first library, and the next list."""
    data = core.memory(address, 48).ljust(48, b"\0")
    version, first, _, _, _, following = struct.unpack("<i4xQQQQQ", data)
    return version, first, following


def _libraries(core: CoreFile, address: int) -> Iterator[tuple[str, int]]:
    seen: set[int] = set()
    while address and address not in seen and len(seen) < _MOST_LIBRARIES:
        seen.add(address)
        data = core.memory(address, 32)
        if len(data) < 32:
            return
        base, name, _, address = struct.unpack("<QQQQ", data)
        if text := core.memory(name, _LONGEST_NAME).split(b"\0")[0]:
            yield os.fsdecode(text), base
