"""MiniDumpWriteDump with the exception in our own memory."""

from __future__ import annotations

import ctypes
import json
import msvcrt
from contextlib import suppress
from ctypes import POINTER, Structure, byref, c_void_p
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPVOID
from pathlib import Path

from triage.capture.windows.live import winapi

# Unloaded modules, memory that the stacks point at, process and thread data, the memory map, thread times; and what
# can't be read is left out instead of failing the rest.
_FLAGS = 0x20 | 0x40 | 0x100 | 0x800 | 0x1000 | 0x20000
_FULL_MEMORY = 0x2
_COMMENT = 11


class _Pointers(Structure):
    _fields_ = (("record", c_void_p), ("context", c_void_p))


class _ExceptionInformation(Structure):
    _pack_ = 4
    _fields_ = (("thread", DWORD), ("pointers", c_void_p), ("in_their_memory", BOOL))


class _Stream(Structure):
    _pack_ = 4
    _fields_ = (("kind", DWORD), ("size", DWORD), ("content", c_void_p))


class _Streams(Structure):
    _pack_ = 4
    _fields_ = (("count", DWORD), ("first", POINTER(_Stream)))


def write_dump(
    path: Path,
    process: int,
    pid: int,
    thread: int | None,
    event: winapi.DebugEvent | None,
    comment: dict[str, object],
    *,
    full: bool = False,
) -> str | None:
    """Write a dump of a stopped process; the sentence of what went wrong, or None.

    `thread` is a handle of the thread that raised the exception of `event`; without both it is the dump of a process
    that hangs.
    """
    try:
        dbghelp = ctypes.WinDLL("dbghelp", use_last_error=True)
        write = dbghelp.MiniDumpWriteDump
    except (OSError, AttributeError):
        return "dbghelp.dll could not be loaded"
    write.restype = BOOL
    write.argtypes = (HANDLE, DWORD, HANDLE, DWORD, POINTER(_ExceptionInformation), POINTER(_Streams), LPVOID)
    text = ctypes.create_string_buffer(json.dumps(comment).encode("utf-16-le") + b"\0\0")
    stream = _Stream(_COMMENT, len(text), ctypes.addressof(text))
    information, registers = None, winapi.registers_of(thread) if thread else None
    if event is not None and registers is not None:
        record = event.of.exception.record
        pointers = _Pointers(ctypes.addressof(record), registers[1])
        information = byref(_ExceptionInformation(event.tid, ctypes.addressof(pointers), False))
    try:
        with open(path, "w+b") as file:
            written = write(
                process,
                pid,
                msvcrt.get_osfhandle(file.fileno()),
                _FLAGS | (_FULL_MEMORY if full else 0),
                information,
                byref(_Streams(1, ctypes.pointer(stream))),
                None,
            )
            error = ctypes.get_last_error()
            size = file.seek(0, 2)
        if written and size:
            return None
        reason = f"MiniDumpWriteDump failed with 0x{error & 0xFFFFFFFF:08X}"
    except OSError as error:
        reason = f"{error.strerror or error}"
    with suppress(OSError):
        path.unlink()
    return reason
