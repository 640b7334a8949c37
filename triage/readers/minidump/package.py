"""The handles that were open, by the `minidump` package, which knows both forms that an entry can have.

Only its parsers of the head and of an entry are used, on a list that was checked to fit. Its reader of whole files
refuses dumps with a stream it does not know, loops up to whatever count a broken file claims, and logs through the root
logger, which is the person's own where we are a library.
"""

from __future__ import annotations

import io
from collections import Counter

from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile

_MOST_HANDLES = 20_000
_HEAD_SIZE = 16
_ENTRY_SIZES = (32, 40)


def handles_of(dump: DumpFile) -> tuple[tuple[str, int], ...]:
    """How many handles of each type were open, most first."""
    extent = dump.streams.get(parts.HANDLES)
    head = dump.at(extent.offset, _HEAD_SIZE) if extent else b""
    if extent is None or len(head) < _HEAD_SIZE or extent.offset + extent.size > dump.size:
        return ()
    # Imported only here: it takes longer than reading a small dump.
    from minidump.streams import HandleDataStream as package

    told = package.MINIDUMP_HANDLE_DATA_STREAM.parse(io.BytesIO(head))
    each, count = told.SizeOfDescriptor, told.NumberOfDescriptors
    if told.SizeOfHeader != _HEAD_SIZE or each not in _ENTRY_SIZES:
        dump.note(f"the handle list has entries of {each} bytes, which can't be", parts.HANDLES)
        return ()
    if dump.fitting(parts.HANDLES, count, extent.size - _HEAD_SIZE, each, _MOST_HANDLES) < count:
        return ()
    is_short = each == package.MINIDUMP_HANDLE_DESCRIPTOR.size
    entry = package.MINIDUMP_HANDLE_DESCRIPTOR if is_short else package.MINIDUMP_HANDLE_DESCRIPTOR_2
    entries = io.BytesIO(dump.at(extent.offset + _HEAD_SIZE, each * count))
    types = (dump.string(entry.parse(entries).TypeNameRva) for _ in range(count))
    return tuple(Counter(name or "of an unnamed type" for name in types).most_common())
