"""The stacks of a dump's threads. Each frame says how it was found; where the next one is not certain, the walk ends.

The step to the caller depends on the processor: see amd64, x86 and arm64. Beyond the last certain frame the stack is
only scanned: the modules that its words point into were at work, perhaps in calls that ended long ago, and are never
called frames.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from triage.crash import NativeFrame, Place, PythonFrame, Thread, Trust, base_name
from triage.frames import is_machinery_module, module_owner
from triage.readers.minidump import amd64, arm64, x86
from triage.readers.minidump.cpython import PythonStack, python_frames
from triage.readers.minidump.memory import AddressSpace, NotHeld
from triage.readers.minidump.pe import ExportTable, Image, Images, exact_name
from triage.readers.minidump.processor import Code, Processor
from triage.readers.minidump.streams import Module, ModuleMap, Registers, ThreadRecord

# By streams.Architecture.
PROCESSORS: Mapping[str, Processor] = {"x64": amd64, "x86": x86, "arm64": arm64}
MAX_FRAMES = 256
# How far an overflowed stack is followed, to count what is left out.
_MAX_WALKED = 8192
_MAX_SCANNED_WORDS = 8192
_MAX_SCANNED_NAMES = 32
# The crashed thread is always walked, the others as long as this lasts.
_SECONDS_FOR_THE_REST = 1.0
_MOST_THREADS = 256
_MOST_SEEN = 24


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


class WalkedStack(NamedTuple):
    """The stack of a thread. `seen` are the modules that only a scan found.

    `left_out` counts frames further out that were walked and not kept (a stack that ran over repeats itself);
    `wanted` is the module whose PE file would let the walk go on.
    """

    frames: tuple[WalkedFrame, ...] = ()
    seen: tuple[str, ...] = ()
    left_out: int = 0
    wanted: str | None = None


def walk(modules: Iterable[Module], memory: AddressSpace, registers: Registers, images: Images) -> WalkedStack:
    """Walk one thread from its registers. `images` finds the PE images without which x64 ends at the first frame."""
    return _Walk(Code(ModuleMap(modules), memory, images), PROCESSORS[registers.architecture]).run(registers)


class _Walk:
    """One walk, with the exports that it has read on the way."""

    def __init__(self, code: Code, processor: Processor) -> None:
        self._code = code
        self._processor = processor
        self._exports: dict[Module, ExportTable] = {}
        self._frames: list[WalkedFrame] = []
        self._walked = 0
        self._wanted: str | None = None

    def run(self, registers: Registers) -> WalkedStack:
        self._add(registers.pc, registers.sp, "context")
        whole, sp = self._follow(registers)
        seen = self._scan(sp) if not whole and self._walked < _MAX_WALKED else ()
        return WalkedStack(tuple(self._frames), seen, self._walked - len(self._frames), self._wanted)

    def _follow(self, registers: Registers) -> tuple[bool, int]:
        """Whether the stack was followed to its end, and the stack pointer there."""
        called = False
        while self._walked < _MAX_WALKED:
            try:
                caller = self._processor.caller(self._code, registers, called=called)
            except NotHeld:
                self._wanted = self._file_wanted(registers.pc - 1 if called else registers.pc)
                return False, registers.sp
            if caller is None:
                return False, registers.sp
            registers, called = caller.registers, caller.called
            if registers.pc == 0:
                return True, registers.sp
            self._add(registers.pc, registers.sp, caller.trust, called=called)
        return False, registers.sp

    def _file_wanted(self, address: int) -> str | None:
        """The module at an address, unless its file was found and did not help, or it is not from Windows."""
        module = self._code.modules.at(address)
        if module and module.name.startswith("/"):
            return None
        image = self._code.image(module) if module else None
        return module.file if module and (image is None or image.kind == "dump") else None

    def _scan(self, sp: int) -> tuple[str, ...]:
        """The modules that the words of the stack point into, in their order, each once."""
        word = self._processor.WORD
        data = self._code.memory.read(sp, _MAX_SCANNED_WORDS * word)
        seen: dict[str, None] = {}
        for at in range(0, len(data) - word + 1, word):
            value = int.from_bytes(data[at : at + word], "little")
            module = self._code.modules.at(value)
            if module is None or module.file in seen or len(seen) >= _MAX_SCANNED_NAMES:
                continue
            if self._processor.may_return_to(self._code, value):
                seen[module.file] = None
        return tuple(seen)

    def _add(self, pc: int, sp: int, trust: Trust, *, called: bool = False) -> None:
        self._walked += 1
        if len(self._frames) < MAX_FRAMES:
            self._frames.append(self._frame(pc, sp, trust, pc - 1 if called else pc))

    def _frame(self, pc: int, sp: int, trust: Trust, at: int) -> WalkedFrame:
        module = self._code.modules.at(at)
        if module is None:
            return WalkedFrame(pc, sp, trust)
        image = self._code.image(module)
        name = exact_name(image, self._exports_of(module, image), at - module.base) if image else None
        if name is None:
            return WalkedFrame(pc, sp, trust, module.file, None, pc - module.base)
        return WalkedFrame(pc, sp, trust, module.file, name.name, pc - module.base - name.begin)

    def _exports_of(self, module: Module, image: Image) -> ExportTable:
        if module not in self._exports:
            self._exports[module] = ExportTable(image)
        return self._exports[module]


class Threads:
    """Walks the threads of one dump and turns their stacks into those of a crash.

    `wanted` is the module whose file would let the crashed thread be walked further; `crashed_python` is the Python
    stack of that thread. `stored` are stacks by thread that were walked on the machine of the crash, where all files
    were at hand.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        memory: AddressSpace,
        images: Images,
        *,
        has_python: bool,
        stored: Mapping[int, tuple[NativeFrame, ...]] = MappingProxyType({}),
    ) -> None:
        self.wanted: str | None = None
        self.crashed_python = PythonStack()
        self._modules = modules
        self._map = ModuleMap(modules)
        self._memory = memory
        self._images = images
        self._has_python = has_python
        self._stored = stored

    def crashed_first(
        self, records: Sequence[ThreadRecord], crashed: int | None, registers: Registers | None, place: Place
    ) -> tuple[Thread, ...]:
        """Every thread with its stacks; `crashed` is the id of the crashed one, and `registers` those of the crash."""
        ordered = sorted(records, key=lambda thread: thread.id != crashed)[:_MOST_THREADS]
        if crashed is not None and not any(record.id == crashed for record in ordered):
            ordered.insert(0, ThreadRecord(crashed))
        until = time.monotonic() + _SECONDS_FOR_THE_REST
        found = []
        for record in ordered:
            is_crashed = record.id == crashed
            here = registers if is_crashed else record.registers
            if not is_crashed and time.monotonic() > until:
                here = None
            found.append(self._thread(record, here, is_crashed)._replace(place=place))
        return tuple(found)

    def _thread(self, record: ThreadRecord, registers: Registers | None, is_crashed: bool) -> Thread:
        if registers is None:
            return Thread(record.name, is_crashed, id=record.id)
        stack = walk(self._modules, self._memory, registers, self._images)
        native, stored = self._native(stack), self._stored.get(record.id, ())
        is_better = len(stored) > len(native)
        if is_crashed and not is_better:
            self.wanted = stack.wanted
        return Thread(
            record.name,
            is_crashed,
            self._python(record.id, is_crashed),
            stored if is_better else native,
            seen_modules=tuple(dict.fromkeys(base_name(name) for name in stack.seen))[:_MOST_SEEN],
            id=record.id,
        )

    def _python(self, thread: int, is_crashed: bool) -> tuple[PythonFrame, ...]:
        if not self._has_python:
            return ()
        found = python_frames(self._modules, self._memory, thread, self._images)
        if is_crashed:
            self.crashed_python = found
        return found.frames

    def _native(self, stack: WalkedStack) -> tuple[NativeFrame, ...]:
        frames = tuple(self._frame(frame) for frame in stack.frames)
        if stack.left_out:
            frames += (NativeFrame(None, f"{stack.left_out:,} more frames", trust="omitted"),)
        return frames

    def _frame(self, frame: WalkedFrame) -> NativeFrame:
        # A return address may be just after the last instruction of its module.
        module = self._map.at(frame.pc) or self._map.at(frame.pc - 1)
        name = base_name(frame.module) if frame.module else None
        own = module is not None and module_owner(module.name) == "own"
        return NativeFrame(name, frame.function, frame.offset, frame.trust, own=own)


def faulting_module(frames: Sequence[NativeFrame]) -> str | None:
    """The first module that is not machinery for raising and exiting; None if no frame shows one."""
    for frame in frames:
        if frame.module and not is_machinery_module(frame.module):
            return frame.module
    return None
