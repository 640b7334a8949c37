"""Compressed inputs: what is inside is read as if it had been given unpacked."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, cast

from triage.crash import Crash, Gap, Input, LeftOut
from triage.readers.interface import Reader, Stream, Unreadable
from triage.readers.magic import SNIFF_BYTES, Format, Packing, sniff

# Every file may unpack to this much; beyond that only as far as honest data compresses.
_ALWAYS = 4 << 30
_HONEST_RATIO = 100


class CompressedReader:
    """Unpacks as it reads. `reader_for` gives the reader for the format that is inside."""

    def __init__(self, packing: Packing, reader_for: Callable[[Format], Reader]) -> None:
        self._packing = packing
        self._reader_for = reader_for

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in what is inside; of a damaged file, in what comes before the damage."""
        unpacked = _Unpacked(self._packing, name, head, rest)
        inner = unpacked.read(SNIFF_BYTES)
        inside = sniff(inner)
        if unpacked.damage and not inner:
            raise Unreadable(f"{name} cannot be unpacked ({unpacked.damage}); copy it again, or give it unpacked.")
        if inside in ("gzip", "xz", "zstd"):
            raise Unreadable(f"{name} is compressed twice; unpack it once.")
        crash = self._reader_for(inside).read(name, input_id, inner, unpacked)
        if unpacked.damage is None:
            return crash
        inputs = tuple(_cut_off(entry) for entry in crash.inputs)
        note = f"{name} is damaged ({unpacked.damage}); what comes before the damage was read"
        return crash._replace(inputs=inputs, gaps=(Gap("input", "damaged", "copy-again", name, note), *crash.gaps))


def _cut_off(entry: Input) -> Input:
    """An input whose end is missing; how much is missing of a text is unknown."""
    return entry._replace(complete=False, left_out=LeftOut() if entry.kind == "log" else entry.left_out)


class _Unpacked:
    """The bytes inside a compressed stream; `damage` says in a few words why they ended too early."""

    def __init__(self, packing: Packing, name: str, head: bytes, rest: Stream) -> None:
        self.damage: str | None = None
        self._name = name
        self._packed = _Counted(head, rest)
        self._errors, self._file = _open(packing, self._packed)
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
            # read1, because a read that collects all of `size` would lose everything to an error at its end
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
    """The packed bytes as a file that can only be read forward, and how many have been read."""

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


def _open(packing: Packing, packed: _Counted) -> tuple[tuple[type[Exception], ...], io.BufferedIOBase]:
    """The unpacked file, and what its module raises on damaged data."""
    file = cast(BinaryIO, packed)
    if packing == "gzip":
        import gzip

        return (zlib.error, gzip.BadGzipFile), gzip.GzipFile(fileobj=file, mode="rb")
    if packing == "xz":
        import lzma

        return (lzma.LZMAError,), lzma.LZMAFile(file)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14 and newer
    except ImportError:
        from backports import zstd
    return (zstd.ZstdError,), zstd.ZstdFile(file)
