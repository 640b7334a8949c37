"""Native stacks from gdb alone, for processes that pystack cannot read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from triage import digits
from triage.stacks.faults import SIGNAL_FRAME, address_of, frames_of, thread_number
from triage.stacks.gdb_session import Gdb, GdbFailed
from triage.stacks.modules import Modules
from triage.stacks.stacks import RawFrame, RawThread
from triage.stacks.unwind_stub import names_in

_MOST_FRAMES = 240
_MOST_THREADS = 200
_ROUNDS = 40
_PLAIN = re.compile(r"^[A-Za-z0-9_.$@]+$")


def stacks(gdb: Gdb, modules: Modules, names: Mapping[int, str], only: int | None = None) -> tuple[RawThread, ...]:
    """The native stack of one thread or of every thread; as many as the time allows."""
    threads = []
    try:
        for thread in gdb.ask("-thread-info").get("threads", ())[:_MOST_THREADS]:
            tid = thread_number(thread) or 0
            if only in (None, tid):
                frames = _whole_stack(gdb, modules, str(thread["id"]))
                threads.append((tid, str(thread.get("name", "")), frames))
    except GdbFailed:
        if not threads:
            raise
    symbols = _symbols(gdb, modules, [frame for _, _, frames in threads for frame in frames])
    return tuple(
        RawThread(tid, names.get(tid, name), native=tuple(_frame(frame, modules, symbols) for frame in frames))
        for tid, name, frames in threads
    )


def _whole_stack(gdb: Gdb, modules: Modules, thread: str) -> list[dict[str, Any]]:
    """The stack, walked again for every library that it turns out to lead through."""
    frames: list[dict[str, Any]] = []
    for _ in range(_ROUNDS):
        frames = frames_of(gdb, thread, _MOST_FRAMES)
        if not modules.load_for(map(address_of, frames)):
            break
    return frames


def _symbols(gdb: Gdb, modules: Modules, frames: list[dict[str, Any]]) -> dict[int, str]:
    """The names of the frames in huge libraries, whose symbols gdb does not have."""
    found: dict[int, str] = {}
    for library in modules.huge:
        base = modules.map.base(library) or 0
        addresses = {a for a in map(address_of, frames) if modules.map.module_at(a) == library}
        try:
            # a return address can already belong to the next function: the call is the byte before
            names = names_in(library, [address - base - 1 for address in addresses])
        except (OSError, ValueError):
            continue
        found.update({address: names[address - base - 1] for address in addresses if address - base - 1 in names})
    return {address: _demangled(gdb, name) for address, name in found.items()}


def _demangled(gdb: Gdb, name: str) -> str:
    if not name.startswith("_Z") or not _PLAIN.match(name):
        return name
    try:
        return gdb.console(f"demangle -l c++ -- {name}", seconds=5).strip() or name
    except GdbFailed:
        return name


def _frame(frame: dict[str, Any], modules: Modules, symbols: Mapping[int, str]) -> RawFrame:
    address = address_of(frame)
    name = str(frame.get("func", "??"))
    if name != SIGNAL_FRAME:
        name = symbols.get(address, name)
    line = str(frame.get("line", ""))
    return RawFrame(
        address,
        None if name == "??" else name,
        modules.map.module_at(address),
        frame.get("file"),
        digits.whole(line),
    )
