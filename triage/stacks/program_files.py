"""The program and the libraries that a core names: which of them are here, and are the ones that were loaded.

Whatever is not proven to be what the core had in memory is not handed to a debugger as if it were.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from triage.stacks.core_file import CoreFile, build_id_in
from triage.stacks.link_map import loaded_names
from triage.stacks.memory_map import Region
from triage.stacks.named_files import Look, NamedFiles

_ELF = b"\x7fELF"
_PAGE = 4096
_AT_PHDR, _AT_SYSINFO_EHDR = 3, 33
_LONGEST_VDSO = 1 << 16


class ProgramFiles(NamedTuple):
    """Files by the names of a core: those that may be used with their real paths, the others with what is wrong.

    `loaded_as` has the loader's name of each that may be used; `unproven` are used although the core does not hold
    which build was loaded. `is_crafted` says that what a debugger would open cannot be foretold.
    """

    usable: Mapping[str, str]
    loaded_as: Mapping[str, str]
    absent: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    is_crafted: bool = False

    @contextmanager
    def laid_out(self) -> Iterator[str]:
        """A folder in which the usable files stand under the core's names, and nothing else does."""
        with TemporaryDirectory(prefix="triage-") as folder:
            for name, real in self.usable.items():
                with suppress(OSError):  # a name that is also a folder of another one
                    os.makedirs(os.path.dirname(folder + name), exist_ok=True)
                    os.symlink(real, folder + name)
            yield folder


class _Mapped(NamedTuple):
    """A program file in memory: where its first byte stood, if that is told, and how long it must at least be.

    `shows` says that the core holds its beginning, by which debuggers know a program.
    """

    base: int | None
    reach: int
    shows: bool


def program_files(core: CoreFile, files: NamedFiles) -> ProgramFiles:
    """Judge every program file that a core names."""
    program = core.executable()
    loaded = loaded_names(core, files.look(program).head if program else b"")
    mapped = _mapped(core)
    if program:
        # Without a list of files there is still the table of the program's headers, which stands in its first page.
        mapped.setdefault(program, _Mapped(dict(core.auxiliary).get(_AT_PHDR, 0) // _PAGE * _PAGE, 0, shows=True))
    usable: dict[str, str] = {}
    said: dict[str, list[str]] = {"absent": [], "other": [], "unproven": []}
    for name, memory in {**{n: _Mapped(base, 0, True) for n, base in loaded.items()}, **mapped}.items():
        found = files.look(name)
        told = _judged(core, memory, found)
        if told in ("same", "unproven") and found.real:
            usable[name] = found.real
        if told in said and name in mapped:
            said[told].append(name)
    shown = [name for name, memory in mapped.items() if memory.shows]
    looks = {name: files.look(name) for name in (*loaded, *shown, *(f"{name} (deleted)" for name in shown))}
    return ProgramFiles(
        usable,
        {real: name for name, real in usable.items() if name in loaded},
        **{kind: tuple(names) for kind, names in said.items()},
        refused=tuple((name, look.why) for name, look in looks.items() if look.why),
        is_crafted=core.is_ambiguous or any(look.is_crafted for look in looks.values()) or _refers_elsewhere(core),
    )


def _mapped(core: CoreFile) -> dict[str, _Mapped]:
    """The files that hold code, or whose mapping begins as a program does; fonts and devices are not among them."""
    code = {segment.start for segment in core.segments if "x" in segment.permissions}
    by_path: dict[str, list[Region]] = {}
    for region in core.files:
        by_path.setdefault(region.path or "", []).append(region)
    found = {}
    for path, regions in by_path.items():
        shows = any(core.memory(region.start, 4) == _ELF for region in regions)
        if path and (shows or any(region.start in code for region in regions)):
            base = next((region.start for region in regions if region.offset == 0), None)
            found[path] = _Mapped(base, max(region.offset + region.end - region.start for region in regions), shows)
    return found


def _judged(core: CoreFile, memory: _Mapped, found: Look) -> Literal["same", "other", "absent", "unproven", "none"]:
    """By the build id; of a program that has none by its first page; where the core holds neither, by its length."""
    if found.real is None:
        return "absent" if memory.shows else "none"
    page = core.memory(memory.base, _PAGE) if memory.base is not None else b""
    if page[:4] == _ELF and (was := build_id_in(page)):
        return "same" if build_id_in(found.head) == was else "other"
    if page[:4] == _ELF:
        # behind the end of a file that is shorter than a page there are zeros
        return "same" if page == found.head.ljust(_PAGE, b"\0")[: len(page)] else "other"
    if found.head[:4] != _ELF:
        return "none"
    return "unproven" if -(-found.size // _PAGE) * _PAGE >= memory.reach else "other"


def _refers_elsewhere(core: CoreFile) -> bool:
    """Whether the kernel's own library, which debuggers read from memory, sends them to a file; no real one does."""
    start = dict(core.auxiliary).get(_AT_SYSINFO_EHDR)
    return start is not None and b".gnu_debug" in core.memory(start, _LONGEST_VDSO)
