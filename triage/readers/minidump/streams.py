"""What each stream of a dump says, as plain data: system, process, modules, threads, exception, handles, comments."""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from triage.crash import OS, base_name
from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile, clean

Architecture = Literal["x86", "arm", "x64", "arm64"]
_ARCHITECTURES: Mapping[int, Architecture] = {0: "x86", 5: "arm", 9: "x64", 12: "arm64", 0x8003: "arm64"}
_SYSTEMS: Mapping[int, OS | Literal["android"]] = {
    2: "windows",
    0x8101: "macos",
    0x8102: "ios",
    0x8201: "linux",
    0x8203: "android",
}
_SYSTEM = struct.Struct("<HHHBBIIIIIHH")
_MISC = struct.Struct("<6I")
_HAS_ID, _HAS_TIMES, _HAS_BUILD = 1, 2, 0x100
_BUILD_AT, _BUILD_BYTES = 232, 520
_MODULE = struct.Struct("<QIIII13IIIII16x")
_UNLOADED = struct.Struct("<QIIII")
_FIXED_FILE_INFO = 0xFEEF04BD
_THREAD = struct.Struct("<IIIIQQIIII")
_THREAD_NAME = struct.Struct("<IQ")
_EXCEPTION = struct.Struct("<IIIIQQII15QII")
_MOST_MODULES, _MOST_THREADS, _MOST_UNLOADED, _MOST_HANDLES = 8192, 16384, 1024, 20_000
_MOST_PARAMETERS = 15
# The integer registers of every processor are in here; the vector registers after them are not read.
_LONGEST_CONTEXT = 0x200
_HANDLES_HEAD, _HANDLE_SIZES = 16, (32, 40)
_LONGEST_TEXT = 64 << 10


# The machine and the process


class System(NamedTuple):
    """The machine; `version` is written as the system itself writes it."""

    os: OS | Literal["android"] | None = None
    version: str | None = None
    architecture: Architecture | None = None
    cpu: str | None = None


class ProcessTimes(NamedTuple):
    """The process id and times; `build` is the full name of the Windows build."""

    pid: int | None = None
    started: int | None = None
    user_seconds: int | None = None
    kernel_seconds: int | None = None
    build: str | None = None


class MemoryFigures(NamedTuple):
    """In bytes: the most that the process used, and what the machine had for all processes."""

    peak: int | None = None
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
    code, level, revision, _, _, major, minor, build, platform, more, *_ = _SYSTEM.unpack_from(data)
    architecture = _ARCHITECTURES.get(code)
    if architecture is None:
        dump.note(f"the processor is of a kind that is not known here (0x{code:x})")
    system = _SYSTEMS.get(platform)
    if system is None:
        dump.note(f"the system is of a kind that is not known here (0x{platform:x})")
    version = f"{major}.{minor}.{build}" if (major, minor, build) != (0, 0, 0) else None
    extra = dump.string(more).strip()
    full = _kernel(version, extra) if system in ("linux", "android") else f"{version or ''} {extra}".strip()
    return System(system, full or None, architecture, _cpu(data, code, level, revision))


def _kernel(version: str | None, extra: str) -> str:
    """The release of a Linux kernel without its build date; Breakpad and Crashpad write it in two ways."""
    release = f"{version or ''}{extra}" if extra.startswith("-") else extra.removeprefix("Linux ") or version or ""
    return release.partition(" #")[0].replace(" -", "-")


def _cpu(data: bytes, code: int, level: int, revision: int) -> str:
    """The processor by vendor, family, model and stepping, as far as the dump has them."""
    vendor = ""
    if code == 0 and len(data) >= 44:
        vendor = data[32:44].decode("ascii", "replace").strip("\0 ")
    vendor = vendor if vendor.isprintable() else ""
    return f"{vendor} family {level} model {revision >> 8} stepping {revision & 0xFF}".strip()


def times_of(dump: DumpFile) -> ProcessTimes:
    """The id and the times of the process, as far as they were stored."""
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
    """Peak and limits, if the dump has the counters of the process and of the machine."""
    peak = physical = available = limit = None
    counters = dump.stream(parts.COUNTERS, 256)
    if len(counters) >= 72:
        # Commit, not the working set: that is what Windows refuses when there is no more.
        (peak,) = struct.unpack_from("<Q", counters, 64)
    machine = dump.stream(parts.SYSTEM_MEMORY, 1024)
    if len(machine) >= 148:
        page, pages = struct.unpack_from("<II", machine, 8)
        free, _, most, _ = struct.unpack_from("<4Q", machine, 116)
        if page in (4096, 8192, 16384, 65536):
            physical, available, limit = pages * page, free * page, most * page
        else:
            dump.note("the system memory figures make no sense", parts.SYSTEM_MEMORY)
    return MemoryFigures(peak or None, physical or None, available or None, limit or None)


# Modules


class Module(NamedTuple):
    """A library or the program itself. `name` is its path as the dump has it.

    `timestamp` and `size` are those of its PE header; together they identify the build.
    """

    base: int
    size: int
    name: str
    timestamp: int = 0
    checksum: int = 0
    version: str | None = None

    @property
    def file(self) -> str:
        """Its name without the folders."""
        return base_name(self.name) if self.name else "unnamed module"

    def holds(self, address: int) -> bool:
        """Whether an address is in it."""
        return self.base <= address < self.base + self.size


class ModuleMap:
    """The modules of a process by address, found by bisection: scanning a stack asks thousands of times."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = sorted((module for module in modules if module.size > 0), key=lambda module: module.base)
        self._starts = [module.base for module in self._modules]

    def at(self, address: int) -> Module | None:
        """The module that holds an address."""
        index = bisect_right(self._starts, address) - 1
        return self._modules[index] if index >= 0 and self._modules[index].holds(address) else None


def modules_of(dump: DumpFile) -> tuple[Module, ...]:
    """The program and the libraries that were loaded, with their versions."""
    return tuple(_module(dump, record) for record in dump.records(parts.MODULES, _MODULE, _MOST_MODULES))


def _module(dump: DumpFile, record: tuple[int, ...]) -> Module:
    base, size, checksum, timestamp, name, signature, _, high, low, *_ = record
    # Crashpad writes zeros for a module without a version.
    has_version = signature == _FIXED_FILE_INFO and (high or low)
    version = f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}" if has_version else None
    return Module(base, size, dump.string(name), timestamp, checksum, version)


def unloaded_of(dump: DumpFile) -> tuple[Module, ...]:
    """The libraries that had been unloaded again; Windows remembers the last few."""
    found = []
    for base, size, checksum, timestamp, name in dump.headed_records(parts.UNLOADED, _UNLOADED, _MOST_UNLOADED):
        found.append(Module(base, size, dump.string(name), timestamp, checksum))
    return tuple(found)


# Threads and the exception


class Registers(NamedTuple):
    """The integer registers of a thread; `values` are by name: rip, eax, x0."""

    architecture: Architecture
    pc: int
    sp: int
    fp: int
    values: Mapping[str, int]


# Reads the registers from a thread's stored context; raises struct.error if that is too short.
ReadContext = Callable[[bytes], Registers]


class ThreadRecord(NamedTuple):
    """A thread of the dump, with the part of its stack that was stored."""

    id: int
    name: str = ""
    registers: Registers | None = None
    stack_size: int = 0
    teb: int = 0


class ExceptionRecord(NamedTuple):
    """The exception that ended the process. Its registers are of that moment, those of its thread may be from later."""

    thread_id: int
    code: int
    address: int = 0
    flags: int = 0
    parameters: tuple[int, ...] = ()
    registers: Registers | None = None


def threads_of(dump: DumpFile, read_context: ReadContext | None) -> tuple[ThreadRecord, ...]:
    """The threads with their names and, if the processor is known, their registers."""
    names = {
        number: dump.string(offset)
        for number, offset in dump.records(parts.THREAD_NAMES, _THREAD_NAME, _MOST_THREADS)
        if offset < dump.size
    }
    found = []
    for record in dump.records(parts.THREADS, _THREAD, _MOST_THREADS):
        number, _, _, _, teb, _, size, _, context_size, context = record
        registers = _registers(dump, context, context_size, read_context)
        found.append(ThreadRecord(number, names.get(number, ""), registers, size, teb))
    return tuple(found)


def stack_extents(dump: DumpFile) -> list[tuple[int, int, int]]:
    """Address, size and offset in the file of each thread's stack: some writers list them nowhere else."""
    return [(r[5], r[6], r[7]) for r in dump.records(parts.THREADS, _THREAD, _MOST_THREADS) if r[6] and r[7]]


def exception_of(dump: DumpFile, read_context: ReadContext | None) -> ExceptionRecord | None:
    """The exception that the dump was written for; None if there is none."""
    data = dump.stream(parts.EXCEPTION, 1024)
    if len(data) < _EXCEPTION.size:
        if parts.EXCEPTION in dump.streams:
            dump.note("the exception is too short to be read", parts.EXCEPTION)
        return None
    thread, _, code, flags, _, address, count, _, *rest = _EXCEPTION.unpack_from(data)
    if count > _MOST_PARAMETERS:
        dump.note(f"the exception claims {count:,} parameters; {_MOST_PARAMETERS} are the most there can be")
    size, offset = rest[_MOST_PARAMETERS:]
    parameters = tuple(rest[: min(count, _MOST_PARAMETERS)])
    return ExceptionRecord(thread, code, address, flags, parameters, _registers(dump, offset, size, read_context))


def _registers(dump: DumpFile, offset: int, size: int, read_context: ReadContext | None) -> Registers | None:
    try:
        return read_context(dump.at(offset, min(size, _LONGEST_CONTEXT))) if read_context else None
    except struct.error:
        return None


# Handles and texts


def handles_of(dump: DumpFile) -> tuple[tuple[str, int], ...]:
    """How many handles of each type were open, most first.

    The `minidump` package reads them, since it knows both forms of an entry. Only its parsers are used, on a list that
    was checked to fit. Its reader of whole files refuses a dump with a stream it does not know, loops up to whatever
    count a broken one claims, and logs through the root logger.
    """
    extent = dump.streams.get(parts.HANDLES)
    head = dump.at(extent.offset, _HANDLES_HEAD) if extent else b""
    if extent is None or len(head) < _HANDLES_HEAD or extent.offset + extent.size > dump.size:
        return ()
    # Imported only here, because the import takes longer than reading a small dump.
    from minidump.streams import HandleDataStream as package

    header = package.MINIDUMP_HANDLE_DATA_STREAM.parse(io.BytesIO(head))
    each, count = header.SizeOfDescriptor, header.NumberOfDescriptors
    if header.SizeOfHeader != _HANDLES_HEAD or each not in _HANDLE_SIZES:
        dump.note(f"the handle list has entries of {each} bytes, which can't be", parts.HANDLES)
        return ()
    if dump.fitting(parts.HANDLES, count, extent.size - _HANDLES_HEAD, each, _MOST_HANDLES) < count:
        return ()
    is_short = each == package.MINIDUMP_HANDLE_DESCRIPTOR.size
    entry = package.MINIDUMP_HANDLE_DESCRIPTOR if is_short else package.MINIDUMP_HANDLE_DESCRIPTOR_2
    entries = io.BytesIO(dump.at(extent.offset + _HANDLES_HEAD, each * count))
    types = (dump.string(entry.parse(entries).TypeNameRva) for _ in range(count))
    return tuple(Counter(name or "of an unnamed type" for name in types).most_common())


def comments_of(dump: DumpFile) -> tuple[str, ...]:
    """The comments that the program or the person who made the dump put into it."""
    plain = dump.stream(parts.COMMENT, _LONGEST_TEXT).decode("utf-8", "replace")
    wide = dump.stream(parts.WIDE_COMMENT, _LONGEST_TEXT).decode("utf-16-le", "replace")
    return tuple(dict.fromkeys(text for text in (clean(plain).strip(), clean(wide).strip()) if text))


def assertion_of(dump: DumpFile) -> str | None:
    """The message of a failed C runtime check or a pure virtual call, if Breakpad's handler stored it."""
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


# What Breakpad copies from /proc of a Linux process; the environment of the process is never read


class LinuxFacts(NamedTuple):
    """Command, processor, distribution, and the most memory that was in use, in bytes."""

    command: str | None = None
    pid: int | None = None
    peak: int | None = None
    threads: int | None = None
    cpu: str | None = None
    cpu_flags: tuple[str, ...] = ()
    distribution: str | None = None


def linux_facts(dump: DumpFile) -> LinuxFacts:
    """These facts, as far as they are there; none in dumps from other systems."""
    status = _fields(_text(dump, parts.PROC_STATUS), ":")
    cpu = _fields(_text(dump, parts.CPU_INFO), ":")
    release = _fields(_text(dump, parts.RELEASE), "=")
    distribution = release.get("PRETTY_NAME") or release.get("DISTRIB_DESCRIPTION") or ""
    command = _text(dump, parts.COMMAND_LINE).replace("\0", " ").strip()
    peak = _number(status.get("VmHWM"))
    return LinuxFacts(
        command or None,
        _number(status.get("Pid")),
        peak * 1024 if peak is not None else None,
        _number(status.get("Threads")),
        cpu.get("model name"),
        tuple(cpu.get("flags", cpu.get("Features", "")).split()),
        distribution.strip('"') or None,
    )


def _text(dump: DumpFile, kind: int) -> str:
    return dump.stream(kind, _LONGEST_TEXT).decode("utf-8", "replace")


def _fields(text: str, separator: str) -> dict[str, str]:
    """The first value of each name."""
    found: dict[str, str] = {}
    for line in text.replace("\0", "\n").splitlines():
        name, is_field, value = line.partition(separator)
        if is_field:
            found.setdefault(name.strip(), value.strip())
    return found


def _number(text: str | None) -> int | None:
    digits = (text or "").split(" ")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None


class DumpFacts(NamedTuple):
    """All that the streams say, as plain data."""

    system: System
    times: ProcessTimes
    figures: MemoryFigures
    linux: LinuxFacts
    modules: tuple[Module, ...]
    unloaded: tuple[Module, ...]
    threads: tuple[ThreadRecord, ...]
    exception: ExceptionRecord | None
    # the program requested the dump itself and lived on
    by_request: bool

    @property
    def crashed(self) -> ThreadRecord | None:
        """The thread that the exception names."""
        blamed = self.exception.thread_id if self.exception else None
        return next((thread for thread in self.threads if thread.id == blamed), None)

    @property
    def registers(self) -> Registers | None:
        """Those of the exception: in its handler, which writes the dump, the thread has moved on."""
        if self.exception is not None and self.exception.registers is not None:
            return self.exception.registers
        return self.crashed.registers if self.crashed else None

    @property
    def may_have_python(self) -> bool:
        """Whether this can be a Python whose frames can be read from a dump."""
        return (self.system.os, self.system.architecture) == ("windows", "x64")
