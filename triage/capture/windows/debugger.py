"""Runs a program as its debugger, and so sees what no handler inside it can: a fast fail, a stack that is used up.

Everything that the program starts is debugged as well: the python.exe of a virtual environment is only a launcher, and
the interpreter that crashes is its child. All of this has to be done by the thread that started the program.
"""

from __future__ import annotations

import ctypes
import json
import msvcrt
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, Structure, byref, c_void_p
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPVOID
from pathlib import Path

from triage.capture.windows import winapi
from triage.capture.windows.debug_events import ExceptionEvent, Watch
from triage.capture.windows.dump_files import DumpPlaces

assert sys.platform == "win32"

_ENDED_BY_US = 1
# Unloaded modules, memory that the stacks point at, process and thread data, the memory map, thread times; and what
# can't be read is left out instead of failing the rest.
_FLAGS = 0x20 | 0x40 | 0x100 | 0x800 | 0x1000 | 0x20000
_FULL_MEMORY = 0x2
_COMMENT = 11


class DebuggedProgram:
    """A program and all that it starts, with us as their debugger.

    `finished` says whether the Python of a process ended by itself (None where our hook did not run in it).
    """

    def __init__(self, places: DumpPlaces, finished: Callable[[int], bool | None], *, full: bool) -> None:
        self.watch = Watch()
        self.pid = 0
        self.dumps: dict[int, Path] = {}
        self.problems: list[str] = []
        self.peaks: dict[int, int] = {}
        self._places = places
        self._finished = finished
        self._full = full
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self._parts: dict[int, Path] = {}

    def start(self, path: str | None, command_line: str, environment: dict[str, str], streams: dict[int, int]) -> None:
        """Start it; raises OSError."""
        # Windows gives a debugged program a slow heap that checks itself: it would crash differently than without us.
        self.pid, handle = winapi.start(path, command_line, {"_NO_DEBUG_HEAP": "1", **environment}, streams, debug=True)
        winapi.close(handle)  # the debug events bring one of their own
        # Should we be killed, the program goes on.
        winapi.kernel32.DebugSetProcessKillOnExit(False)

    def wait(self, milliseconds: int) -> int | None:
        """Handle what happens in this time; the exit code once the program has ended."""
        while event := winapi.next_event(milliseconds):
            milliseconds = 0 if self._has_ended else milliseconds
            handled = True
            try:
                handled = self._attend(event)
            finally:
                winapi.go_on(event, handled=handled)
            if not self._processes:
                break
            if not self._has_ended:
                return None
        root = self.watch.processes.get(self.pid)
        return root.exit_code if root else None

    @property
    def running(self) -> tuple[int, ...]:
        """The processes of the run that have not ended."""
        return tuple(self._processes)

    @property
    def _has_ended(self) -> bool:
        root = self.watch.processes.get(self.pid)
        return root is not None and root.exit_code is not None

    def leave(self) -> None:
        """Let processes that outlive the program run on without us."""
        for pid in self.running:
            winapi.kernel32.DebugActiveProcessStop(pid)
            if part := self._parts.pop(pid, None):
                with suppress(OSError):
                    part.unlink()
        self._processes.clear()

    def dump_hanging(self, pid: int, comment: dict[str, object]) -> None:
        """A dump of a process that hangs: no exception, but every thread."""
        if pid in self._processes and pid not in self.dumps:
            self._write(pid, None, "hang", comment)
            self._keep(pid)

    def end_all(self) -> None:
        """End every process of the run; their last events still have to be handled."""
        for handle in self._processes.values():
            winapi.end_process(handle, _ENDED_BY_US)

    def _attend(self, event: winapi.DebugEvent) -> bool:
        """React to an event; returns whether it counts as handled."""
        pid = event.pid
        if event.kind == winapi.NEW_PROCESS:
            self.watch.began(pid)
            self._processes[pid] = event.of.process.process
            self._threads[pid, event.tid] = event.of.process.thread
            winapi.close(event.of.process.file)
        elif event.kind == winapi.NEW_THREAD:
            self._threads[pid, event.tid] = event.of.thread.thread
        elif event.kind == winapi.END_OF_THREAD:
            self._threads.pop((pid, event.tid), None)
        elif event.kind == winapi.DLL_LOADED:
            winapi.close(event.of.file)
        elif event.kind == winapi.END_OF_PROCESS:
            self._ended(pid, event.of.exit_code)
        elif event.kind == winapi.EXCEPTION:
            return self._raised(event)
        return True

    def _raised(self, event: winapi.DebugEvent) -> bool:
        record = event.of.exception.record
        error = ExceptionEvent(
            event.tid,
            record.code,
            bool(event.of.exception.first_chance),
            tuple(record.parameters[: min(record.count, 15)]),
        )
        reaction = self.watch.raised(event.pid, error)
        if reaction.dump and event.pid in self._processes:
            self._write(event.pid, event, reaction.dump, _comment_of(error))
            if reaction.dump == "final":
                self._keep(event.pid)
        return reaction.handled

    def _write(self, pid: int, event: winapi.DebugEvent | None, kind: str, comment: dict[str, object]) -> None:
        thread = self._threads.get((pid, event.tid)) if event is not None else None
        self._note_peak(pid)
        part = self._places.temporary(pid, kind)
        try:
            self._places.prepare()
            problem = _write_dump(part, self._processes[pid], pid, thread, event, comment, full=self._full)
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            self.problems.append(f"the dump of process {pid} could not be written ({problem}); try --save DIR.")
            return
        if older := self._parts.pop(pid, None):
            with suppress(OSError):
                older.unlink()
        self._parts[pid] = part

    def _note_peak(self, pid: int) -> None:
        self.peaks[pid] = max(self.peaks.get(pid, 0), winapi.peak_memory_of(self._processes[pid]) or 0)

    def _keep(self, pid: int) -> None:
        if part := self._parts.pop(pid, None):
            try:
                self.dumps[pid] = self._places.keep(part, pid)
                self.watch.written()
            except OSError as error:
                self.problems.append(f"the dump {part} could not be renamed ({error.strerror or error}).")

    def _ended(self, pid: int, exit_code: int) -> None:
        self._note_peak(pid)
        if self.watch.ended(pid, exit_code, self._finished(pid)):
            self._keep(pid)
        elif part := self._parts.pop(pid, None):
            with suppress(OSError):
                os.unlink(part)
        # Windows closes these handles itself once the event is handled.
        self._processes.pop(pid)
        for key in [key for key in self._threads if key[0] == pid]:
            del self._threads[key]


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


def _write_dump(
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


def _comment_of(error: ExceptionEvent) -> dict[str, object]:
    """The dump's comment, for anyone who opens it with another tool."""
    return {
        "writer": "triage",
        "code": f"0x{error.code:08X}",
        "parameters": [hex(parameter) for parameter in error.parameters],
        "first_chance": error.first_chance,
        "thread": error.thread,
    }
