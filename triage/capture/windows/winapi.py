"""The calls of Windows that a debugger needs, through ctypes."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, Structure, Union, byref, c_byte, c_size_t, c_void_p, sizeof
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPCWSTR, LPVOID, LPWSTR, WORD

assert sys.platform == "win32"

kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)

EXCEPTION, NEW_THREAD, NEW_PROCESS, END_OF_THREAD, END_OF_PROCESS, DLL_LOADED = 1, 2, 3, 4, 5, 6
CONTINUE, NOT_HANDLED = 0x00010002, 0x80010001
_DEBUG_PROCESS, _UNICODE_ENVIRONMENT = 0x1, 0x400
_USE_STANDARD_HANDLES = 0x100
_STANDARD_HANDLES = (-10, -11, -12)
_TIMED_OUT = (121, 258)
_STILL_THERE = 258


class ExceptionRecord(Structure):
    """EXCEPTION_RECORD."""

    _fields_ = (
        ("code", DWORD),
        ("flags", DWORD),
        ("record", c_void_p),
        ("address", c_void_p),
        ("count", DWORD),
        ("parameters", c_size_t * 15),
    )


class ExceptionInfo(Structure):
    """EXCEPTION_DEBUG_INFO."""

    _fields_ = (("record", ExceptionRecord), ("first_chance", DWORD))


class ProcessInfo(Structure):
    """CREATE_PROCESS_DEBUG_INFO."""

    _fields_ = (
        ("file", HANDLE),
        ("process", HANDLE),
        ("thread", HANDLE),
        ("base", c_void_p),
        ("debug_offset", DWORD),
        ("debug_size", DWORD),
        ("thread_local", c_void_p),
        ("start", c_void_p),
        ("name", c_void_p),
        ("unicode", WORD),
    )


class ThreadInfo(Structure):
    """CREATE_THREAD_DEBUG_INFO."""

    _fields_ = (("thread", HANDLE), ("thread_local", c_void_p), ("start", c_void_p))


class _Anything(Union):
    _fields_ = (
        ("exception", ExceptionInfo),
        ("process", ProcessInfo),
        ("thread", ThreadInfo),
        ("file", HANDLE),
        ("exit_code", DWORD),
        ("room", c_byte * 160),
    )


class DebugEvent(Structure):
    """DEBUG_EVENT."""

    _fields_ = (("kind", DWORD), ("pid", DWORD), ("tid", DWORD), ("of", _Anything))


class _StartupInfo(Structure):
    _fields_ = (
        ("size", DWORD),
        ("reserved", LPWSTR),
        ("desktop", LPWSTR),
        ("title", LPWSTR),
        ("numbers", DWORD * 7),
        ("flags", DWORD),
        ("show", WORD),
        ("more", WORD),
        ("more_reserved", c_void_p),
        ("handles", HANDLE * 3),
    )


class _ProcessInformation(Structure):
    _fields_ = (("process", HANDLE), ("thread", HANDLE), ("pid", DWORD), ("tid", DWORD))


class _MemoryCounters(Structure):
    _fields_ = (("size", DWORD), ("page_faults", DWORD), ("peak_working_set", c_size_t), ("others", c_size_t * 7))


def _declare(name: str, result: object, *arguments: object) -> None:
    function = getattr(kernel32, name)
    function.restype, function.argtypes = result, arguments


_declare(
    "CreateProcessW",
    BOOL,
    LPCWSTR,
    LPWSTR,
    LPVOID,
    LPVOID,
    BOOL,
    DWORD,
    LPVOID,
    LPCWSTR,
    POINTER(_StartupInfo),
    POINTER(_ProcessInformation),
)
_declare("WaitForDebugEvent", BOOL, POINTER(DebugEvent), DWORD)
_declare("ContinueDebugEvent", BOOL, DWORD, DWORD, DWORD)
_declare("DebugSetProcessKillOnExit", BOOL, BOOL)
_declare("DebugActiveProcessStop", BOOL, DWORD)
_declare("TerminateProcess", BOOL, HANDLE, DWORD)
_declare("WaitForSingleObject", DWORD, HANDLE, DWORD)
_declare("GetExitCodeProcess", BOOL, HANDLE, POINTER(DWORD))
_declare("GetThreadContext", BOOL, HANDLE, LPVOID)
_declare("GetStdHandle", HANDLE, DWORD)
_declare("CloseHandle", BOOL, HANDLE)
_declare("K32GetProcessMemoryInfo", BOOL, HANDLE, POINTER(_MemoryCounters), DWORD)


def start(
    path: str | None, command_line: str, environment: dict[str, str], streams: dict[int, int], *, debug: bool
) -> tuple[int, int]:
    """Start a program; its process number and a handle of it. Raises OSError.

    `streams` has handles for the descriptors that the program is not to share with us. Without any, it gets what it
    would get from a shell, the console included.
    """
    information, startup = _ProcessInformation(), _StartupInfo()
    startup.size = sizeof(startup)
    if streams:
        startup.flags = _USE_STANDARD_HANDLES
        ours = [kernel32.GetStdHandle(number & 0xFFFFFFFF) for number in _STANDARD_HANDLES]
        startup.handles = (HANDLE * 3)(*(streams.get(number, handle) for number, handle in enumerate(ours)))
    block = "".join(f"{name}={value}\0" for name, value in sorted(environment.items())) + "\0"
    flags = _UNICODE_ENVIRONMENT | (_DEBUG_PROCESS if debug else 0)
    if not kernel32.CreateProcessW(
        path,
        ctypes.create_unicode_buffer(command_line),
        None,
        None,
        True,
        flags,
        ctypes.create_unicode_buffer(block),
        None,
        byref(startup),
        byref(information),
    ):
        raise last_error()
    close(information.thread)
    return int(information.pid), int(information.process)


def last_error() -> OSError:
    """Why the last call failed."""
    return ctypes.WinError(ctypes.get_last_error())


def next_event(milliseconds: int) -> DebugEvent | None:
    """The next event of a debugged process, None if none comes in time; raises OSError where none can come."""
    event = DebugEvent()
    if kernel32.WaitForDebugEvent(byref(event), milliseconds):
        return event
    if ctypes.get_last_error() in _TIMED_OUT:
        return None
    raise last_error()


def go_on(event: DebugEvent, *, handled: bool = True) -> None:
    """Let the process of an event continue; an exception that we do not handle is left to the program."""
    kernel32.ContinueDebugEvent(event.pid, event.tid, CONTINUE if handled else NOT_HANDLED)


def close(handle: int | None) -> None:
    """Close a handle that we were given."""
    if handle:
        kernel32.CloseHandle(handle)


def end_process(handle: int, code: int) -> None:
    """End a process at once."""
    kernel32.TerminateProcess(handle, code)


def exit_code_of(handle: int, milliseconds: int) -> int | None:
    """The exit code of a process, None if it still runs after this time."""
    if kernel32.WaitForSingleObject(handle, milliseconds) == _STILL_THERE:
        return None
    code = DWORD()
    kernel32.GetExitCodeProcess(handle, byref(code))
    return int(code.value)


def peak_memory_of(handle: int) -> int | None:
    """The most memory that a process had at once, in bytes."""
    counters = _MemoryCounters()
    counters.size = sizeof(counters)
    if not kernel32.K32GetProcessMemoryInfo(handle, byref(counters), sizeof(counters)):
        return None
    return int(counters.peak_working_set) or None


def registers_of(thread: int) -> tuple[object, int] | None:
    """The CONTEXT of a stopped thread: what owns its memory, and its address, which must be a multiple of 16."""
    owner = ctypes.create_string_buffer(4096)
    address = (ctypes.addressof(owner) + 15) & ~15
    # Where the flags are, and those that ask for all registers: of x86, ARM64 and x64.
    if sizeof(c_void_p) == 4:
        offset, flags = 0, 0x0001003F
    elif os.environ.get("PROCESSOR_ARCHITECTURE", "").upper() == "ARM64":
        offset, flags = 0, 0x00400007
    else:
        offset, flags = 0x30, 0x0010001F
    ctypes.c_uint32.from_address(address + offset).value = flags
    return (owner, address) if kernel32.GetThreadContext(thread, address) else None
