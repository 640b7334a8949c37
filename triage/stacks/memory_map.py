"""Which file or stack an address of a process belongs to."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

# The kernel keeps this much free below the main stack; a pointer in there has run off the stack's end.
_GUARD_GAP = 1 << 20
_DELETED = " (deleted)"


class Region(NamedTuple):
    """A range of addresses with its permissions (r, w, x or -) and, for a file, the path and the offset in it."""

    start: int
    end: int
    permissions: str = ""
    offset: int = 0
    path: str | None = None


class MemoryMap:
    """The regions of a process, sorted by address."""

    def __init__(self, regions: Iterable[Region], main_stack: Region | None = None) -> None:
        self.regions = sorted(regions)
        self.main_stack = main_stack or next((r for r in self.regions if r.path == "[stack]"), None)
        self._starts = [region.start for region in self.regions]
        self._bases: dict[str, int] = {}
        for region in self.regions:
            if region.path and region.path.startswith("/"):
                self._bases.setdefault(region.path, region.start - region.offset)

    def at(self, address: int) -> Region | None:
        """The region that holds an address."""
        number = bisect_right(self._starts, address) - 1
        region = self.regions[number] if number >= 0 else None
        return region if region and address < region.end else None

    def module_at(self, address: int) -> str | None:
        """The path of the file that was loaded around an address."""
        region = self.at(address)
        return region.path if region and region.path and region.path.startswith("/") else None

    def is_code(self, address: int) -> bool:
        """Whether code can run at an address."""
        region = self.at(address)
        return region is not None and "x" in region.permissions

    def base(self, path: str) -> int | None:
        """The address at which a file's first byte stands, or would stand."""
        return self._bases.get(path)

    def files(self) -> list[str]:
        """Every mapped file, once."""
        return list(self._bases)

    def stack(self, pointer: int) -> tuple[Region, bool] | None:
        """The stack that a pointer belongs to, also one it has just run off, and whether it is the main thread's."""
        main = self.main_stack
        if main and main.start - _GUARD_GAP <= pointer < main.end:
            return main, True
        number = bisect_right(self._starts, pointer) - 1
        if number < 0:
            return None
        found, above = self.regions[number], self.regions[number + 1 : number + 2]
        if _is_guard(found) and pointer < found.end:  # it ran into the guard page; the stack begins right above
            return (above[0], False) if above and above[0].start == found.end else None
        below = self.regions[number - 1] if number else None
        if pointer < found.end and below and below.end == found.start and _is_guard(below):
            return found, False
        return None  # not a stack of the C library's making: how large it may grow is unknown


def _is_guard(region: Region) -> bool:
    return not set(region.permissions) & set("rwx") and region.path is None


def of_process(pid: int) -> MemoryMap:
    """The map of a living process; raises OSError when it is gone or may not be looked at."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        return MemoryMap(_region(line) for line in file)


def _region(line: str) -> Region:
    fields = line.rstrip("\n").split(None, 5)
    start, end = (int(part, 16) for part in fields[0].split("-"))
    path = fields[5] if len(fields) > 5 else None
    return Region(start, end, fields[1].rstrip("ps"), int(fields[2], 16), path.removesuffix(_DELETED) if path else None)


def stack_limit(pid: int) -> int | None:
    """The soft limit of the main thread's stack, or None when there is none."""
    try:
        with open(f"/proc/{pid}/limits", encoding="ascii", errors="replace") as file:
            line = next((line for line in file if line.startswith("Max stack size")), "")
    except OSError:
        return None
    words = line.split()
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else None


def thread_names(pid: int) -> dict[int, str]:
    """The name of every thread of a living process by its number."""
    names = {}
    try:
        for entry in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{entry}/comm", encoding="utf-8", errors="replace") as file:
                names[int(entry)] = file.read().rstrip("\n")
    except OSError:
        pass  # it ended meanwhile: names are a nicety
    return names
