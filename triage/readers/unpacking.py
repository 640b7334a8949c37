"""Compressed inputs, told from their content: what is inside is read as if it had been given unpacked."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, cast

from triage.crash import Crash, Gap, Input, LeftOut
from triage.readers.interface import Reader, Stream, Unreadable
from triage.readers.sniffing import PACKED, SNIFF_BYTES, sniff

# A file may unpack to this much in any case; beyond it only as far as honest data compresses.
_ALWAYS = 4 << 30
_HONEST_RATIO = 100


class PackedReader:
    """Unpacks as it reads. `reader_for` gives the reader for the kind of bytes that come out."""

    def __init__(self, kind: str, reader_for: Callable[[str], Reader]) -> None:
        self._kind = kind
        self._reader_for = reader_for

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in what is inside; where the packing is damaged, in what comes before that place."""
        unpacked = Unpacked(self._kind, name, head, rest)
        inner = unpacked.read(SNIFF_BYTES)
        kind = sniff(inner)
        if unpacked.damage and not inner:
            raise Unreadable(f"{name} cannot be unpacked ({unpacked.damage}); copy it again, or give it unpacked.")
        if kind in PACKED:
            raise Unreadable(f"{name} is compressed twice; unpack it once.")
        crash = self._reader_for(kind).read(name, input_id, inner, unpacked)
        if unpacked.damage is None:
            return crash
        inputs = tuple(_cut_off(entry) for entry in crash.inputs)
        note = f"{name} is damaged ({unpacked.damage}); what stands before was read"
        return crash._replace(inputs=inputs, gaps=(Gap("input", "damaged", "copy-again", name, note), *crash.gaps))


def _cut_off(entry: Input) -> Input:
    """An input whose end is missing; of a text nobody knows how much that is."""
    return entry._replace(complete=False, left_out=LeftOut() if entry.kind == "log" else entry.left_out)


class Unpacked:
    """The bytes inside a compressed stream; `damage` says in a few words why they ended before their time."""

    def __init__(self, kind: str, name: str, head: bytes, rest: Stream) -> None:
        self.damage: str | None = None
        self._name = name
        self._packed = _Counted(head, rest)
        self._errors, self._file = _open(kind, self._packed)
        self._given = 0

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, and fewer only at the end."""
        pieces = []
        wanted = size if size >= 0 else _ALWAYS
        while wanted > 0 and (piece := self._read_some(min(wanted, 1 << 20))):
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    def _read_some(self, size: int) -> bytes:
        if self.damage:
            return b""
        try:
            # read1: a read that goes on until it has enough would lose all of it to an error at its end
            piece = self._file.read1(size)
        except EOFError:
            self.damage = "its end is missing"
            return b""
        except self._errors as error:
            self.damage = " ".join(str(error).split()) or type(error).__name__
            return b""
        self._given += len(piece)
        if self._given > max(_ALWAYS, _HONEST_RATIO * self._packed.taken):
            size_in = self._packed.taken // 1024
            raise Unreadable(
                f"{self._name} unpacks to more than {self._given >> 30} GiB from {size_in:,} KiB, which no log and no "
                "core does; unpack it yourself if you trust it."
            )
        return piece


class _Counted(io.RawIOBase):
    """The packed bytes as a file that can only be read forward, and how many were taken."""

    def __init__(self, head: bytes, rest: Stream) -> None:
        super().__init__()
        self._head = io.BytesIO(head)
        self._rest = rest
        self.taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._head.read(size) or self._rest.read(size)
        self.taken += len(data)
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


def _open(kind: str, packed: _Counted) -> tuple[tuple[type[Exception], ...], io.BufferedIOBase]:
    """The unpacked file, and what its module raises over damaged data."""
    file = cast(BinaryIO, packed)
    if kind == "gzip":
        import gzip

        return (zlib.error, gzip.BadGzipFile), gzip.GzipFile(fileobj=file, mode="rb")
    if kind == "xz":
        import lzma

        return (lzma.LZMAError,), lzma.LZMAFile(file)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14 and newer
    except ImportError:
        from backports import zstd
    return (zstd.ZstdError,), zstd.ZstdFile(file)
