"""The stacks of a dump's threads as frames of a crash: the one place from which they are walked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from triage.crash import NativeFrame, base_name
from triage.readers.minidump.naming import is_machinery, is_own
from triage.readers.minidump.shapes import AddressSpace, Module, Registers, Stack, WalkedFrame

_MOST_SEEN = 24


class Modules:
    """The modules of a process by address."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._sorted = sorted(modules, key=lambda module: module.base)
        self._bases = [module.base for module in self._sorted]

    def at(self, address: int) -> Module | None:
        """The module that an address lies in."""
        number = bisect_right(self._bases, address) - 1
        module = self._sorted[number] if number >= 0 else None
        return module if module and module.holds(address) else None

    def overlapping(self) -> tuple[Module, Module] | None:
        """Two modules that claim the same addresses."""
        pairs = zip(self._sorted, self._sorted[1:], strict=False)
        return next(((one, two) for one, two in pairs if two.base < one.base + one.size), None)


class Walker:
    """Walks the threads of one dump; `pe_directories` are where the person says that the program's files are."""

    def __init__(self, modules: Sequence[Module], memory: AddressSpace, pe_directories: Sequence[str] = ()) -> None:
        self.modules = Modules(modules)
        self._memory = memory
        self._pe_directories = pe_directories

    def walk(self, registers: Registers) -> Stack:
        """The frames of a thread, innermost first."""
        module = self.modules.at(registers.pc)
        offset = registers.pc - module.base if module else None
        frame = WalkedFrame(registers.pc, registers.sp, "context", module.name if module else None, None, offset)
        return Stack((frame,))

    def native_frames(self, stack: Stack) -> tuple[NativeFrame, ...]:
        """A walked stack in the words of a crash."""
        return tuple(self._frame(frame) for frame in stack.frames)

    def _frame(self, frame: WalkedFrame) -> NativeFrame:
        module = self.modules.at(frame.pc)
        name = base_name(frame.module) if frame.module else None
        return NativeFrame(name, frame.function, frame.offset, frame.trust, own=module is not None and is_own(module))


def seen_modules(stack: Stack) -> tuple[str, ...]:
    """The names of modules that lay about on a stack, each once."""
    return tuple(dict.fromkeys(base_name(name) for name in stack.seen))[:_MOST_SEEN]


def faulting_module(frames: Sequence[NativeFrame]) -> str | None:
    """The first module that is not the machinery which raises and ends; None where no frame shows one."""
    for frame in frames:
        if frame.module and not is_machinery(frame.module):
            return frame.module
    return None
