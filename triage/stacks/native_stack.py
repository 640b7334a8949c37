"""A native stack, from what a debugger reports to what a person reads.

The names of frames are corrected, and the handler that reported the crash and the interpreter's internals are removed.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeGuard

from triage.crash import NativeFrame, PythonFrame, base_name
from triage.frames import (
    HANDLER_DEPTH,
    Called,
    function_name,
    is_inlined,
    is_interpreter,
    last_handling,
    module_owner,
    name_of,
    role,
    without_reporting,
)
from triage.stacks.elf import build_id_of, is_at_fixed_address, names_in
from triage.stacks.memory_map import MemoryMap
from triage.stacks.pystack_child import OUTERMOST

# How much to keep of a stack that has nothing but the interpreter's own frames.
_FEW = 6
# This many repeats make a recursion; the other end of the stack shows who called it.
_REPEATS, _MOST, _OUTERMOST = 60, 480, 20
_NEVER_RETURNS = re.compile(
    r"^_*(?:GI_+)?(?:abort|assert(?:_perror)?_fail(?:_base)?|libc_(?:message|fatal)|malloc_printerr|stack_chk_fail"
    r"|fortify_fail(?:_abort)?|chk_fail|cxa_(?:throw|rethrow|bad_cast|pure_virtual)|exit|Exit|Unwind_Resume)$"
    r"|^std::(?:terminate|__throw_\w+)$|^__cxxabiv1::__terminate$|LogMessageFatal|LogMessage::(?:Fail\w*|Die)$"
    r"|^(?:_?Py_Fatal\w+|fatal_error\w*)$"
)
# Nobody reads further out than this.
_DEPTH = 64
_NAMING_ROUNDS = 4
_LONGEST_NAME = 1024


class RawFrame(NamedTuple):
    """A native frame with its address in the process; `module` is the path of the file it was loaded from."""

    address: int
    symbol: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None


class RawThread(NamedTuple):
    """A thread's two stacks, innermost frame first."""

    tid: int
    name: str = ""
    python: tuple[PythonFrame, ...] = ()
    native: tuple[RawFrame, ...] = ()


def fault_index(frames: Sequence[RawFrame], fault_pc: int | None = None) -> int | None:
    """The index of the frame that faulted, below the handlers that ran because of it; None if none ran."""
    top = frames[:HANDLER_DEPTH]
    if fault_pc is not None:
        # Inlined functions share one address: take the first of such a run. An abort is there twice, as it was raised
        # and as faulthandler raised it again: take the last of the runs.
        at = [n for n, frame in enumerate(top) if frame.address == fault_pc]
        return max((n for n in at if n - 1 not in at), default=None)
    door = last_handling([frame.symbol for frame in top])
    if door is None:
        door = max(_nameless_trampolines(top), default=None)
    return door + 1 if door is not None and door + 1 < len(frames) else None


def _nameless_trampolines(frames: Sequence[RawFrame]) -> list[int]:
    """A stripped C library has no name for its trampoline, but our handler is sleep(), which returns to it, twice."""
    for number, frame in enumerate(frames[:6]):
        if frame.symbol and function_name(frame.symbol).lstrip("_") == "sleep" and number + 1 < len(frames):
            door = frames[number + 1].address
            found = [n for n, other in enumerate(frames) if other.address == door]
            return found if len(found) > 1 else []
    return []


def trimmed(
    frames: Sequence[RawFrame],
    *,
    crashed: bool = False,
    fault_pc: int | None = None,
    left_out: int = 0,
    base: Callable[[str], int | None] = lambda module: None,
) -> tuple[NativeFrame, ...]:
    """A thread's native stack as a person should see it, innermost frame first; never empty when there are frames."""
    if crashed:
        frames = _below_handlers(frames, fault_pc)
    kept = [*map(all, zip(_relevant(frames), _once(frames), strict=True))]
    if not any(kept):
        kept = [number < _FEW for number in range(len(frames))]
    # where frames were left out, the outermost ones follow the gap
    outer = sum(kept[-OUTERMOST:]) if left_out and len(frames) > OUTERMOST else 0
    shown = [
        _frame(frame, base, is_inlined=_is_inlined(frames, number))
        for number, frame in enumerate(frames)
        if kept[number]
    ]
    return _shortened(shown, left_out, outer)


def _once(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames are separate calls: a part of a function that was split off and inlined again is not."""
    inlined = [(f.address, function_name(f.symbol) if f.symbol and is_inlined(f.symbol) else None) for f in frames]
    return [
        not number or not frame.symbol or inlined[number - 1] != (frame.address, function_name(frame.symbol))
        for number, frame in enumerate(frames)
    ]


def _is_inlined(frames: Sequence[RawFrame], number: int) -> bool:
    """Whether a function was inlined into another one; a part inlined back into its own function does not count."""
    is_part = number + 1 < len(frames) and not _once(frames[number : number + 2])[1]
    return is_inlined(frames[number].symbol or "") and not is_part


def trimmed_python(frames: Sequence[PythonFrame], left_out: int = 0) -> tuple[PythonFrame, ...]:
    """A thread's Python stack with a runaway recursion cut short."""
    end, tail = _ends([f"{frame.file}:{frame.function}" for frame in frames])
    gone = tail - end + left_out
    return (*frames[:end], PythonFrame("...", None, _count(gone)), *frames[tail:]) if gone else tuple(frames)


def _below_handlers(frames: Sequence[RawFrame], fault_pc: int | None) -> Sequence[RawFrame]:
    frames = frames[fault_index(frames, fault_pc) or 0 :]
    # a thread raises an abort itself: who called abort() matters, how the signal was sent does not
    return [frames[number] for number in without_reporting([Called(f.symbol, f.module) for f in frames])]


def _relevant(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames tell a person something."""
    found: list[bool] = []
    in_python = False  # from the first Python frame outwards, the Python stack has it all
    for frame in frames[: _without_start(frames)]:
        name = function_name(frame.symbol) if frame.symbol else ""
        of_python, what = is_interpreter(frame.module), role(name)
        in_python = in_python or (of_python and what == "evaluating")
        found.append(not of_python or not (in_python or what in ("evaluating", "calling", "starting")))
    return found + [False] * (len(frames) - len(found))


def _without_start(frames: Sequence[RawFrame]) -> int:
    """The length of the stack without what starts a program or a thread, which a stripped libc does not name."""
    end = len(frames)
    while end > 1 and _is_start(frames[end - 1]):
        end -= 1
    return end


def _is_start(frame: RawFrame) -> bool:
    if frame.symbol is None:
        return base_name(frame.module or "").startswith("libc.so")
    return role(function_name(frame.symbol)) == "starting"


def _frame(frame: RawFrame, base: Callable[[str], int | None], *, is_inlined: bool) -> NativeFrame:
    source = f"{base_name(frame.file)}:{frame.line}" if frame.file and frame.line else None
    start = base(frame.module) if frame.module else None
    function = function_name(frame.symbol) if frame.symbol else None
    module = base_name(frame.module.removesuffix(" (deleted)")) if _is_file(frame.module) else None
    has_offset = module and not function and start is not None and frame.address >= start
    offset = frame.address - (start or 0) if has_offset else None
    own = module is not None and module_owner(frame.module or "") == "own"
    return NativeFrame(module, function, offset, "cfi", source, own, is_inlined)


def _is_file(module: str | None) -> TypeGuard[str]:
    """Whether a module is a file: code generated at run time has none, or an empty one."""
    return module is not None and module != "" and module_owner(module) != "generated"


def _shortened(frames: list[NativeFrame], left_out: int, outer: int) -> tuple[NativeFrame, ...]:
    end, tail = _ends([name_of(frame) for frame in frames])
    if outer:
        end, tail = min(end, len(frames) - outer), len(frames) - min(outer, _OUTERMOST)
    gone = tail - end + left_out
    return (*frames[:end], NativeFrame(None, _count(gone), trust="omitted"), *frames[tail:]) if gone else tuple(frames)


def _ends(names: list[str]) -> tuple[int, int]:
    """Where the innermost frames end and the outermost begin.

    The innermost ones end where a function has come often enough to be a recursion.
    """
    seen: Counter[str] = Counter()
    end = min(len(names), _MOST)
    for number, name in enumerate(names[:end], 1):
        seen[name] += 1
        if seen[name] >= _REPEATS:
            end = number
            break
    return end, max(end, len(names) - _OUTERMOST)


def _count(gone: int) -> str:
    return f"[{gone:,} more frames]"


def named_at_calls(frames: Sequence[RawFrame], map: MemoryMap, closed: Collection[str] = ()) -> tuple[RawFrame, ...]:
    """The frames, innermost first, each with the name of the function that made the call; `closed` are not opened.

    A frame's address is that of the instruction after the call. After a call that never returns, that may be the next
    function: pystack, which looks names up at that address, then gives the next function's name, or none.
    """
    found = list(frames)
    looked_at: set[int] = set()
    # a corrected name can be that of another function that never returns
    for _ in range(_NAMING_ROUNDS):
        wanted = [number for number in _doubtful(found) if found[number].address not in looked_at]
        if not wanted:
            break
        looked_at |= {found[number].address for number in wanted}
        names = _names({found[number].address for number in wanted}, map, closed)
        for number in wanted:
            frame = found[number]
            here, before = names.get(frame.address), names.get(frame.address - 1)
            if here != before:
                found[number] = frame._replace(symbol=_demangled(before) if before else None)
    return tuple(found)


def _doubtful(frames: Sequence[RawFrame]) -> list[int]:
    """Frames without a name, and those that called something that never returns; inlined ones are not counted."""
    found = []
    callee = 0
    for number, frame in enumerate(frames[:_DEPTH]):
        is_real = number + 1 == len(frames) or frames[number + 1].address != frame.address
        if not is_real:
            continue
        symbol = frames[callee].symbol
        if callee != number and (frame.symbol is None or (symbol and _NEVER_RETURNS.search(function_name(symbol)))):
            found.append(number)
        callee = number
    return found


def _names(addresses: Iterable[int], map: MemoryMap, closed: Collection[str]) -> dict[int, str]:
    """The names of the functions at some addresses and at the bytes before them."""
    by_file: dict[str, list[int]] = {}
    for address in addresses:
        if (path := map.module_at(address)) and path not in closed:
            by_file.setdefault(path, []).extend((address, address - 1))
    found: dict[int, str] = {}
    for path, inside in by_file.items():
        for file in (path, _debug_file(path)):
            try:
                base = 0 if is_at_fixed_address(path) else map.base(path) or 0
                names = names_in(file, [address - base for address in inside]) if file else {}
            except (OSError, ValueError):
                continue  # not on this machine any more, or no debug file
            found = {**{address + base: name for address, name in names.items()}, **found}
    return found


def _debug_file(path: str) -> str | None:
    """Where a distribution puts the names it stripped from a library."""
    build = build_id_of(path)
    return f"/usr/lib/debug/.build-id/{build.hex()[:2]}/{build.hex()[2:]}.debug" if build else None


def _demangled(name: str) -> str:
    """A C++ name as it is written in source; unchanged where there is no C++ library to ask."""
    if not name.startswith("_Z") or len(name) > _LONGEST_NAME:
        return name
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return name
    demangle.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    text = demangle(name.encode(), None, None, None)
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        free(text)
