"""What format an input has, from its content and never from its name."""

from __future__ import annotations

from typing import Literal

Format = Literal[
    "log",
    "minidump",
    "kernel-dump",
    "core",
    "mac-core",
    "program",
    # compressed in a way that is read, or in another one
    "gzip",
    "xz",
    "zstd",
    "compressed",
    "document",
    "image",
    "binary",
]
Packing = Literal["gzip", "xz", "zstd"]
SNIFF_BYTES = 64 * 1024

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"MDMP", "minidump"),
    (b"PAGEDU", "kernel-dump"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "compressed"),
    (b"\x04\x22\x4d\x18", "compressed"),
    (b"7z\xbc\xaf\x27\x1c", "compressed"),
    (b"PK\x03\x04", "document"),
    (b"%PDF-", "document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document"),
    (b"\x89PNG\r\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
)
_ELF = b"\x7fELF"
_ELF_CORE = 4
_MACH = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
_MACH_CORE = 4
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Bytes that no text encoding of a log uses.
_CONTROLS = bytes(frozenset(range(32)) - frozenset(b"\t\n\r\x07\x08\x0b\x0c\x1b\x1a"))


def sniff(head: bytes) -> Format:
    """The format of an input from its first bytes."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head.startswith(_ELF):
        return "core" if _elf_type(head) == _ELF_CORE else "program"
    if head.startswith(_MACH):
        return "mac-core" if int.from_bytes(head[12:16], "little") == _MACH_CORE else "program"
    if head.startswith(_UTF16_MARKS) or utf16_without_mark(head):
        return "log"
    if not head:
        return "log"
    odd = len(head) - len(head.translate(None, _CONTROLS))
    return "binary" if odd > len(head) * 0.05 else "log"


def _elf_type(head: bytes) -> int:
    """The field that tells programs, libraries and cores apart, in the byte order of the file."""
    return int.from_bytes(head[16:18], "big" if head[5:6] == b"\x02" else "little")


def utf16_without_mark(head: bytes) -> str | None:
    """The UTF-16 codec for text without a byte-order mark: NUL in nearly every second byte, and only there."""
    if len(head) < 8:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None
