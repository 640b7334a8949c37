"""Names of frames that called what never returns.

The address in such a frame is that of the instruction after the call, and where nothing comes back the compiler puts
the next function there: pystack, which looks names up at that address, gives that one's name, or none.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Collection, Iterable, Sequence

from triage.frames import function_name
from triage.stacks.core_file import build_id_of
from triage.stacks.memory_map import MemoryMap
from triage.stacks.stacks import RawFrame
from triage.stacks.unwind_stub import is_at_fixed_address, names_in

_NEVER_RETURNS = re.compile(
    r"^_*(?:GI_+)?(?:abort|assert(?:_perror)?_fail(?:_base)?|libc_(?:message|fatal)|malloc_printerr|stack_chk_fail"
    r"|fortify_fail(?:_abort)?|chk_fail|cxa_(?:throw|rethrow|bad_cast|pure_virtual)|exit|Exit|Unwind_Resume)$"
    r"|^std::(?:terminate|__throw_\w+)$|^__cxxabiv1::__terminate$|LogMessageFatal|LogMessage::(?:Fail\w*|Die)$"
    r"|^(?:_?Py_Fatal\w+|fatal_error\w*)$"
)
# What stands further out than this is not read any more by anyone.
_DEPTH = 64
_ROUNDS = 4
_LONGEST = 1024


def named_at_calls(frames: Sequence[RawFrame], map: MemoryMap, closed: Collection[str] = ()) -> tuple[RawFrame, ...]:
    """The frames, innermost first, with the names of the functions that made the calls; `closed` are not opened."""
    found = list(frames)
    looked_at: set[int] = set()
    # a name that is put right can be that of another function that never returns
    for _ in range(_ROUNDS):
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
    """Frames without a name, and those that called what never returns; of functions inlined there, the real one."""
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
    """The names of functions at some addresses of a process and at the bytes before them."""
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
    """Where a distribution puts the names that it stripped from a library."""
    build = build_id_of(path)
    return f"/usr/lib/debug/.build-id/{build.hex()[:2]}/{build.hex()[2:]}.debug" if build else None


def _demangled(name: str) -> str:
    """A C++ name as people write it; as it is where there is no C++ library to ask."""
    if not name.startswith("_Z") or len(name) > _LONGEST:
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
