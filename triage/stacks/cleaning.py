"""Frames for people: without the handler that reported the crash and without the insides of the interpreter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeGuard

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
from triage.stacks.pystack_child import OUTERMOST
from triage.stacks.stacks import RawFrame

# What is left of a stack that is the interpreter's through and through.
_FEW = 6
# A recursion shows in this many repeats; what called it shows at the other end.
_REPEATS, _MOST, _OUTERMOST = 60, 480, 20


def fault_index(frames: Sequence[RawFrame], fault_pc: int | None = None) -> int | None:
    """Where the frame that faulted stands, below the handlers that ran because of it; None if none ran."""
    top = frames[:HANDLER_DEPTH]
    if fault_pc is not None:
        # The first of a run: functions that were inlined there have the one address. The last of the runs: an abort
        # stands there twice, as it was raised and as faulthandler raised it again.
        at = [n for n, frame in enumerate(top) if frame.address == fault_pc]
        return max((n for n in at if n - 1 not in at), default=None)
    door = last_handling([frame.symbol for frame in top])
    if door is None:
        door = max(_nameless_trampolines(top), default=None)
    return door + 1 if door is not None and door + 1 < len(frames) else None


def _nameless_trampolines(frames: Sequence[RawFrame]) -> list[int]:
    """A stripped C library does not name its trampoline; but the handler is sleep() and returns to it, twice."""
    for number, frame in enumerate(frames[:6]):
        if frame.symbol and function_name(frame.symbol).lstrip("_") == "sleep" and number + 1 < len(frames):
            door = frames[number + 1].address
            found = [n for n, other in enumerate(frames) if other.address == door]
            return found if len(found) > 1 else []
    return []


def clean(
    frames: Sequence[RawFrame],
    *,
    crashed: bool = False,
    fault_pc: int | None = None,
    left_out: int = 0,
    base: Callable[[str], int | None] = lambda module: None,
) -> tuple[NativeFrame, ...]:
    """A thread's native stack for people, innermost frame first; never empty when there are frames."""
    if crashed:
        frames = _below_handlers(frames, fault_pc)
    telling = [*map(all, zip(_telling(frames), _once(frames), strict=True))]
    if not any(telling):
        telling = [number < _FEW for number in range(len(frames))]
    # where the collector left some out, its outermost frames follow
    outer = sum(telling[-OUTERMOST:]) if left_out and len(frames) > OUTERMOST else 0
    kept = [
        _frame(frame, base, is_inlined=_is_inlined(frames, number))
        for number, frame in enumerate(frames)
        if telling[number]
    ]
    return _shortened(kept, left_out, outer)


def _once(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames are calls of their own: a part of a function that was split off and inlined again is not."""
    inlined = [(f.address, function_name(f.symbol) if f.symbol and is_inlined(f.symbol) else None) for f in frames]
    return [
        not number or not frame.symbol or inlined[number - 1] != (frame.address, function_name(frame.symbol))
        for number, frame in enumerate(frames)
    ]


def _is_inlined(frames: Sequence[RawFrame], number: int) -> bool:
    """Whether a function has no frame of its own; the part that was inlined into its own rest has."""
    is_part = number + 1 < len(frames) and not _once(frames[number : number + 2])[1]
    return is_inlined(frames[number].symbol or "") and not is_part


def clean_python(frames: Sequence[PythonFrame], left_out: int = 0) -> tuple[PythonFrame, ...]:
    """A thread's Python stack with a runaway recursion cut short."""
    end, tail = _ends([f"{frame.file}:{frame.function}" for frame in frames])
    gone = tail - end + left_out
    return (*frames[:end], PythonFrame("...", None, _count(gone)), *frames[tail:]) if gone else tuple(frames)


def _below_handlers(frames: Sequence[RawFrame], fault_pc: int | None) -> Sequence[RawFrame]:
    frames = frames[fault_index(frames, fault_pc) or 0 :]
    # an abort is raised by the thread itself: who asked for it matters, how it was sent does not
    return [frames[number] for number in without_reporting([Called(f.symbol, f.module) for f in frames])]


def _telling(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames a person learns something from."""
    found: list[bool] = []
    in_python = False  # below the first Python frame: that line and its callers are in the Python stack
    for frame in frames[: _without_start(frames)]:
        name = function_name(frame.symbol) if frame.symbol else ""
        of_python, what = is_interpreter(frame.module), role(name)
        in_python = in_python or (of_python and what == "evaluating")
        found.append(not of_python or not (in_python or what in ("evaluating", "calling", "starting")))
    return found + [False] * (len(frames) - len(found))


def _without_start(frames: Sequence[RawFrame]) -> int:
    """Where the stack ends for people: what starts a program or a thread has no name in a stripped C library."""
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
    """Code that was made while the program ran is in memory without a file, or in one without content."""
    return module is not None and module != "" and module_owner(module) != "generated"


def _shortened(frames: list[NativeFrame], left_out: int, outer: int) -> tuple[NativeFrame, ...]:
    end, tail = _ends([name_of(frame) for frame in frames])
    if outer:
        end, tail = min(end, len(frames) - outer), len(frames) - min(outer, _OUTERMOST)
    gone = tail - end + left_out
    return (*frames[:end], NativeFrame(None, _count(gone), trust="omitted"), *frames[tail:]) if gone else tuple(frames)


def _ends(names: list[str]) -> tuple[int, int]:
    """Where the innermost frames end and the outermost begin.

    The innermost go on until one function stands there often enough to be a recursion.
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
