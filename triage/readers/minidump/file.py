"""The file of a minidump, mapped and never loaded: header, directory, streams, strings, each checked against its end.

Nothing in here raises over a broken part: what can't be read becomes a note, and reading goes on. Only a file that is
not a minidump at all is refused.
"""

from __future__ import annotations

import mmap
import os
import struct
from types import TracebackType
from typing import NamedTuple

_HEADER = struct.Struct("<4sIIIIIQ")
_ENTRY = struct.Struct("<III")
_COUNT = struct.Struct("<I")
_FULL_MEMORY = 0x2
# Real dumps have a dozen or two; a broken header may claim billions.
_MOST_STREAMS = 512
_LONGEST_STREAM = 32 << 20
_LONGEST_STRING = 8 << 10
_ALL_STRINGS = 8 << 20
_MOST_NOTES = 40

THREADS, MODULES, MEMORY, EXCEPTION, SYSTEM, MEMORY64 = 3, 4, 5, 6, 7, 9
COMMENT, WIDE_COMMENT, HANDLES, UNLOADED, MISC = 10, 11, 12, 14, 15
REGIONS, THREAD_INFO, SYSTEM_MEMORY, COUNTERS, THREAD_NAMES = 16, 17, 21, 22, 24
ASSERTION = 0x47670002
CPU_INFO, PROC_STATUS, RELEASE, COMMAND_LINE, MAPS = 0x47670003, 0x47670004, 0x47670005, 0x47670006, 0x47670009
NAMES = {
    THREADS: "thread list",
    MODULES: "module list",
    MEMORY: "memory list",
    EXCEPTION: "exception",
    SYSTEM: "system information",
    MEMORY64: "full memory list",
    COMMENT: "comment",
    WIDE_COMMENT: "comment",
    HANDLES: "handle list",
    UNLOADED: "list of unloaded modules",
    MISC: "process information",
    REGIONS: "memory map",
    THREAD_INFO: "thread information",
    SYSTEM_MEMORY: "system memory figures",
    COUNTERS: "memory counters",
    THREAD_NAMES: "thread names",
    MAPS: "memory map",
}
# Without any of these nothing is known about a process.
_TELLING = {THREADS, MODULES, MEMORY, EXCEPTION, SYSTEM, MEMORY64, MISC}


class NotAMinidump(ValueError):
    """The file is not a minidump; the text says why in a few words."""


class Extent(NamedTuple):
    """Where a part of the file is, and how long it claims to be."""

    offset: int
    size: int


class DumpFile:
    """A minidump that is open while the `with` block runs. `notes` says what is wrong with it, in plain words."""

    def __init__(self, path: str) -> None:
        self.notes: list[str] = []
        self.broken: set[int] = set()
        self._strings_left = _ALL_STRINGS
        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size < _HEADER.size:
                raise NotAMinidump(f"it ends after {self.size} bytes, before its header does")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, _, count, directory, _, self.taken, self.flags = _HEADER.unpack_from(self._bytes)
        if magic != b"MDMP":
            self._bytes.close()
            raise NotAMinidump("it does not begin as one")
        try:
            self.streams: dict[int, Extent] = self._directory(count, directory)
        except NotAMinidump:
            self._bytes.close()
            raise

    def __enter__(self) -> DumpFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bytes.close()

    @property
    def has_full_memory(self) -> bool:
        """Whether it was meant to hold all memory of the process."""
        return bool(self.flags & _FULL_MEMORY)

    def note(self, text: str, stream: int | None = None) -> None:
        """Remember what is wrong; `stream` is the one that may not be whole."""
        if stream is not None:
            self.broken.add(stream)
        if len(self.notes) < _MOST_NOTES and text not in self.notes:
            self.notes.append(text)

    def at(self, offset: int, size: int) -> bytes:
        """The bytes at an offset; fewer, or none, if the file ends before."""
        if offset < 0 or size <= 0 or offset >= self.size:
            return b""
        return self._bytes[offset : min(offset + size, self.size)]

    def stream(self, kind: int, most: int = _LONGEST_STREAM) -> bytes:
        """The bytes of a stream, as many as are there; empty without one."""
        extent = self.streams.get(kind)
        if extent is None:
            return b""
        data = self.at(extent.offset, min(extent.size, most))
        if len(data) < min(extent.size, most):
            self.note(f"the {_name(kind)} is cut off: {len(data):,} of {extent.size:,} bytes are there", kind)
        elif extent.size > most:
            self.note(f"the {_name(kind)} has {extent.size:,} bytes, of which {most:,} were read", kind)
        return data

    def records(self, kind: int, layout: struct.Struct, most: int) -> list[tuple[int, ...]]:
        """The entries of a stream that begins with their number; no more than it has room for."""
        data = self.stream(kind)
        if len(data) < _COUNT.size:
            return []
        (count,) = _COUNT.unpack_from(data)
        # Some writers align the first entry to eight bytes.
        start = 8 if 8 + count * layout.size == len(data) else 4
        count = self.fitting(kind, count, len(data) - start, layout.size, most)
        return list(layout.iter_unpack(data[start : start + count * layout.size]))

    def headed_records(self, kind: int, layout: struct.Struct, most: int) -> list[tuple[int, ...]]:
        """The entries of a stream that begins with the sizes of its head and of an entry."""
        data = self.stream(kind)
        if len(data) < 12:
            return []
        head, each, count = struct.unpack_from("<III", data)
        if kind == REGIONS and len(data) >= 16:
            (count,) = struct.unpack_from("<Q", data, 8)
        if each < layout.size or not 12 <= head <= len(data):
            self.note(f"the {_name(kind)} has entries of {each} bytes, which can't be", kind)
            return []
        count = self.fitting(kind, count, len(data) - head, each, most)
        return [layout.unpack_from(data, head + number * each) for number in range(count)]

    def fitting(self, kind: int, count: int, room: int, each: int, most: int) -> int:
        """How many entries can be believed: no more than the stream has room for, and no more than we read."""
        fits = max(0, room // each)
        if count > fits:
            self.note(f"the {_name(kind)} claims {count:,} entries and has room for {fits:,}", kind)
        if min(count, fits) > most:
            self.note(f"the {_name(kind)} has {min(count, fits):,} entries, of which {most:,} were read", kind)
        return min(count, fits, most)

    def string(self, offset: int) -> str:
        """The text at an offset: its length in bytes, then UTF-16."""
        head = self.at(offset, _COUNT.size)
        if offset == 0 or len(head) < _COUNT.size or self._strings_left <= 0:
            return ""
        (length,) = _COUNT.unpack(head)
        data = self.at(offset + _COUNT.size, min(length, _LONGEST_STRING))
        self._strings_left -= len(data)
        if length > len(data):
            self.note(f"a text at offset 0x{offset:x} claims {length:,} bytes and was cut")
        return clean(data.decode("utf-16-le", "replace"))

    def _directory(self, count: int, offset: int) -> dict[int, Extent]:
        if count > _MOST_STREAMS:
            self.note(f"the header claims {count:,} streams; {_MOST_STREAMS} were looked for")
        data = self.at(offset, min(count, _MOST_STREAMS) * _ENTRY.size)
        whole = len(data) // _ENTRY.size
        if whole < min(count, _MOST_STREAMS):
            self.note(f"the directory is cut off: {whole} of {count:,} streams are listed")
        found: dict[int, Extent] = {}
        for kind, size, start in _ENTRY.iter_unpack(data[: whole * _ENTRY.size]):
            if kind == 0:
                continue
            if kind in found:
                self.note(f"there are two streams of the same kind ({_name(kind)}); the first was read")
            elif start >= self.size and size:
                self.note(f"the {_name(kind)} lies beyond the end of the file", kind)
            else:
                found[kind] = Extent(start, size)
        if not _TELLING & found.keys():
            raise NotAMinidump("its directory lists nothing that could be read")
        return found


def clean(text: str) -> str:
    """A text of a dump up to its NUL, without lone surrogates, which cannot be printed."""
    text = text.partition("\0")[0]
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def _name(kind: int) -> str:
    return NAMES.get(kind, f"stream 0x{kind:x}")
