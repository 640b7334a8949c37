"""The stacks of a dump's threads as frames of a crash: the one place from which they are walked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from triage.crash import NativeFrame, Place, PythonFrame, Thread, base_name
from triage.frames import is_machinery_module, module_owner
from triage.readers.minidump.module_map import ModuleMap
from triage.readers.minidump.python_frames import python_frames
from triage.readers.minidump.scanning import Images
from triage.readers.minidump.shapes import AddressSpace, Module, Registers, Stack, ThreadRecord, WalkedFrame
from triage.readers.minidump.walking import walk

# The thread that crashed is walked in any case; the others while this lasts.
_SECONDS_FOR_THE_REST = 1.0
_MOST_THREADS = 256
_MOST_SEEN = 24


class Threads:
    """Walks the threads of one dump. `wanted` is the module whose file would let the crashed thread be walked on.

    `no_python` says why there are no Python frames. `stored` are stacks by thread that were walked on the machine of
    the crash, where all files were at hand.
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
        self.no_python: str | None = None
        self._modules = modules
        self._map = ModuleMap(modules)
        self._memory = memory
        self._images = images
        self._has_python = has_python
        self._stored = stored

    def crashed_first(
        self, records: Sequence[ThreadRecord], crashed: int | None, registers: Registers | None, place: Place
    ) -> tuple[Thread, ...]:
        """Every thread with its stacks; `crashed` is the one that did, and `registers` are those it crashed with."""
        ordered = sorted(records, key=lambda thread: thread.id != crashed)[:_MOST_THREADS]
        if crashed is not None and not any(record.id == crashed for record in ordered):
            ordered.insert(0, ThreadRecord(crashed))
        until = time.monotonic() + _SECONDS_FOR_THE_REST
        found = []
        for record in ordered:
            is_crashed = record.id == crashed
            stands = registers if is_crashed else record.registers
            if not is_crashed and time.monotonic() > until:
                stands = None
            found.append(self._thread(record, stands, is_crashed)._replace(place=place))
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
            self.no_python = found.reason
        return found.frames

    def _native(self, stack: Stack) -> tuple[NativeFrame, ...]:
        frames = tuple(self._frame(frame) for frame in stack.frames)
        if stack.left_out:
            frames += (NativeFrame(None, f"{stack.left_out:,} more frames", trust="omitted"),)
        return frames

    def _frame(self, frame: WalkedFrame) -> NativeFrame:
        # A return address may lie just behind its module's last instruction.
        module = self._map.at(frame.pc) or self._map.at(frame.pc - 1)
        name = base_name(frame.module) if frame.module else None
        own = module is not None and module_owner(module.name) == "own"
        return NativeFrame(name, frame.function, frame.offset, frame.trust, own=own)


def faulting_module(frames: Sequence[NativeFrame]) -> str | None:
    """The first module that is not the machinery which raises and ends; None where no frame shows one."""
    for frame in frames:
        if frame.module and not is_machinery_module(frame.module):
            return frame.module
    return None
