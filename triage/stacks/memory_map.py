"""Which file or stack an address of a process belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

# The kernel keeps this much free below the main stack; a pointer into it has run off the end of the stack.
_GUARD_GAP = 1 << 20


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
        """The address of a file's first byte, also where that byte itself is not mapped."""
        return self._bases.get(path)

    def stack(self, pointer: int) -> tuple[Region, bool] | None:
        """The stack that a pointer is on, or has just run off, and whether it is the main thread's."""
        main = self.main_stack
        if main and main.start - _GUARD_GAP <= pointer < main.end:
            return main, True
        number = bisect_right(self._starts, pointer) - 1
        if number < 0:
            return None
        found, above = self.regions[number], self.regions[number + 1 : number + 2]
        if _is_guard(found) and pointer < found.end:  # it ran into the guard page, right below the stack
            return (above[0], False) if above and above[0].start == found.end else None
        below = self.regions[number - 1] if number else None
        if pointer < found.end and below and below.end == found.start and _is_guard(below):
            return found, False
        return None  # the C library did not make this stack: how far it may grow is unknown


def _is_guard(region: Region) -> bool:
    return not set(region.permissions) & set("rwx") and region.path is None
