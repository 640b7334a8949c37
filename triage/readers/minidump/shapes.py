"""What a minidump holds, as plain data: the reader of the file fills these, the stack walkers only look at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from triage.crash import Trust, base_name


class Module(NamedTuple):
    """A library or program in the process. `timestamp` and `size` are those of its PE header, which identify the file.

    `name` is the path as the dump has it.
    """

    base: int
    size: int
    name: str
    timestamp: int = 0
    checksum: int = 0
    version: str | None = None
    pdb_name: str | None = None
    debug_id: str | None = None

    @property
    def file(self) -> str:
        """The name without its folders."""
        return base_name(self.name) if self.name else "unnamed module"

    def holds(self, address: int) -> bool:
        """Whether an address lies inside of it."""
        return self.base <= address < self.base + self.size


class Registers(NamedTuple):
    """The integer registers of a thread; `architecture` is x64, x86 or arm64, names are as in rip, eax, x0, pc."""

    architecture: str
    pc: int
    sp: int
    fp: int
    values: Mapping[str, int]


class ThreadRecord(NamedTuple):
    """A thread of the dump, with the part of its stack that was stored."""

    id: int
    name: str = ""
    registers: Registers | None = None
    stack_start: int = 0
    stack_size: int = 0
    teb: int = 0


class ExceptionRecord(NamedTuple):
    """The exception that ended the process, with the registers of that moment, which beat those of its thread."""

    thread_id: int
    code: int
    address: int = 0
    flags: int = 0
    parameters: tuple[int, ...] = ()
    registers: Registers | None = None


class AddressSpace(Protocol):
    """The memory of the process, as far as the dump holds it."""

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address; fewer than asked, or none, where the dump does not hold them."""
        ...


class Stack(NamedTuple):
    """A walked thread. `seen` are modules found by scanning: addresses lay about on the stack, which is no call.

    `left_out` counts frames further out that were walked and not kept (a stack that ran over repeats itself);
    `wanted` is the module whose PE file would let the walk go on.
    """

    frames: tuple[WalkedFrame, ...] = ()
    seen: tuple[str, ...] = ()
    left_out: int = 0
    wanted: str | None = None


class WalkedFrame(NamedTuple):
    """One frame, innermost first. `trust` says how it was found: context, cfi, leaf or frame_pointer.

    `function` is only there where its name is exact; `offset` counts from the function, or else from the module.
    """

    pc: int
    sp: int
    trust: Trust
    module: str | None = None
    function: str | None = None
    offset: int | None = None
