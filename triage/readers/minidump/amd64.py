"""x64: stacks are unwound as Windows does it, with the unwind data that compilers put into .pdata and .xdata.

The registers of the caller are computed and never guessed. Where a byte is missing or makes no sense, `NotHeld` ends
the walk: a frame that is marked `cfi` must be right.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from triage.crash import Trust
from triage.readers.minidump import x86
from triage.readers.minidump.memory import AddressSpace, NotHeld
from triage.readers.minidump.pe import Function, Image, chained, primary
from triage.readers.minidump.processor import Caller, Code
from triage.readers.minidump.streams import Registers

WORD = 8
RSP = 4
_TOP = 1 << 64
# In the order of their numbers in instructions, in unwind codes and in a stored context, where rip comes next.
_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))

_MAX_CHAIN = 32
# Longer than any prolog: all of it has run.
_WHOLE_PROLOG = 0x100
_PUSH, _ALLOC_LARGE, _ALLOC_SMALL, _SET_FRAME, _SAVE, _SAVE_FAR = 0, 1, 2, 3, 4, 5
_EPILOG, _SPARE, _SAVE_XMM, _SAVE_XMM_FAR, _MACHINE_FRAME = 6, 7, 8, 9, 10

# `lea rsp` with a large distance, pops of all registers, and the jump
_LONGEST_EPILOG = 48
_MAX_POPS = 16

# The stack probe of GCC has no unwind data and still pushes rcx and rax, which it pops again at this distance. A stack
# overflow in a library built by GCC is always in this probe.
_PROBE = bytes.fromhex("5150483d00100000488d4c2418")
_PROBE_PUSHED = range(2, 0x30)


class RegisterFile:
    """The registers during unwinding, by number, with the memory they point to."""

    def __init__(self, memory: AddressSpace, pc: int, registers: list[int]) -> None:
        self.memory = memory
        self.pc = pc
        self.registers = registers

    def word(self, address: int) -> int:
        """The eight bytes at an address of the process."""
        data = self.memory.read(address, WORD)
        if len(data) != WORD:
            raise NotHeld
        return int.from_bytes(data, "little")

    def pop(self) -> int:
        """Take the top word off the stack."""
        value = self.word(self.registers[RSP])
        self.move_stack(WORD)
        return value

    def move_stack(self, size: int) -> None:
        """Take that many bytes off the stack."""
        self.registers[RSP] = (self.registers[RSP] + size) % _TOP

    def step_out(self) -> None:
        """Go back to the caller, whose address is on top of the stack."""
        self.pc = self.pop()


def registers_in(context: bytes) -> Registers:
    """The registers in the stored context of a thread."""
    values = dict(zip((*_NAMES, "rip"), struct.unpack_from("<17Q", context, 0x78), strict=True))
    return Registers("x64", values["rip"], values["rsp"], values["rbp"], values)


def caller(code: Code, registers: Registers, *, called: bool) -> Caller | None:
    """The caller by unwind data, or from the top of the stack if a function has none."""
    numbered = [registers.values.get(name, 0) for name in _NAMES]
    numbered[RSP] = registers.sp
    state = RegisterFile(code.memory, registers.pc, numbered)
    trust, is_calling = _step(code, state, called=called)
    sp = state.registers[RSP]
    if sp <= registers.sp or sp % WORD:
        return None
    if state.pc and is_calling and not _is_caller(code, state.pc):
        return None
    values = dict(zip(_NAMES, state.registers, strict=True))
    return Caller(Registers("x64", state.pc, sp, values["rbp"], values), trust, is_calling)


def _step(code: Code, state: RegisterFile, *, called: bool) -> tuple[Trust, bool]:
    """Move the registers to the caller; returns how, and whether the caller was calling."""
    at = state.pc - 1 if called else state.pc
    module = code.modules.at(at)
    if module is None:
        _leave_nowhere(code, state, called=called)
        return "leaf", True
    image = code.image(module)
    if image is None:
        raise NotHeld
    function = image.function_at(at - module.base)
    if function is not None:
        return "cfi", not unwind(state, image, module.base, function, interrupted=not called)
    if called or not image.is_code(at - module.base):
        raise NotHeld  # a function without unwind data calls nothing
    _leave_leaf(state, image, module.base)
    return "leaf", True


def _is_caller(code: Code, pc: int) -> bool:
    """Whether a call ends at an address; if that cannot be seen, whether the address is at least in a module."""
    is_call = x86.is_return_address(code, pc)
    return bool(is_call) or (is_call is None and code.modules.at(pc - 1) is not None)


def may_return_to(code: Code, address: int) -> bool:
    """Whether there can be a call before an address; calls are encoded as on x86."""
    return x86.may_return_to(code, address)


def _leave_nowhere(code: Code, state: RegisterFile, *, called: bool) -> None:
    """Undo a call to an address without code: the caller is on top of the stack if a call instruction proves it."""
    state.step_out()
    if called or not x86.is_return_address(code, state.pc):
        raise NotHeld


def _leave_leaf(state: RegisterFile, image: Image, base: int) -> None:
    """Leave a function without unwind data, which by the x64 rules does not change the stack."""
    if _in_probe(image, state.pc - base):
        state.move_stack(2 * WORD)
    state.step_out()


def _in_probe(image: Image, at: int) -> bool:
    start = max(0, at - _PROBE_PUSHED.stop)
    found = image.read(start, at + len(_PROBE) - start).rfind(_PROBE)
    return found >= 0 and at - (start + found) in _PROBE_PUSHED


# Unwind data


class UnwindCode(NamedTuple):
    """One step of a prolog, in the order of undoing. `at` is the offset after the instruction that does it."""

    at: int
    operation: int
    info: int
    operand: int


class UnwindInfo(NamedTuple):
    """What a function does to the stack before its body runs."""

    prolog: int
    frame_register: int
    frame_offset: int
    codes: tuple[UnwindCode, ...]


def unwind(state: RegisterFile, image: Image, base: int, function: Function, *, interrupted: bool) -> bool:
    """Move the registers from a function to its caller. True if the caller was interrupted, not calling.

    `interrupted` says that the pc is the instruction that was running and not one to return to: it may then be in an
    epilog. It may be in a prolog either way, since large prologs call a function that probes the stack.
    """
    at = state.pc - base
    if function.unwind & 1:  # the entry only points to another one, which has the unwind data
        function = Function(*struct.unpack("<III", image.read_exactly(function.unwind & ~1, 12)))
    parent = chained(image, function.unwind)
    if interrupted and _leave_epilog(state, image, base, function):
        return False
    offset = at - function.begin
    for _ in range(_MAX_CHAIN):
        info = read_unwind_info(image, function.unwind)
        done = offset if 0 <= offset < info.prolog else _WHOLE_PROLOG
        if _undo(state, info, done):
            return True
        if parent is None:
            state.step_out()
            return False
        function, parent = parent, chained(image, parent.unwind)
        offset = at - function.begin if function.begin <= at < function.end else -1
    raise NotHeld


def _undo(state: RegisterFile, info: UnwindInfo, done: int) -> bool:
    """Undo what a prolog has done; codes after `done` have not run yet. True at a machine frame, which ends it."""
    registers = state.registers
    frame = registers[RSP]
    has_frame = any(code.operation == _SET_FRAME and code.at <= done for code in info.codes)
    if info.frame_register and (done == _WHOLE_PROLOG or has_frame):
        frame = (registers[info.frame_register] - info.frame_offset) % _TOP
    for code in info.codes:
        if code.at > done:
            continue
        if code.operation == _PUSH:
            registers[code.info] = state.pop()
        elif code.operation in (_ALLOC_SMALL, _ALLOC_LARGE):
            state.move_stack(code.operand)
        elif code.operation == _SET_FRAME:
            if not info.frame_register:
                raise NotHeld
            registers[RSP] = frame
        elif code.operation in (_SAVE, _SAVE_FAR):
            registers[code.info] = state.word((frame + code.operand) % _TOP)
        elif code.operation == _MACHINE_FRAME:
            pushed = registers[RSP] + (WORD if code.info else 0)  # an error code comes before it
            state.pc, registers[RSP] = state.word(pushed), state.word(pushed + 3 * WORD)
            return True
    return False


def read_unwind_info(image: Image, rva: int) -> UnwindInfo:
    """The unwind data at an address; `NotHeld` if it is missing or of an unknown kind."""
    head = image.read_exactly(rva, 4)
    version, prolog, count = head[0] & 7, head[1], head[2]
    if version not in (1, 2) or rva % 4:
        raise NotHeld
    slots = image.read_exactly(rva + 4, 2 * count) if count else b""
    return UnwindInfo(prolog, head[3] & 15, (head[3] >> 4) * 16, _codes(slots, version))


def _codes(slots: bytes, version: int) -> tuple[UnwindCode, ...]:
    codes = []
    at = 0
    while at < len(slots):
        operation, info = slots[at + 1] & 15, slots[at + 1] >> 4
        length = _slots_of(operation, info, version)
        if at + 2 * length > len(slots):
            raise NotHeld
        operand = int.from_bytes(slots[at + 2 : at + 2 * length], "little")
        if operation == _ALLOC_SMALL:
            operand = 8 * info + 8
        elif length == 2 and operation in (_ALLOC_LARGE, _SAVE):
            operand *= 8
        if not (operation == _EPILOG and version == 2):
            codes.append(UnwindCode(slots[at], operation, info, operand))
        at += 2 * length
    return tuple(codes)


def _slots_of(operation: int, info: int, version: int) -> int:
    """How many two-byte slots a code takes."""
    if operation in (_ALLOC_LARGE, _MACHINE_FRAME) and info > 1:
        raise NotHeld
    if operation == _ALLOC_LARGE:
        return 3 if info else 2
    if operation in (_PUSH, _ALLOC_SMALL, _SET_FRAME, _MACHINE_FRAME):
        return 1
    if operation == _EPILOG:  # in version 1 this number meant saving half an XMM register
        return 1 if version == 2 else 2
    if operation in (_SAVE, _SAVE_XMM):
        return 2
    if operation in (_SAVE_FAR, _SPARE, _SAVE_XMM_FAR):
        return 3
    raise NotHeld


# In an epilog part of the frame is already gone. Windows recognises one by its instructions, and so do we: at most one
# `add rsp` or `lea rsp`, then pops, then a return or a jump out of the function. There is no other form.


class _Epilog(NamedTuple):
    """The rest of an epilog. `base` is the register that the stack pointer is computed from, if not from itself."""

    base: int | None
    add: int
    pops: tuple[int, ...]


def _leave_epilog(state: RegisterFile, image: Image, image_base: int, function: Function) -> bool:
    """If the pc is in an epilog of this function, do the rest of it and return True; else change nothing."""
    at = state.pc - image_base
    epilog = _epilog(_code(state, image, at, min(_LONGEST_EPILOG, function.end - at)), at, image, function)
    if epilog is None:
        return False
    registers = state.registers
    if epilog.base is not None:
        registers[RSP] = registers[epilog.base]
    registers[RSP] = (registers[RSP] + epilog.add) % _TOP
    for register in epilog.pops:
        registers[register] = state.pop()
    state.step_out()
    return True


def _code(state: RegisterFile, image: Image, at: int, size: int) -> bytes:
    """The instructions from the pc on, from the memory of the process if the dump holds it."""
    in_dump, in_image = state.memory.read(state.pc, size), image.read(at, size)
    code = in_dump if len(in_dump) >= len(in_image) else in_image
    if not code:
        raise NotHeld
    return code


def _epilog(code: bytes, at: int, image: Image, function: Function) -> _Epilog | None:
    base, add, length = _stack_adjustment(code)
    pops: list[int] = []
    while len(pops) < _MAX_POPS:
        prefix = code[length] if len(code) > length + 1 and code[length] & 0xF0 == 0x40 else 0
        opcode = code[length + 1] if prefix else (code[length] if len(code) > length else 0)
        if not 0x58 <= opcode <= 0x5F:
            break
        pops.append(opcode - 0x58 + 8 * (prefix & 1))
        length += 2 if prefix else 1
    if RSP in pops or not _leaves(code[length:], at + length, image, function, bare=not length):
        return None
    return _Epilog(base, add, tuple(pops))


def _stack_adjustment(code: bytes) -> tuple[int | None, int, int]:
    """The `add rsp` or `lea rsp` that some code begins with: base register, distance, length in bytes."""
    if code[:3] == b"\x48\x83\xc4" and len(code) > 3:
        return None, _signed(code[3:4]), 4
    if code[:3] == b"\x48\x81\xc4" and len(code) > 6:
        return None, _signed(code[3:7]), 7
    if len(code) > 3 and code[0] in (0x48, 0x49) and code[1] == 0x8D and (code[2] >> 3) & 7 == RSP:
        mode, low = code[2] >> 6, code[2] & 7
        base = low + 8 * (code[0] & 1)
        if low == RSP:  # computed from two registers: no epilog does that
            return None, 0, 0
        if mode == 0 and low != 5:
            return base, 0, 3
        if mode == 1:
            return base, _signed(code[3:4]), 4
        if mode == 2 and len(code) > 6:
            return base, _signed(code[3:7]), 7
    return None, 0, 0


def _leaves(code: bytes, at: int, image: Image, function: Function, *, bare: bool) -> bool:
    """Whether an instruction leaves the function: a return, or a jump to somewhere else."""
    if code[:1] == b"\xc2":  # takes more than the address off the stack, which no x64 compiler does
        raise NotHeld
    if code[:1] == b"\xc3" or code[:2] in (b"\xf3\xc3", b"\xf2\xc3"):
        return True
    if code[:1] == b"\xeb" and len(code) > 1:
        return _jumps_out(at + 2 + _signed(code[1:2]), image, function, bare)
    if code[:1] == b"\xe9" and len(code) > 4:
        return _jumps_out(at + 5 + _signed(code[1:5]), image, function, bare)
    if code[:2] == b"\xff\x25":
        return True
    # Compilers leave through a pointer with a REX.W that the jump does not need: that tells an epilog from a switch.
    return len(code) > 2 and code[0] in (0x48, 0x49) and code[1] == 0xFF and (code[2] >> 3) & 7 == 4


def _jumps_out(target: int, image: Image, function: Function, bare: bool) -> bool:
    whole = primary(image, function)
    if target == whole.begin and function == whole:
        return True  # a tail call to itself
    if function.begin <= target < function.end:
        return False
    there = image.function_at(target) if image.is_code(target) else None
    if there and primary(image, there) == whole:
        return False
    if bare:  # a tail call, or a jump to a cold part that does not say where it belongs
        raise NotHeld
    return True


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)
