"""Minidumps built byte by byte, for what no program at hand writes: ARM64, thread names, memory maps, absurd counts."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

WINDOWS, MACOS, LINUX = 2, 0x8101, 0x8201
PROCESSORS = {"x86": 0, "x64": 9, "arm64": 12}
THREADS, MODULES, MEMORY, EXCEPTION, SYSTEM, MEMORY64 = 3, 4, 5, 6, 7, 9
WIDE_COMMENT, HANDLES, UNLOADED, MISC, REGIONS, SYSTEM_MEMORY, COUNTERS, THREAD_NAMES = 11, 12, 14, 15, 16, 21, 22, 24
CPU_INFO, PROC_STATUS, RELEASE, COMMAND_LINE = 0x47670003, 0x47670004, 0x47670005, 0x47670006
ASSERTION = 0x47670002
FULL_MEMORY = 2
COMMIT, RESERVE, FREE = 0x1000, 0x2000, 0x10000
_DIRECTORY = 64
# Real dumps of others, which are no part of the project; tests use them where they are.
PUBLIC = Path(__file__).resolve().parents[2] / "shared" / "dumps"
_X64 = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rip"
_X86 = {
    "edi": 0x9C,
    "esi": 0xA0,
    "ebx": 0xA4,
    "edx": 0xA8,
    "ecx": 0xAC,
    "eax": 0xB0,
    "ebp": 0xB4,
    "eip": 0xB8,
    "esp": 0xC4,
}


def context(architecture: str, registers: Mapping[str, int]) -> bytes:
    """The registers of a thread as dbghelp stores them."""
    if architecture == "x86":
        data = bytearray(716)
        for name, value in registers.items():
            struct.pack_into("<I", data, _X86[name], value)
        return bytes(data)
    if architecture == "arm64":
        names = [*(f"x{number}" for number in range(29)), "fp", "lr", "sp", "pc"]
        data = bytearray(912)
        struct.pack_into("<33Q", data, 8, *(registers.get(name, 0) for name in names))
        return bytes(data)
    data = bytearray(1232)
    struct.pack_into("<17Q", data, 0x78, *(registers.get(name, 0) for name in _X64.split()))
    return bytes(data)


class DumpBuilder:
    """Puts a dump together; `streams` may be changed by hand before `build`, to break it."""

    def __init__(
        self,
        architecture: str = "x64",
        platform: int = WINDOWS,
        version: tuple[int, int, int] = (10, 0, 19045),
        flags: int = 0,
    ) -> None:
        self.architecture = architecture
        self.flags = flags
        self.streams: dict[int, bytes] = {}
        self.counts: dict[int, int] = {}
        self._body = bytearray(32 + 12 * _DIRECTORY)
        self._lists: dict[int, list[bytes]] = {}
        self._memory: list[tuple[int, bytes]] = []
        processor = PROCESSORS[architecture]
        self.streams[SYSTEM] = struct.pack(
            "<HHHBBIIIIIHH24x", processor, 6, 0x9E0A, 8, 1, *version, platform, self.text(""), 0, 0
        )

    def put(self, data: bytes) -> int:
        """Store bytes outside of all streams; where they are."""
        self._body += bytes(-len(self._body) % 8)
        offset = len(self._body)
        self._body += data
        return offset

    def text(self, text: str) -> int:
        """Store a text; where it is."""
        data = text.encode("utf-16-le")
        return self.put(struct.pack("<I", len(data)) + data + b"\0\0")

    def module(
        self,
        name: str,
        base: int,
        size: int = 0x10000,
        version: tuple[int, int, int, int] | None = None,
        timestamp: int = 0x5F000000,
        debug: bytes = b"",
    ) -> DumpBuilder:
        """A loaded module."""
        fixed = [0] * 13
        if version:
            high, low = version[0] << 16 | version[1], version[2] << 16 | version[3]
            fixed[:6] = [0xFEEF04BD, 0x10000, high, low, high, low]
        at = self.put(debug) if debug else 0
        entry = struct.pack("<QIIII13I", base, size, 0, timestamp, self.text(name), *fixed)
        self._add(MODULES, entry + struct.pack("<IIII16x", len(debug), at, 0, 0))
        return self

    def unloaded(self, name: str, base: int, size: int = 0x10000) -> DumpBuilder:
        """A module that had been unloaded."""
        self._add(UNLOADED, struct.pack("<QIIII", base, size, 0, 0, self.text(name)))
        return self

    def thread(
        self,
        number: int,
        registers: Mapping[str, int] | None = None,
        stack: tuple[int, bytes] = (0, b""),
        name: str | None = None,
        teb: int = 0,
    ) -> DumpBuilder:
        """A thread with its stack."""
        data = context(self.architecture, registers) if registers is not None else b""
        at = self.put(data) if data else 0
        address, content = stack
        held = self.put(content) if content else 0
        entry = struct.pack("<IIIIQQIIII", number, 0, 0, 0, teb, address, len(content), held, len(data), at)
        self._add(THREADS, entry)
        if name is not None:
            self._add(THREAD_NAMES, struct.pack("<IQ", number, self.text(name)))
        return self

    def exception(
        self,
        code: int,
        address: int = 0,
        parameters: Sequence[int] = (),
        thread: int = 1,
        registers: Mapping[str, int] | None = None,
        flags: int = 0,
    ) -> DumpBuilder:
        """The exception, with the registers of its moment where they are given."""
        data = context(self.architecture, registers) if registers is not None else b""
        at = self.put(data) if data else 0
        values = [*parameters, *([0] * (15 - len(parameters)))]
        self.streams[EXCEPTION] = struct.pack(
            "<IIIIQQII15QII", thread, 0, code, flags, 0, address, len(parameters), 0, *values, len(data), at
        )
        return self

    def memory(self, address: int, content: bytes) -> DumpBuilder:
        """Memory that the dump holds."""
        self._memory.append((address, content))
        return self

    def region(self, start: int, size: int, state: int = COMMIT, protection: int = 4) -> DumpBuilder:
        """A stretch of the memory map."""
        self._add(REGIONS, struct.pack("<QQIIQIIII", start, start, protection, 0, size, state, protection, 0x20000, 0))
        return self

    def handle(self, type_name: str, name: str = "") -> DumpBuilder:
        """An open handle."""
        texts = (self.text(type_name), self.text(name) if name else 0)
        self._add(HANDLES, struct.pack("<QIIIIII", 4 * len(self._lists.get(HANDLES, ())), *texts, 0, 0, 1, 1))
        return self

    def process(self, pid: int, started: int = 0, user: int = 0, kernel: int = 0, build: str = "") -> DumpBuilder:
        """The process's number and times, and the name of the system's build."""
        data = bytearray(832)
        struct.pack_into("<6I", data, 0, len(data), 1 | 2 | (0x100 if build else 0), pid, started, user, kernel)
        data[232 : 232 + 2 * len(build)] = build.encode("utf-16-le")
        self.streams[MISC] = bytes(data)
        return self

    def figures(self, peak: int, commit_limit: int, physical: int) -> DumpBuilder:
        """What the process used at most, and what the machine had."""
        self.streams[COUNTERS] = struct.pack("<HHI11Q", 2, 0, 0, *([0] * 6), peak // 2, peak, 0, 0, peak // 2)
        machine = bytearray(500)
        struct.pack_into("<II", machine, 8, 4096, physical // 4096)
        struct.pack_into("<4Q", machine, 116, 1000, 2000, commit_limit // 4096, 3000)
        self.streams[SYSTEM_MEMORY] = bytes(machine)
        return self

    def comment(self, text: str) -> DumpBuilder:
        """What somebody wrote into the dump."""
        self.streams[WIDE_COMMENT] = text.encode("utf-16-le") + b"\0\0"
        return self

    def build(self) -> bytes:
        """The whole file."""
        body = bytearray(self._body)
        streams = {**self.streams, **{kind: self._list(kind) for kind in self._lists}}
        tail = b""
        if self._memory and self.flags & FULL_MEMORY:
            tail = b"".join(content for _, content in self._memory)
        elif self._memory:
            entries = []
            for address, content in self._memory:
                entries.append(struct.pack("<QII", address, len(content), len(body)))
                body += content
            streams[MEMORY] = struct.pack("<I", self.counts.get(MEMORY, len(entries))) + b"".join(entries)
        if tail:
            streams[MEMORY64] = b"".join(struct.pack("<QQ", address, len(data)) for address, data in self._memory)
            streams[MEMORY64] = bytes(16) + streams[MEMORY64]
        directory = []
        for kind, data in streams.items():
            directory.append(struct.pack("<III", kind, len(data), len(body)))
            body += data
        if tail:
            where = struct.unpack_from("<III", directory[list(streams).index(MEMORY64)])[2]
            count = self.counts.get(MEMORY64, len(self._memory))
            struct.pack_into("<QQ", body, where, count, len(body))
        struct.pack_into("<4sIIIIIQ", body, 0, b"MDMP", 0xA793, len(directory), 32, 0, 1700000000, self.flags)
        body[32 : 32 + 12 * len(directory)] = b"".join(directory)
        return bytes(body) + tail

    def _add(self, kind: int, entry: bytes) -> None:
        self._lists.setdefault(kind, []).append(entry)

    def _list(self, kind: int) -> bytes:
        entries = self._lists[kind]
        count = self.counts.get(kind, len(entries))
        heads = {
            REGIONS: struct.pack("<IIQ", 16, len(entries[0]), count & 0xFFFFFFFFFFFFFFFF),
            HANDLES: struct.pack("<IIII", 16, len(entries[0]), count & 0xFFFFFFFF, 0),
            UNLOADED: struct.pack("<III", 12, len(entries[0]), count & 0xFFFFFFFF),
        }
        return heads.get(kind, struct.pack("<I", count & 0xFFFFFFFF)) + b"".join(entries)


PYTHON, TENSORFLOW, CUDNN, NTDLL, KERNELBASE = (
    0x7FF600000000,
    0x7FFA00000000,
    0x7FFB00000000,
    0x7FFF0000_0000,
    0x7FFE00000000,
)


def tensorflow_dump(code: int = 0xC0000409, parameters: Sequence[int] = (7,), pc: int = CUDNN + 0x1234) -> DumpBuilder:
    """A Python with TensorFlow and cuDNN 8.1 that crashed in cuDNN, with the modules such a process has."""
    site = r"C:\Users\First Last\venv\Lib\site-packages"
    registers = {"rip": pc, "rsp": 0x10F000, "rbp": 0x10F100}
    return (
        DumpBuilder()
        .module(r"C:\Users\First Last\venv\Scripts\python.exe", PYTHON, version=(3, 11, 9150, 1013))
        .module(r"C:\Windows\System32\ntdll.dll", NTDLL, version=(10, 0, 19041, 1110))
        .module(r"C:\Windows\System32\KERNELBASE.dll", KERNELBASE, version=(10, 0, 19041, 1110))
        .module(r"C:\Python311\python311.dll", PYTHON + 0x1000000, version=(3, 11, 9150, 1013))
        .module(site + r"\tensorflow\python\_pywrap_tensorflow_internal.pyd", TENSORFLOW, 0x40000000)
        .module(r"C:\cuda\bin\cudnn64_8.dll", CUDNN, version=(8, 1, 0, 77))
        .thread(7, {"rip": NTDLL + 0x100, "rsp": 0x20F000}, name="worker")
        .thread(1, registers, stack=(0x10F000, bytes(0x1000)), name="MainThread")
        .exception(code, pc, parameters, registers=registers)
        .process(4711, started=1700000000, user=12, kernel=3, build="19041.1.amd64fre.vb_release.191206-1406")
        .figures(peak=6 << 30, commit_limit=32 << 30, physical=16 << 30)
    )
