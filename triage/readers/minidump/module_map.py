"""Which module an address belongs to, found by halving: a scan of a stack asks thousands of times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from triage.readers.minidump.shapes import Module


class ModuleMap:
    """The modules of a process by address."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = sorted((module for module in modules if module.size > 0), key=lambda module: module.base)
        self._starts = [module.base for module in self._modules]

    def at(self, address: int) -> Module | None:
        """The module that holds an address."""
        index = bisect_right(self._starts, address) - 1
        return self._modules[index] if index >= 0 and self._modules[index].holds(address) else None
