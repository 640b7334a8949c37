"""The program and the libraries that a core names: which of them are here, and are the builds that were loaded.

A file that is not proven to be what the core had in memory is not given to a debugger as if it were.

gdb and pystack open the libraries under the names that the dynamic loader used, so these are read before either runs.
Debuggers find the loader's list through the program's header in memory, or through its file and its entry point; both
ways are taken here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from triage.stacks.core_file import CoreFile
from triage.stacks.elf import build_id_in
from triage.stacks.memory_map import Region
from triage.stacks.untrusted_paths import Look, RefusedFile, UntrustedPaths

_ELF = b"\x7fELF"
_PAGE = 4096
_AT_SYSINFO_EHDR = 33
_LONGEST_VDSO = 1 << 16
_AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_ENTRY = 3, 4, 5, 9
_PT_DYNAMIC, _PT_PHDR = 2, 6
_DT_DEBUG = 21
_HEADER, _ENTRY = 56, 16
_MOST_HEADERS, _MOST_ENTRIES, _MOST_LIBRARIES, _MOST_LISTS = 256, 1024, 1 << 14, 64
_LONGEST_NAME = 4096


class CoreModules(NamedTuple):
    """Files by their names in a core: the usable ones with their real paths, the others by what is wrong.

    `loaded_as` has the loader's name of each usable file. `unproven` files are used although the core does not show
    which build was loaded. If `is_crafted`, nobody can tell what a debugger would open.
    """

    usable: Mapping[str, str]
    loaded_as: Mapping[str, str]
    absent: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    refused: tuple[RefusedFile, ...] = ()
    is_crafted: bool = False

    @contextmanager
    def folder(self) -> Iterator[str]:
        """A folder with links to the usable files, under the names that the core has for them, and nothing else."""
        with TemporaryDirectory(prefix="triage-") as folder:
            for name, real in self.usable.items():
                with suppress(OSError):  # a name that is also a folder of another one
                    os.makedirs(os.path.dirname(folder + name), exist_ok=True)
                    os.symlink(real, folder + name)
            yield folder


class _Mapped(NamedTuple):
    """A program file in memory: the address of its first byte, if known, and the least length it must have.

    `has_header`: the core holds its beginning, by which debuggers recognise a program.
    """

    base: int | None
    reach: int
    has_header: bool


def modules_of(core: CoreFile, files: UntrustedPaths) -> CoreModules:
    """Every program file that a core names, checked."""
    program = core.executable()
    loaded = _loaded_names(core, files.look(program).head if program else b"")
    mapped = _mapped(core)
    if program:
        # Without a list of files there is still the program's header table, which is in its first page.
        mapped.setdefault(program, _Mapped(dict(core.auxiliary).get(_AT_PHDR, 0) // _PAGE * _PAGE, 0, has_header=True))
    usable: dict[str, str] = {}
    unusable: dict[str, list[str]] = {"absent": [], "other": [], "unproven": []}
    for name, memory in {**{n: _Mapped(base, 0, True) for n, base in loaded.items()}, **mapped}.items():
        found = files.look(name)
        match = _match(core, memory, found)
        if match in ("same", "unproven") and found.real:
            usable[name] = found.real
        if match in unusable and name in mapped:
            unusable[match].append(name)
    shown = [name for name, memory in mapped.items() if memory.has_header]
    looks = {name: files.look(name) for name in (*loaded, *shown, *(f"{name} (deleted)" for name in shown))}
    return CoreModules(
        usable,
        {real: name for name, real in usable.items() if name in loaded},
        **{kind: tuple(names) for kind, names in unusable.items()},
        refused=tuple(RefusedFile(name, look.refusal) for name, look in looks.items() if look.refusal),
        is_crafted=core.is_ambiguous or any(look.is_crafted for look in looks.values()) or _refers_elsewhere(core),
    )


def _mapped(core: CoreFile) -> dict[str, _Mapped]:
    """The files that hold code, or whose mapping begins like a program; not fonts or devices."""
    code = {segment.start for segment in core.segments if "x" in segment.permissions}
    by_path: dict[str, list[Region]] = {}
    for region in core.files:
        by_path.setdefault(region.path or "", []).append(region)
    found = {}
    for path, regions in by_path.items():
        has_header = any(core.memory(region.start, 4) == _ELF for region in regions)
        if path and (has_header or any(region.start in code for region in regions)):
            base = next((region.start for region in regions if region.offset == 0), None)
            found[path] = _Mapped(
                base, max(region.offset + region.end - region.start for region in regions), has_header
            )
    return found


def _match(core: CoreFile, memory: _Mapped, found: Look) -> Literal["same", "other", "absent", "unproven", "none"]:
    """Compare by build id; without one by the first page; where the core holds neither, by length."""
    if found.real is None:
        return "absent" if memory.has_header else "none"
    page = core.memory(memory.base, _PAGE) if memory.base is not None else b""
    if page[:4] == _ELF and (was := build_id_in(page)):
        return "same" if build_id_in(found.head) == was else "other"
    if page[:4] == _ELF:
        # a file shorter than a page is followed by zeros
        return "same" if page == found.head.ljust(_PAGE, b"\0")[: len(page)] else "other"
    if found.head[:4] != _ELF:
        return "none"
    return "unproven" if -(-found.size // _PAGE) * _PAGE >= memory.reach else "other"


def _refers_elsewhere(core: CoreFile) -> bool:
    """Whether the vDSO, which debuggers read from memory, sends them to a file; no real one does."""
    start = dict(core.auxiliary).get(_AT_SYSINFO_EHDR)
    return start is not None and b".gnu_debug" in core.memory(start, _LONGEST_VDSO)


def _loaded_names(core: CoreFile, program: bytes) -> dict[str, int]:
    """The names in the loader's lists with the addresses of the files; `program` is the first page of its file."""
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
    """The address of the loader's lists."""
    table = core.memory(dynamic, _ENTRY * _MOST_ENTRIES)
    for tag, value in struct.iter_unpack("<QQ", table[: len(table) // _ENTRY * _ENTRY]):
        if tag == _DT_DEBUG:
            return int(value)
        if tag == 0:
            break
    return 0


def _list_at(core: CoreFile, address: int) -> tuple[int, int, int]:
    """The version of a list, its first library, and the next list."""
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
