"""Frames for people: without the handler that reported the crash and without the insides of the interpreter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeGuard

from triage.crash import NativeFrame, PythonFrame, base_name
from triage.native.names import short
from triage.native.pystack_child import OUTERMOST
from triage.native.stacks import RawFrame

# Frames between a fault and where its thread stands now: the handler, what it called, and the kernel's way into it.
_TRAMPOLINE = re.compile(r"^(?:__restore_rt|__restore|<signal handler called>|__kernel_rt_sigreturn|_*sigtramp)$")
_SENDING = re.compile(r"^_*(?:GI_+)?(?:raise|gsignal|t?g?kill|pthread_kill(?:_implementation|_internal)?)(?:64)?$")
_HANDLER_DEPTH = 40
# Between a check, an assertion or a throw that failed and the abort that ends it.
_ABORT = re.compile(r"^_*(?:GI_+)?abort$")
_LOGGING = ("log_internal", "internal", "google", "logging_internal")
_REPORTING = re.compile(
    r"^std::(?:terminate|rethrow_exception|__throw_\w+)$|^__cxxabiv1::|^__cxa_(?:re)?throw$|verbose_terminate_handler"
    r"|^_*(?:GI_+)?(?:malloc_printerr|libc_message(?:_impl|_wrapper)?|libc_fatal|fortify_fail\w*"
    r"|assert(?:_perror)?_fail(?:_base)?)$"
)
_REPORTING_DEPTH = 24
_RUNTIMES = re.compile(r"^(?:libc|libstdc\+\+)\.so")
_INLINED = " (inlined)"
# Libraries of the system, of installed packages, and of an interpreter that was built or unpacked somewhere.
_INSTALLED = re.compile(
    r"^/(?:usr|lib|lib64|opt|snap|nix|System|Library)/|/(?:site|dist)-packages/|/lib(?:64)?/(?:python\d|libpython)"
    r"|/bin/python|/(?:\.?pyenv|uv)/|^\["
)
_DISTRIBUTIONS = ("conda", "forge", "mamba")
_STARTING = re.compile(
    r"^_*(?:start|libc_start_(?:call_)?main(?:_impl)?|clone3?|start_thread|thread_start|main_thread)$"
)
_INTERPRETER = re.compile(r"^(?:libpython\d|python\d*(?:\.\d+)*[a-z]*$)")
_EVALUATION = re.compile(r"^_?PyEval_(?:EvalFrame|EvalCode|Vector)|^_PyEval_|^_TAIL_CALL_")
# How the interpreter calls things: the Python line that stands beside says the same in the person's own words.
_CALLING = re.compile(
    r"^_?Py(?:Object_(?:Vectorcall|Call|FastCall|MakeTpCall)|Vectorcall_|Function_Vectorcall|CFunction_|Eval_)"
    r"|^_?PyRun_|^Py_(?:BytesMain|RunMain|Main)$|^py(?:main|run)_|^run_(?:mod|eval_code_obj)$|vectorcall"
    r"|^(?:cfunction|method|type|slot_tp|object|partial|wrapper|wrap|function)_(?:call|new|init|FastCall|Vectorcall)"
    r"|^(?:call_function|do_call_core|context_run|thread_run|pythread_wrapper|bootstrap|trampoline_vectorcall)$"
    r"|^builtin_(?:exec|eval)(?:_impl)?$|^_TAIL_CALL_|^vectorcall_method$|^PyInit_"
)
# What is left of a stack that is the interpreter's through and through.
_FEW = 6
# A recursion shows in this many repeats; what called it shows at the other end.
_REPEATS, _MOST, _OUTERMOST = 60, 480, 20


def fault_index(frames: Sequence[RawFrame], fault_pc: int | None = None) -> int | None:
    """Where the frame that faulted stands, below the handlers that ran because of it; None if none ran."""
    top = frames[:_HANDLER_DEPTH]
    if fault_pc is not None:
        # The first of a run: functions that were inlined there have the one address. The last of the runs: an abort
        # stands there twice, as it was raised and as faulthandler raised it again.
        at = [n for n, frame in enumerate(top) if frame.address == fault_pc]
        return max((n for n in at if n - 1 not in at), default=None)
    doors = [n for n, frame in enumerate(top) if frame.symbol and _TRAMPOLINE.match(short(frame.symbol))]
    if not doors:
        doors = _nameless_trampolines(top)
    return doors[-1] + 1 if doors and doors[-1] + 1 < len(frames) else None


def _nameless_trampolines(frames: Sequence[RawFrame]) -> list[int]:
    """A stripped C library does not name its trampoline; but the handler is sleep() and returns to it, twice."""
    for number, frame in enumerate(frames[:6]):
        if frame.symbol and short(frame.symbol).lstrip("_") == "sleep" and number + 1 < len(frames):
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
    kept = [_frame(frame, base) for frame, is_told in zip(frames, telling, strict=True) if is_told]
    return _shortened(kept, left_out, outer)


def _once(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames are calls of their own: a part of a function that was split off and inlined again is not."""
    inlined = [(f.address, short(f.symbol) if f.symbol and f.symbol.endswith(_INLINED) else None) for f in frames]
    return [
        not number or not frame.symbol or inlined[number - 1] != (frame.address, short(frame.symbol))
        for number, frame in enumerate(frames)
    ]


def clean_python(frames: Sequence[PythonFrame], left_out: int = 0) -> tuple[PythonFrame, ...]:
    """A thread's Python stack with a runaway recursion cut short."""
    end, tail = _ends([f"{frame.file}:{frame.function}" for frame in frames])
    gone = tail - end + left_out
    return (*frames[:end], PythonFrame("...", None, _count(gone)), *frames[tail:]) if gone else tuple(frames)


def _below_handlers(frames: Sequence[RawFrame], fault_pc: int | None) -> Sequence[RawFrame]:
    start = fault_index(frames, fault_pc)
    frames = frames[start or 0 :]
    # an abort is raised by the thread itself: who asked for it matters, how it was sent does not
    sent = 0
    while sent < len(frames) and _is_sending(frames, sent):
        sent += 1
    return _without_reporting(frames[sent:]) if sent < len(frames) else frames


def _without_reporting(frames: Sequence[RawFrame]) -> Sequence[RawFrame]:
    """An abort next to what called for it; how the message about it was made is left out."""
    if not frames[0].symbol or not _ABORT.match(short(frames[0].symbol)):
        return frames
    end = 1
    for number, frame in enumerate(frames[1:_REPORTING_DEPTH], 1):
        name = short(frame.symbol) if frame.symbol else ""
        # their local functions are nameless where these are stripped
        if _is_reporting(name) or (not name and _RUNTIMES.match(base_name(frame.module or ""))):
            end = number + 1
        elif name:
            break
    return [frames[0], *frames[end:]]


def _is_reporting(name: str) -> bool:
    """Whether a function belongs to what writes the message about an abort."""
    in_logging = False
    for scope in name.split("::")[:-1]:
        if scope in ("LogMessage", "LogMessageFatal"):
            return True
        if in_logging and scope.startswith(("LogMessage", "CheckLogMessage")):
            return True
        # what is no plain name, such as {anonymous}, is no part of the logging library any more
        in_logging = scope in _LOGGING or (in_logging and scope.replace("_", "a").isalnum())
    return _REPORTING.search(name) is not None


def _is_sending(frames: Sequence[RawFrame], number: int) -> bool:
    symbol = frames[number].symbol
    if symbol is None:  # the innermost is a local function, which has no name where the C library is stripped
        return number == 0 and len(frames) > 1 and bool(frames[1].symbol) and _is_sending(frames, 1)
    return bool(_SENDING.match(short(symbol)))


def _telling(frames: Sequence[RawFrame]) -> list[bool]:
    """Which frames a person learns something from."""
    found: list[bool] = []
    in_python = False  # below the first Python frame: that line and its callers are in the Python stack
    for frame in frames[: _without_start(frames)]:
        name = short(frame.symbol) if frame.symbol else ""
        is_interpreter = _INTERPRETER.match(base_name(frame.module or "")) is not None
        in_python = in_python or (is_interpreter and _EVALUATION.match(name) is not None)
        found.append(not is_interpreter or not (in_python or _is_machinery(name)))
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
    return bool(_STARTING.match(short(frame.symbol)))


def _is_machinery(name: str) -> bool:
    return bool(_CALLING.search(name) or _EVALUATION.match(name) or _STARTING.match(name))


def _frame(frame: RawFrame, base: Callable[[str], int | None]) -> NativeFrame:
    source = f"{base_name(frame.file)}:{frame.line}" if frame.file and frame.line else None
    start = base(frame.module) if frame.module else None
    function = short(frame.symbol) if frame.symbol else None
    module = base_name(frame.module.removesuffix(" (deleted)")) if _is_file(frame.module) else None
    has_offset = module and not function and start is not None and frame.address >= start
    offset = frame.address - (start or 0) if has_offset else None
    own = module is not None and not _is_installed(frame.module or "")
    return NativeFrame(module, function, offset, "cfi", source, own)


def _is_installed(path: str) -> bool:
    folders = path.split("/")[1:-1]
    return bool(_INSTALLED.search(path)) or any(name in folder for folder in folders for name in _DISTRIBUTIONS)


def _is_file(module: str | None) -> TypeGuard[str]:
    """Code that was made while the program ran is in memory without a file, or in one without content."""
    return bool(module) and not str(module).startswith(("/dev/zero", "/memfd:", "/anon_hugepage", "//anon"))


def _shortened(frames: list[NativeFrame], left_out: int, outer: int) -> tuple[NativeFrame, ...]:
    end, tail = _ends([frame.name for frame in frames])
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
