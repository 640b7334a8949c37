"""The call stack of a thread out of a dump: each frame says how it was found, and where it cannot be sure it ends."""

from __future__ import annotations

from collections.abc import Iterable

from triage.crash import Trust
from triage.readers.minidump.exact_names import ExportTable, exact_name
from triage.readers.minidump.frame_pointers import arm64_caller, bad_jump_caller, x86_caller
from triage.readers.minidump.module_map import ModuleMap
from triage.readers.minidump.pe_image import Image, NotHeld
from triage.readers.minidump.scanning import Code, Images, modules_seen
from triage.readers.minidump.shapes import AddressSpace, Module, Registers, Stack, WalkedFrame
from triage.readers.minidump.x64_leaves import leave_leaf
from triage.readers.minidump.x64_machine import RSP, Machine, machine_of
from triage.readers.minidump.x64_unwinding import unwind

MAX_FRAMES = 256
# How far a stack that ran over is followed to count what is left out.
_MAX_WALKED = 8192


def walk(modules: Iterable[Module], memory: AddressSpace, registers: Registers, images: Images) -> Stack:
    """Walk one thread from its registers. `images` finds the PE images that x64 needs to go further than the pc."""
    return _Walk(ModuleMap(modules), memory, images).run(registers)


class _Walk:
    """One walk, with what it has read of the images on the way."""

    def __init__(self, modules: ModuleMap, memory: AddressSpace, images: Images) -> None:
        self._memory = memory
        self._code = Code(modules, memory, images)
        self._exports: dict[Module, ExportTable] = {}
        self._frames: list[WalkedFrame] = []
        self._walked = 0
        self._wanted: str | None = None

    def run(self, registers: Registers) -> Stack:
        self._add(registers.pc, registers.sp, "context")
        whole, sp = self._x64(registers) if registers.architecture == "x64" else self._chain(registers)
        seen: tuple[str, ...] = ()
        if not whole and self._walked < _MAX_WALKED:
            width = 4 if registers.architecture == "x86" else 8
            seen = modules_seen(self._code, self._memory, sp, width, registers.architecture)
        return Stack(tuple(self._frames), seen, self._walked - len(self._frames), self._wanted)

    def _x64(self, registers: Registers) -> tuple[bool, int]:
        """Whether the stack was followed to its end, and the stack pointer where it was left."""
        machine = machine_of(self._memory, registers)
        interrupted = True
        while self._walked < _MAX_WALKED:
            caller = Machine(self._memory, machine.pc, list(machine.registers))
            try:
                trust, called = self._x64_step(caller, interrupted)
            except NotHeld:
                self._wanted = self._file_wanted(machine.pc if interrupted else machine.pc - 1)
                return False, machine.registers[RSP]
            sp = caller.registers[RSP]
            if sp <= machine.registers[RSP] or sp % 8:
                return False, machine.registers[RSP]
            if caller.pc == 0:
                return True, sp
            if called and not self._may_return_to(caller.pc):
                return False, machine.registers[RSP]
            machine, interrupted = caller, not called
            self._add(machine.pc, sp, trust, called=called)
        return False, machine.registers[RSP]

    def _x64_step(self, machine: Machine, interrupted: bool) -> tuple[Trust, bool]:
        """Move a machine to the caller: how that was done, and whether the caller was calling."""
        at = machine.pc if interrupted else machine.pc - 1
        module = self._code.modules.at(at)
        if module is None:
            return self._out_of_nowhere(machine, interrupted), True
        image = self._code.image(module)
        if image is None:
            raise NotHeld
        function = image.function_at(at - module.base)
        if function is not None:
            return "cfi", not unwind(machine, image, module.base, function, interrupted=interrupted)
        if not interrupted or not image.is_code(at - module.base):
            raise NotHeld  # a function without unwind data calls nobody
        leave_leaf(machine, image, module.base)
        return "leaf", True

    def _file_wanted(self, address: int) -> str | None:
        """The module at an address, unless its file was at hand and did not help, or it is none of Windows."""
        module = self._code.modules.at(address)
        if module and module.name.startswith("/"):
            return None
        image = self._code.image(module) if module else None
        return module.file if module and (image is None or image.kind == "dump") else None

    def _out_of_nowhere(self, machine: Machine, interrupted: bool) -> Trust:
        """A call to an address where no code is: the caller is on top of the stack, if a call instruction proves it."""
        machine.step_out()
        if not interrupted or not self._code.is_return_address(machine.pc):
            raise NotHeld
        return "leaf"

    def _may_return_to(self, pc: int) -> bool:
        is_return_address = self._code.is_return_address(pc)
        return bool(is_return_address) or (is_return_address is None and self._code.modules.at(pc - 1) is not None)

    def _chain(self, registers: Registers) -> tuple[bool, int]:
        """Follow the saved frame pointers of x86 and ARM64, as far as they make sense."""
        caller_of = x86_caller if registers.architecture == "x86" else arm64_caller
        caller = bad_jump_caller(self._code, self._memory, registers)
        if caller is not None:
            registers = caller
            self._add(registers.pc, registers.sp, "leaf", called=True)
        while self._walked < _MAX_WALKED:
            caller = caller_of(self._code, self._memory, registers)
            if caller is None:
                return False, registers.sp
            registers = caller
            if registers.pc == 0:
                return True, registers.sp
            self._add(registers.pc, registers.sp, "frame_pointer", called=True)
        return False, registers.sp

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
