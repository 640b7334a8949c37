"""Dumps to break, and the ways in which they are broken; the same seed and number give the same bytes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

from minidumps import (
    COMMIT,
    CPU_INFO,
    FULL_MEMORY,
    LINUX,
    MACOS,
    PROC_STATUS,
    PUBLIC,
    DumpBuilder,
    tensorflow_dump,
)

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dumps"
# Larger ones are mostly memory, where a changed bit changes nothing.
_LARGEST = 4 << 20
_ABSURD = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000000, 1_000_000, 65_536, 0)
_LISTS_WITH_HEAD = {12, 14, 16, 17}
_LISTS = {3, 4, 5, 9, 24} | _LISTS_WITH_HEAD


def originals(more: str | None = None) -> list[tuple[str, bytes]]:
    """Every dump that is at hand, real ones first, and built ones for what those lack; `more` is a further folder."""
    folders = [_FIXTURES, PUBLIC, *([Path(more)] if more else [])]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.dmp"))]
    real = [(path.name, path.read_bytes()) for path in paths if path.stat().st_size <= _LARGEST]
    return real + [(f"built {name}", builder.build()) for name, builder in _built().items()]


def _built() -> dict[str, DumpBuilder]:
    rich = tensorflow_dump(0xC0000005, (1, 0x500010)).region(0x500000, 0x1000, COMMIT, 0x104).comment("a comment")
    for number in range(40):
        rich.handle("File", f"name {number}").unloaded(f"gone{number}.dll", 0x600000 + (number << 16))
    rich.memory(0x10F000, bytes(range(256)) * 8)
    full = DumpBuilder(flags=FULL_MEMORY).module("python.exe", 0x400000).thread(1, {"rip": 0x400010, "rsp": 0x1000})
    for number in range(64):
        full.memory(0x1000 * (number + 1), bytes([number]) * 512)
    full.exception(0xC0000374, 0x400010)
    linux = DumpBuilder(platform=LINUX).module("/usr/lib/libc.so.6", 0x1000).thread(1, {"rip": 0x1010}).exception(11)
    linux.streams[PROC_STATUS], linux.streams[CPU_INFO] = b"Pid:\t7\nVmHWM:\t 9 kB\n", b"flags\t: avx avx2\n"
    mac = DumpBuilder("arm64", MACOS).module("/usr/lib/libc++.dylib", 0x1000).thread(1, {"pc": 0x1010}).exception(10)
    x86 = DumpBuilder("x86").module("a.exe", 0x400000).thread(1, {"eip": 0x400010, "esp": 0x1000, "ebp": 0x1010})
    x86.memory(0x1000, struct.pack("<64I", *range(0x400000, 0x400040))).exception(0xC00000FD, 0x400010, (1, 0x1000))
    return {"rich": rich, "full": full, "linux": linux, "mac": mac, "x86": x86}


def mutation(number: int, seed: int, dumps: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """The broken dump with this number, and what was done to it."""
    chance = random.Random(seed * 1_000_003 + number)
    name, original = dumps[chance.randrange(len(dumps))]
    way, change = chance.choice(_WAYS)
    data = bytearray(original)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if len(data) > 32:
            data = change(data, chance)
    return f"{way} in {name}", bytes(data)


def _streams(data: bytearray) -> list[tuple[int, int, int, int]]:
    """The offset of each entry of the directory, and its kind, size and place, if they are in the file."""
    count, directory = struct.unpack_from("<II", data, 8)
    found = []
    for number in range(min(count, 64)):
        entry = directory + 12 * number
        if entry + 12 <= len(data):
            kind, size, offset = struct.unpack_from("<III", data, entry)
            if offset + 16 <= len(data) and size >= 16:
                found.append((entry, kind, size, offset))
    return found


def _cut(data: bytearray, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data))]


def _flip(data: bytearray, chance: random.Random) -> bytearray:
    bit = chance.randrange(len(data) * 8)
    data[bit // 8] ^= 1 << bit % 8
    return data


def _flip_in_front(data: bytearray, chance: random.Random) -> bytearray:
    for _ in range(8):
        bit = chance.randrange(min(len(data), 8192) * 8)
        data[bit // 8] ^= 1 << bit % 8
    return data


def _count(data: bytearray, chance: random.Random) -> bytearray:
    lists = [stream for stream in _streams(data) if stream[1] in _LISTS]
    if lists:
        _, kind, _, offset = chance.choice(lists)
        at = offset + (chance.choice((0, 4, 8)) if kind in _LISTS_WITH_HEAD else 0)
        struct.pack_into("<I", data, at, chance.choice(_ABSURD))
    return data


def _directory(data: bytearray, chance: random.Random) -> bytearray:
    if streams := _streams(data):
        entry = chance.choice(streams)[0]
        value = chance.choice((*_ABSURD, len(data) - 1, len(data) // 2, 3, 4, 6, 9, 12, 16, 0xFFF0, 0x8001))
        struct.pack_into("<I", data, entry + chance.choice((0, 4, 8)), value)
    return data


def _header(data: bytearray, chance: random.Random) -> bytearray:
    struct.pack_into("<I", data, chance.choice((8, 12, 24)), chance.choice((*_ABSURD, 32, len(data) - 4)))
    return data


def _zeros(data: bytearray, chance: random.Random) -> bytearray:
    start = chance.randrange(len(data))
    stop = min(len(data), start + chance.randrange(1, 4096))
    data[start:stop] = bytes(stop - start)
    return data


def _numbers(data: bytearray, chance: random.Random) -> bytearray:
    """Numbers inside a stream: addresses, sizes, offsets of texts and contexts."""
    if streams := _streams(data):
        _, _, size, offset = chance.choice(streams)
        for _ in range(4):
            at = offset + 4 * chance.randrange(max(1, min(size, len(data) - offset) // 4))
            if at + 4 <= len(data):
                value = chance.choice((*_ABSURD, chance.randrange(1 << 32), chance.randrange(len(data)), offset))
                struct.pack_into("<I", data, at, value)
    return data


def _doubled(data: bytearray, chance: random.Random) -> bytearray:
    start = chance.randrange(len(data))
    return data[:start] + data[start : start + chance.randrange(1, 2048)] + data[start:]


_WAYS: tuple[tuple[str, Callable[[bytearray, random.Random], bytearray]], ...] = (
    ("cut off", _cut),
    ("bit flipped", _flip),
    ("bits flipped in front", _flip_in_front),
    ("absurd count", _count),
    ("directory", _directory),
    ("header", _header),
    ("zeros", _zeros),
    ("numbers", _numbers),
    ("part doubled", _doubled),
)
