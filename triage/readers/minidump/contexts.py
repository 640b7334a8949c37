"""The registers of a thread, from the bytes that Windows, Breakpad or Crashpad stored of them."""

from __future__ import annotations

import struct

from triage.readers.minidump.streams import ReadContext, Registers

_X64 = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)), "rip")
_X86 = ("edi", "esi", "ebx", "edx", "ecx", "eax", "ebp", "eip")
_ARM64 = (*(f"x{number}" for number in range(29)), "fp", "lr", "sp", "pc")


def _x64(data: bytes) -> Registers:
    values = dict(zip(_X64, struct.unpack_from("<17Q", data, 0x78), strict=True))
    return Registers("x64", values["rip"], values["rsp"], values["rbp"], values)


def _x86(data: bytes) -> Registers:
    values = dict(zip(_X86, struct.unpack_from("<8I", data, 0x9C), strict=True))
    (values["esp"],) = struct.unpack_from("<I", data, 0xC4)
    return Registers("x86", values["eip"], values["esp"], values["ebp"], values)


def _arm64(data: bytes) -> Registers:
    values = dict(zip(_ARM64, struct.unpack_from("<33Q", data, 8), strict=True))
    return Registers("arm64", values["pc"], values["sp"], values["fp"], values)


CONTEXTS: dict[str, ReadContext] = {"x64": _x64, "x86": _x86, "arm64": _arm64}
