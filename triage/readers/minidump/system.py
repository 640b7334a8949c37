"""What a dump says of the machine and of the process as a whole: system, processor, times, memory figures."""

from __future__ import annotations

import struct
from typing import NamedTuple

from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile, clean

_ARCHITECTURES = {0: "x86", 5: "arm", 9: "x64", 12: "arm64", 0x8003: "arm64"}
_SYSTEMS = {2: "windows", 0x8101: "macos", 0x8102: "ios", 0x8201: "linux", 0x8203: "android"}
_SYSTEM = struct.Struct("<HHHBBIIIIIHH")
_MISC = struct.Struct("<6I")
_HAS_ID, _HAS_TIMES = 1, 2
_HAS_BUILD = 0x100
_BUILD_AT, _BUILD_BYTES = 232, 520
_LONGEST_COMMENT = 64 << 10


class System(NamedTuple):
    """The machine. `os` is windows, linux, macos, android or ios; `version` is written as that system writes it."""

    os: str | None = None
    version: str | None = None
    architecture: str | None = None
    cpu: str | None = None
    processors: int | None = None


class ProcessTimes(NamedTuple):
    """Who it was and how long it ran; `build` is the full name of the Windows build."""

    pid: int | None = None
    started: int | None = None
    user_seconds: int | None = None
    kernel_seconds: int | None = None
    build: str | None = None


class MemoryFigures(NamedTuple):
    """Bytes: the most that the process used, and what the machine could promise to all of them together."""

    peak: int | None = None
    private: int | None = None
    physical: int | None = None
    available: int | None = None
    commit_limit: int | None = None


def system_of(dump: DumpFile) -> System:
    """The machine that the dump was written on."""
    data = dump.stream(parts.SYSTEM, 256)
    if len(data) < _SYSTEM.size:
        if parts.SYSTEM in dump.streams:
            dump.note("the system information is too short to be read", parts.SYSTEM)
        return System()
    code, level, revision, processors, _, major, minor, build, platform, more, *_ = _SYSTEM.unpack_from(data)
    architecture = _ARCHITECTURES.get(code)
    if architecture is None:
        dump.note(f"the processor is of a kind that is not known here (0x{code:x})")
    system = _SYSTEMS.get(platform)
    if system is None:
        dump.note(f"the system is of a kind that is not known here (0x{platform:x})")
    version = f"{major}.{minor}.{build}" if (major, minor, build) != (0, 0, 0) else None
    extra = dump.string(more).strip()
    told = _kernel(version, extra) if system in ("linux", "android") else f"{version or ''} {extra}".strip()
    return System(system, told or None, architecture, _cpu(data, code, level, revision), processors or None)


def times_of(dump: DumpFile) -> ProcessTimes:
    """The process's number and times, as far as they were stored."""
    data = dump.stream(parts.MISC, 2048)
    if len(data) < _MISC.size:
        return ProcessTimes()
    _, flags, pid, started, user, kernel = _MISC.unpack_from(data)
    build = None
    if flags & _HAS_BUILD and len(data) >= _BUILD_AT + _BUILD_BYTES:
        build = clean(data[_BUILD_AT : _BUILD_AT + _BUILD_BYTES].decode("utf-16-le", "replace")).strip() or None
    timed = bool(flags & _HAS_TIMES)
    return ProcessTimes(
        pid if flags & _HAS_ID else None,
        started if timed and started else None,
        user if timed else None,
        kernel if timed else None,
        build,
    )


def figures_of(dump: DumpFile) -> MemoryFigures:
    """Peak and limits, where the dump has the counters of the process and of the machine."""
    peak = private = physical = available = limit = None
    counters = dump.stream(parts.COUNTERS, 256)
    if len(counters) >= 72:
        # Commit, not the working set: that is what Windows refuses when there is no more.
        (peak,) = struct.unpack_from("<Q", counters, 64)
        (private,) = struct.unpack_from("<Q", counters, 56)
    machine = dump.stream(parts.SYSTEM_MEMORY, 1024)
    if len(machine) >= 148:
        page, pages = struct.unpack_from("<II", machine, 8)
        free, _, most, _ = struct.unpack_from("<4Q", machine, 116)
        if page in (4096, 8192, 16384, 65536):
            physical, available, limit = pages * page, free * page, most * page
        else:
            dump.note("the system memory figures make no sense", parts.SYSTEM_MEMORY)
    return MemoryFigures(peak or None, private or None, physical or None, available or None, limit or None)


def comments_of(dump: DumpFile) -> tuple[str, ...]:
    """What the writer of the dump, or the person who asked for it, wrote into it."""
    plain = dump.stream(parts.COMMENT, _LONGEST_COMMENT).decode("utf-8", "replace")
    wide = dump.stream(parts.WIDE_COMMENT, _LONGEST_COMMENT).decode("utf-16-le", "replace")
    return tuple(dict.fromkeys(text for text in (clean(plain).strip(), clean(wide).strip()) if text))


def assertion_of(dump: DumpFile) -> str | None:
    """What a C runtime's check or a pure virtual call said, where Breakpad's handler stored it."""
    data = dump.stream(parts.ASSERTION, 1024)
    if len(data) < 776:
        return None
    expression, function, file = (
        clean(data[start : start + 256].decode("utf-16-le", "replace")) for start in (0, 256, 512)
    )
    line, kind = struct.unpack_from("<II", data, 768)
    what = {1: "invalid parameter", 2: "pure virtual function call"}.get(kind, "assertion failed")
    where = ", ".join(part for part in (function, f"{file}:{line}" if file else "") if part)
    return what + (f": {expression}" if expression else "") + (f" ({where})" if where else "")


def _kernel(version: str | None, extra: str) -> str:
    """The release of a Linux kernel without the day it was built; Breakpad and Crashpad write it in two ways."""
    told = f"{version or ''}{extra}" if extra.startswith("-") else extra.removeprefix("Linux ") or version or ""
    return told.partition(" #")[0].replace(" -", "-")


def _cpu(data: bytes, code: int, level: int, revision: int) -> str:
    """The processor by vendor, family, model and stepping, as far as the dump tells them."""
    vendor = ""
    if code == 0 and len(data) >= 44:
        vendor = data[32:44].decode("ascii", "replace").strip("\0 ")
    vendor = vendor if vendor.isprintable() else ""
    return f"{vendor} family {level} model {revision >> 8} stepping {revision & 0xFF}".strip()
