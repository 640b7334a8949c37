"""What a core file says by itself, before any debugger looks at it: its notes, and which memory it holds.

A core is untrusted and often cut off, so every length is checked and every read is bounded; nothing is read whole.
"""

from __future__ import annotations

import errno
import os
import struct
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from triage.stacks.elf import build_id_in, notes
from triage.stacks.memory_map import MemoryMap, Region

# More than any machine has; a header that says so is damaged.
_LARGEST = 1 << 46
_LARGEST_NOTES = 64 << 20
_MOST_SEGMENTS = 1 << 17
_MOST_FILES = 1 << 16
_ARGUMENTS, _MOST_ARGUMENTS = 4 << 20, 1000
_NT_PRSTATUS, _NT_PRPSINFO, _NT_AUXV = 1, 3, 6
_NT_SIGINFO, _NT_FILE = 0x53494749, 0x46494C45
_AT_PHDR, _AT_ENTRY, _AT_RANDOM, _AT_EXECFN = 3, 9, 25, 31
_ET_CORE, _HEADER_SIZE = 4, 64
# fmt: off
_X86_64_REGISTERS = [
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8",
    "rax", "rcx", "rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp",
]
# fmt: on
_AARCH64_REGISTERS = [*(f"x{number}" for number in range(31)), "sp", "pc", "cpsr"]
_HIDDEN = {"orig_rax", "cs"}


class NotACore(Exception):
    """The file cannot be read as a core; the text says in a few words what it is instead."""


class Segment(NamedTuple):
    """A piece of memory: its address and size, and where the file should hold how much of it."""

    start: int
    size: int
    offset: int
    in_file: int
    permissions: str


class CoreFile(NamedTuple):
    """The facts in a core's notes. Of `whole` bytes `size` are there; fewer mean that the file is cut off."""

    path: str
    size: int
    whole: int
    segments: tuple[Segment, ...]
    files: tuple[Region, ...] = ()
    auxiliary: tuple[tuple[int, int], ...] = ()
    signal: int | None = None
    signal_code: int | None = None
    address: int | None = None
    threads: tuple[int, ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    pid: int | None = None
    command: str | None = None
    notes_whole: bool = True
    # some headers point to beyond any possible file
    is_damaged: bool = False

    @property
    def is_cut_off(self) -> bool:
        """Whether bytes are missing at the end."""
        return self.size < self.whole

    def memory(self, address: int, size: int) -> bytes:
        """Bytes of the process's memory; fewer, or none, where the file does not have them."""
        for segment in self.segments:
            if segment.start <= address < segment.start + segment.in_file:
                inside = address - segment.start
                with open(self.path, "rb") as file:
                    return os.pread(file.fileno(), min(size, segment.in_file - inside), segment.offset + inside)
        return b""

    def map(self) -> MemoryMap:
        """Every region of memory, with the file it came from."""
        by_start = {region.start: region for region in self.files}
        regions = {
            s.start: by_start[s.start]._replace(permissions=s.permissions)
            if s.start in by_start
            else Region(s.start, s.start + s.size, s.permissions)
            for s in self.segments
        }
        map = MemoryMap({**by_start, **regions}.values())
        # the kernel puts the program's name and some random bytes at the top of the main thread's stack
        top = dict(self.auxiliary).get(_AT_EXECFN) or dict(self.auxiliary).get(_AT_RANDOM)
        return MemoryMap(map.regions, map.at(top) if top else None)

    def executable(self) -> str | None:
        """The program: the file whose headers the kernel passed to it, else the name it was started by."""
        auxiliary = dict(self.auxiliary)
        for entry in (_AT_PHDR, _AT_ENTRY):
            for region in self.files:
                if region.start <= auxiliary.get(entry, -1) < region.end:
                    return region.path
        name = self.memory(auxiliary.get(_AT_EXECFN, 0), 4096).split(b"\0")[0]
        return os.fsdecode(name) if name.startswith(b"/") else None

    def command_line(self) -> str | None:
        """The whole command line, from the stack; the note has only its first eighty characters."""
        top = dict(self.auxiliary).get(_AT_EXECFN)
        stack = self.map().at(top) if top and self.command else None
        if stack is None or self.command is None:
            return self.command
        start = max(stack.start, stack.end - _ARGUMENTS)
        memory = self.memory(start, stack.end - start)
        at = memory.replace(b"\0", b" ").find(self.command.encode("utf-8", "replace"))
        # The arguments are one text after another; their number comes before the first of the pointers to them.
        pointer = memory.find(struct.pack("<Q", start + at)) if at >= 0 else -1
        if pointer < 8:
            return self.command
        (count,) = struct.unpack_from("<Q", memory, pointer - 8)
        words = memory[at:].split(b"\0", min(count, _MOST_ARGUMENTS))[: min(count, _MOST_ARGUMENTS)]
        return " ".join(word.decode("utf-8", "replace") for word in words) or self.command

    @property
    def is_ambiguous(self) -> bool:
        """Whether an address is held twice: two programs that read the core may then see different bytes."""
        held = sorted(segment for segment in self.segments if segment.in_file)
        return any(a.start + a.in_file > b.start for a, b in pairwise(held))

    def build_id(self, base: int) -> bytes | None:
        """The build identifier of the program file that was loaded at an address, if the core has its first page."""
        return build_id_in(self.memory(base, 4096))


def read_core(path: str) -> CoreFile:
    """The notes and segments of a core; raises NotACore, or OSError when the file can't be read."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if _ends_in_header(os.pread(file.fileno(), _HEADER_SIZE, 0), size):
            raise NotACore("it is cut off before the notes that say which thread died of what")
        try:
            return _read(path, file, size)
        except NotACore:
            raise
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOVERFLOW):
                raise
            raise NotACore("its header is damaged") from error  # it points to beyond any possible file
        except Exception as error:  # over damaged data pyelftools raises all kinds of exceptions
            raise NotACore("its header is damaged") from error


def _ends_in_header(head: bytes, size: int) -> bool:
    """Whether the file ends before its table of segments does."""
    if head[:6] != b"\x7fELF\x02\x01":
        return False
    if len(head) < _HEADER_SIZE:
        return True
    kind, table = (*struct.unpack_from("<H", head, 16), *struct.unpack_from("<Q", head, 32))
    each, count = struct.unpack_from("<HH", head, 54)
    return bool(kind == _ET_CORE and table <= _LARGEST and size < table + each * count)


def _read(path: str, file: BinaryIO, size: int) -> CoreFile:
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(file)
    if elf["e_type"] != "ET_CORE":
        raise NotACore("a program or a library, not a core")
    if elf.elfclass != 64 or not elf.little_endian:
        raise NotACore("a core of a 32-bit or big-endian program")
    count = elf.num_segments()
    if not 0 < count <= _MOST_SEGMENTS:
        raise NotACore("a core without memory")
    every = [segment.header for segment in elf.iter_segments()]
    headers = [header for header in every if header["p_offset"] + header["p_filesz"] <= _LARGEST]
    segments = tuple(_segment(header) for header in headers if header["p_type"] == "PT_LOAD")
    whole = max((header["p_offset"] + header["p_filesz"] for header in headers), default=0)
    core = CoreFile(path, size, whole, segments, is_damaged=len(headers) < len(every))
    for header in headers:
        if header["p_type"] == "PT_NOTE":
            length = min(header["p_filesz"], _LARGEST_NOTES)
            data = os.pread(file.fileno(), length, header["p_offset"])
            core = _with_notes(core._replace(notes_whole=len(data) == length), data, elf["e_machine"])
    if not segments and not core.threads:
        raise NotACore("a core without memory")
    return core


def _segment(header: Any) -> Segment:
    flags = header["p_flags"]
    permissions = "".join(letter if flags & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1)))
    return Segment(header["p_vaddr"], header["p_memsz"], header["p_offset"], header["p_filesz"], permissions)


def _with_notes(core: CoreFile, data: bytes, machine: str) -> CoreFile:
    for type_, owner, content in notes(data):
        if owner not in (b"CORE", b"LINUX"):
            continue
        try:
            core = _with_note(core, type_, content, machine)
        except struct.error:
            continue  # too short; the other notes still count
    return core


def _with_note(core: CoreFile, type_: int, content: bytes, machine: str) -> CoreFile:
    if type_ == _NT_PRSTATUS:
        (tid,) = struct.unpack_from("<i", content, 32)
        core = core._replace(threads=(*core.threads, tid))
        if len(core.threads) == 1:  # the kernel writes the thread that got the signal first
            (signal,) = struct.unpack_from("<h", content, 12)
            core = core._replace(signal=signal or core.signal, registers=_registers(content, machine))
    elif type_ == _NT_PRPSINFO:
        (pid,) = struct.unpack_from("<i", content, 24)
        command = content[56:136].split(b"\0")[0].decode("utf-8", "replace").strip()
        core = core._replace(pid=pid, command=command or None)
    elif type_ == _NT_SIGINFO and core.signal_code is None:
        signal, _, code = struct.unpack_from("<iii", content, 0)
        (address,) = struct.unpack_from("<Q", content, 16)
        core = core._replace(signal=core.signal or signal or None, signal_code=code, address=address)
    elif type_ == _NT_AUXV:
        pairs = list(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))
        core = core._replace(auxiliary=tuple((key, value) for key, value in pairs if key))
    elif type_ == _NT_FILE:
        core = core._replace(files=_files(content))
    return core


def _registers(content: bytes, machine: str) -> tuple[tuple[str, int], ...]:
    names = {"EM_X86_64": _X86_64_REGISTERS, "EM_AARCH64": _AARCH64_REGISTERS}.get(machine, [])
    values = struct.unpack_from(f"<{len(names)}Q", content, 112)
    return tuple((name, value) for name, value in zip(names, values, strict=True) if name not in _HIDDEN)


def _files(content: bytes) -> tuple[Region, ...]:
    count, page = struct.unpack_from("<QQ", content, 0)
    if count > _MOST_FILES:
        raise struct.error("too many files")
    rows = [struct.unpack_from("<QQQ", content, 16 + 24 * number) for number in range(count)]
    names = content[16 + 24 * count :].split(b"\0")
    found = []
    for (start, end, pages), name in zip(rows, names, strict=False):
        path = os.fsdecode(name).removesuffix(" (deleted)")
        found.append(Region(start, end, "", pages * page, path))
    return tuple(found)
