"""What the modules for the processors share: what each must provide, and stacks linked by frame pointers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from triage.crash import Trust
from triage.readers.minidump.memory import AddressSpace
from triage.readers.minidump.pe import Image, Images
from triage.readers.minidump.streams import Module, ModuleMap, Registers

_LARGEST_FRAME = 1 << 20


class Code:
    """The code of a process: its modules, their images if found, and the memory in the dump."""

    def __init__(self, modules: ModuleMap, memory: AddressSpace, images: Images) -> None:
        self.modules = modules
        self.memory = memory
        self._images = images

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        return self._images.image(module)


class Caller(NamedTuple):
    """The frame of a caller: a pc of 0 is the end of the stack.

    `trust` says how it was found: cfi, leaf or frame_pointer. `called` is False where it was not calling but was
    interrupted, so that its pc is no return address.
    """

    registers: Registers
    trust: Trust
    called: bool = True


class Processor(Protocol):
    """One kind of processor, implemented by the modules amd64, x86 and arm64."""

    WORD: int

    def registers_in(self, context: bytes, /) -> Registers:
        """The registers in the stored context of a thread; raises struct.error if it is too short."""
        ...

    def caller(self, code: Code, registers: Registers, /, *, called: bool) -> Caller | None:
        """The caller of the function at the pc; None if that is not certain, `NotHeld` if bytes are missing.

        `called` says that the pc is a return address, and not the instruction that was running.
        """
        ...

    def may_return_to(self, code: Code, address: int, /) -> bool:
        """Whether a word on the stack that points into a module can be a return address."""
        ...


def linked_caller(
    code: Code, registers: Registers, word: int, address_bits: int, may_return_to: Callable[[Code, int], bool]
) -> Caller | None:
    """The caller by the frame pointer, which points to the caller's saved one; the return address is next to it.

    A function that uses the register for something else breaks the chain, so each link must look like one: further up,
    not too far away, and back into code.
    """
    fp, sp = registers.fp, registers.sp
    if fp % word or not sp <= fp < sp + _LARGEST_FRAME:
        return None
    link = code.memory.read(fp, 2 * word)
    if len(link) < 2 * word:
        return None
    saved, pc = int.from_bytes(link[:word], "little"), int.from_bytes(link[word:], "little") & address_bits
    if saved == 0 and pc == 0:
        return Caller(registers._replace(pc=0, sp=fp + 2 * word), "frame_pointer")
    if (saved and saved <= fp) or not may_return_to(code, pc):
        return None
    return Caller(registers._replace(pc=pc, sp=fp + 2 * word, fp=saved), "frame_pointer")
