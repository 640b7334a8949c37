"""The libraries of a process in gdb: only those that own a frame are loaded, and of huge ones only what unwinds."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping

from triage.stacks.gdb_session import Gdb, GdbFailed
from triage.stacks.memory_map import MemoryMap

# gdb reads all symbols of a library; for one of this size and more that takes longer than a person waits.
_HUGE = 40 << 20
# gdb takes a pattern of its own dialect; a dot stands for any character in all of them.
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


class Modules:
    """What gdb has loaded so far. Stubs of huge libraries live in a private directory while the `with` block runs.

    `closed` are files that are not opened, `known` the loader's name of each file, where that need not be asked for.
    """

    def __init__(
        self,
        gdb: Gdb,
        map: MemoryMap,
        main: str | None = None,
        closed: Collection[str] = (),
        known: Mapping[str, str] | None = None,
    ) -> None:
        self.map = map
        self.huge: set[str] = set()
        self._gdb = gdb
        self._tried = {*((main,) if main else ()), *closed}
        self._known = known
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove the stubs."""
        if self._directory:
            self._directory.cleanup()

    def load_for(self, addresses: Iterable[int]) -> bool:
        """Load the libraries around some addresses; whether any was new."""
        wanted = {self.map.module_at(address) for address in addresses}
        new = [path for path in wanted if path and path not in self._tried]
        for path in new:
            self._tried.add(path)
            self._load(path)
        return bool(new)

    def _load(self, path: str) -> None:
        try:
            size = os.path.getsize(path)
            if size >= _HUGE:
                self._load_stub(path)
            else:
                # gdb knows a library by the name that the loader used, the memory map by its real path
                name = os.path.basename(self._names().get(path, path))
                pattern = _UNSAFE.sub(".", name)
                self._gdb.console(f"sharedlibrary {pattern}$", seconds=20)
        except (OSError, ValueError):
            pass  # not on this machine any more, or not an ELF file: the unwinder has to do without
        except GdbFailed as failure:
            if str(failure) in ("timeout", "ended"):
                raise

    def _load_stub(self, path: str) -> None:
        from triage.stacks.unwind_stub import write_stub

        self._directory = self._directory or tempfile.TemporaryDirectory(prefix="triage-")
        stub = os.path.join(self._directory.name, f"{len(self._tried)}.so")
        write_stub(path, stub)
        base = self.map.base(path)
        if base is not None:
            self._gdb.console(f"add-symbol-file {stub} -o 0x{base:x}", seconds=20)
            self.huge.add(path)

    def _names(self) -> Mapping[str, str]:
        if self._known is None:
            told = self._gdb.ask("-file-list-shared-libraries").get("shared-libraries", ())
            names = [str(library.get("host-name", "")) for library in told if isinstance(library, dict)]
            self._known = {os.path.realpath(name): name for name in names if name}
        return self._known
