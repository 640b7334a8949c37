"""PE images and memory made by hand, for what no compiler here would write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from triage.readers.minidump.pe import Image
from triage.readers.minidump.streams import Module

X64, X86, ARM64 = 0x8664, 0x14C, 0xAA64
CODE, DATA, TABLE, UNWIND = 0x1000, 0x2000, 0x3000, 0x4000
SIZE = 0x5000
BASE = 0x1_8000_0000
STACK = 0x20_0000
TIMESTAMP = 0x5EED_0001


class FakeMemory:
    """Memory in pieces by address."""

    def __init__(self, pieces: Mapping[int, bytes]) -> None:
        self.pieces = dict(pieces)

    def read(self, address: int, size: int) -> bytes:
        """What the piece that holds the address has."""
        for start, data in self.pieces.items():
            if start <= address < start + len(data):
                return data[address - start : address - start + size]
        return b""


class FakeImages:
    """Finds the one image that there is."""

    def __init__(self, image: Image | None) -> None:
        self._image = image

    def image(self, module: Module) -> Image | None:
        """The image."""
        return self._image


def words(*values: int) -> bytes:
    """A stack of 64-bit words."""
    return struct.pack(f"<{len(values)}Q", *values)


def unwind_info(
    *slots: int, prolog: int = 0, version: int = 1, flags: int = 0, frame: int = 0, parent: Sequence[int] = ()
) -> bytes:
    """Unwind data: 16-bit slots, each a code or an operand; `parent` is the entry that it is chained to."""
    head = bytes([version | flags << 3, prolog, len(slots), frame])
    padded = [*slots, 0] if len(slots) % 2 else [*slots]
    return head + struct.pack(f"<{len(padded)}H", *padded) + (struct.pack("<III", *parent) if parent else b"")


def code(at: int, operation: int, info: int = 0) -> int:
    """One slot: the offset in the prolog, the operation and its small operand."""
    return at | (operation | info << 4) << 8


def make_pe(
    text: bytes = b"",
    functions: Sequence[tuple[int, int, bytes]] = (),
    exports: Mapping[str, int] | None = None,
    machine: int = X64,
    timestamp: int = TIMESTAMP,
) -> bytes:
    """The file of an image; each function has where it begins, where it ends and its unwind data."""
    table, unwind = b"", b""
    for begin, end, data in functions:
        table += struct.pack("<III", begin, end, UNWIND + len(unwind))
        unwind += data + bytes(-len(data) % 4)
    data, directories = _data(exports or {})
    directories[3] = (TABLE, len(table)) if table else (0, 0)
    sections = (
        (CODE, text, 0x60000020),
        (DATA, data, 0x40000040),
        (TABLE, table, 0x40000040),
        (UNWIND, unwind, 0x40000040),
    )
    headers, bodies = b"", b""
    for rva, body, flags in sections:
        padded = body + bytes(-len(body) % 0x200)
        headers += struct.pack("<8sIIIIIIHHI", b".s", 0x1000, rva, len(padded), 0x400 + len(bodies), 0, 0, 0, 0, flags)
        bodies += padded
    wide = machine != X86
    optional = struct.pack("<H", 0x20B if wide else 0x10B).ljust(56, b"\0") + struct.pack("<III", SIZE, 0x400, 0xC0FFEE)
    optional = optional.ljust(108 if wide else 92, b"\0") + struct.pack("<I", 16)
    optional += b"".join(struct.pack("<II", *directory) for directory in directories)
    start = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    header = b"PE\0\0" + struct.pack("<HHIIIHH", machine, len(sections), timestamp, 0, 0, len(optional), 0x22)
    return (start + header + optional + headers).ljust(0x400, b"\0") + bodies


def as_loaded(file: bytes) -> bytes:
    """A file as the loader maps it into memory."""
    loaded = bytearray(SIZE)
    loaded[:0x400] = file[:0x400]
    count = struct.unpack_from("<H", file, 0x46)[0]
    first = 0x58 + struct.unpack_from("<H", file, 0x54)[0]
    for at in range(first, first + 40 * count, 40):
        rva, size, offset = struct.unpack_from("<III", file, at + 12)
        loaded[rva : rva + size] = file[offset : offset + size]
    return bytes(loaded[:SIZE])


def _data(exports: Mapping[str, int]) -> tuple[bytes, list[tuple[int, int]]]:
    directories = [(0, 0)] * 16
    texts = b""
    names = {}
    for name in exports:
        names[name] = DATA + 0x400 + len(texts)
        texts += name.encode() + b"\0"
    addresses = struct.pack(f"<{len(exports)}I", *exports.values())
    pointers = struct.pack(f"<{len(exports)}I", *(names[name] for name in exports))
    ordinals = struct.pack(f"<{len(exports)}H", *range(len(exports)))
    at = DATA + 40
    places = (at, at + len(addresses), at + len(addresses) + len(pointers))
    table = bytes(20) + struct.pack("<5I", len(exports), len(exports), *places) + addresses + pointers + ordinals
    if exports:
        directories[0] = (DATA, len(table))
    return table.ljust(0x400, b"\0") + texts, directories
