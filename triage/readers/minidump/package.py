"""The `minidump` package behind a guard: what it reads right is taken from it, and it can neither hang nor refuse.

Left alone it picks the registers of the thread instead of the exception's, refuses every dump with a stream that it
does not know, and loops up to whatever count a broken file claims. So contexts, modules, threads, memory and the
figures come from our own reader, which needs them checked anyway. The package reads the list of open handles, whose
layout has two forms that it knows. It sees a small file of our making, a header and one stream that was checked; it
may read only so much, and where it raises anything our own reader counts the handles.
"""

from __future__ import annotations

import logging
import struct
from collections import Counter
from typing import Any

from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile, clean

_MOST_HANDLES = 20_000
# Every handle is seven reads and its names; more than this is a loop.
_MOST_READS = 1_000_000
_MOST_BYTES = 32 << 20
_HEAD = struct.Struct("<4sIIIIIQ")
_HANDLE = struct.Struct("<QIIIIII")
_HANDLE_SIZES = (32, 40)


class _TooMuch(Exception):
    """The package wanted to read more than any honest stream needs."""


class _OneStream:
    """The dump as a file whose directory, laid behind its end, lists one stream only."""

    def __init__(self, dump: DumpFile, kind: int) -> None:
        self._dump = dump
        self._position = 0
        self._reads = self._bytes = 0
        extent = dump.streams[kind]
        self._head = _HEAD.pack(b"MDMP", 0xA793, 1, dump.size, 0, 0, 0)
        self._tail = struct.pack("<III", kind, extent.size, extent.offset)

    def seek(self, offset: int, whence: int = 0) -> int:
        """The package only ever seeks from the start."""
        self._position = offset if whence == 0 else self._position + offset
        return self._position

    def tell(self) -> int:
        """Where the next read begins."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """The bytes of the header that we made, of the dump, or of our directory."""
        self._reads += 1
        if size < 0 or self._reads > _MOST_READS or self._bytes > _MOST_BYTES:
            raise _TooMuch
        start = self._position
        if start < _HEAD.size:
            data = self._head[start : start + size]
        elif start >= self._dump.size:
            data = self._tail[start - self._dump.size :][:size]
        else:
            data = self._dump.at(start, min(size, _MOST_BYTES))
        self._position += len(data)
        self._bytes += len(data)
        return data


def handles_of(dump: DumpFile) -> tuple[tuple[str, int], ...]:
    """How many handles of each type were open, most first."""
    if not _is_sound(dump):
        return ()
    handles = getattr(_parse(dump, parts.HANDLES), "handles", None)
    if handles is not None:
        types = [clean(handle.TypeName or "") for handle in handles.handles]
    else:
        types = [dump.string(record[1]) for record in dump.headed_records(parts.HANDLES, _HANDLE, _MOST_HANDLES)]
    return tuple(Counter(name or "of an unnamed type" for name in types).most_common())


def _is_sound(dump: DumpFile) -> bool:
    """Whether the head of the handle list fits the room that it has."""
    extent = dump.streams.get(parts.HANDLES)
    head = dump.at(extent.offset, 16) if extent else b""
    if extent is None or len(head) < 16 or extent.offset + extent.size > dump.size:
        return False
    start, each, count, _ = struct.unpack("<IIII", head)
    if start != len(head) or each not in _HANDLE_SIZES:
        dump.note(f"the handle list has entries of {each} bytes, which can't be", parts.HANDLES)
        return False
    return bool(dump.fitting(parts.HANDLES, count, extent.size - start, each, _MOST_HANDLES) == count)


def _parse(dump: DumpFile, kind: int) -> Any:
    # It logs through the root logger, which is the person's own where we are used as a library.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        from minidump.minidumpfile import MinidumpFile  # takes longer to import than a small dump to read

        return MinidumpFile.parse_external(_OneStream(dump, kind))
    except Exception as error:  # it raises whatever the broken bytes bring about
        dump.note(f"the {parts.NAMES[kind]} is damaged ({type(error).__name__})", kind)
        return None
    finally:
        logging.disable(before)
