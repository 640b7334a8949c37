"""The child's standard error, and its output where that goes to the same place, on Windows.

A console is left alone: a pipe in its place would change what the program sees (isatty, colours, progress bars, the
code page), and a second console would change its size, its keys and its Ctrl-C. What the program showed there is read
back from the console's own memory when it has failed. A pipe is replaced by one of our own, which looks the same to the
program, and passed on at once. A file is written by the program itself and read afterwards. Standard output is touched
only where it is the same pipe as standard error.
"""

from __future__ import annotations

import ctypes
import msvcrt
import os
import subprocess
import sys
from contextlib import suppress
from ctypes.wintypes import BOOL, DWORD, HANDLE
from threading import Thread

from triage.capture.supervision import PIECE, Kept, tail_of
from triage.capture.windows import winapi
from triage.capture.windows.console import Screen

assert sys.platform == "win32"

_DISK, _CHARACTERS, _PIPE = 1, 2, 3
_QUIET = 0.3
_ROUNDS = 10
# Passes on what a process that outlives the program still prints.
_COPIER = """
import os
while data := os.read(0, 65536):
    while data:
        data = data[os.write(1, data):]
"""


class Output:
    """The link between the child's descriptors 1 and 2 and ours."""

    def __init__(self) -> None:
        self.kept = Kept()
        self._source = self._inside = -1
        self._files: list[tuple[int, int]] = []
        self._pump: Thread | None = None
        self._screen: Screen | None = None
        errors, output = _handle(2), _handle(1)
        self._both = errors is not None and output is not None and _same(errors, output)
        self.errors_are_read = self.output_is_read = False
        if output is not None and not self._both and _kind(output) == _DISK:
            self._files.append((1, os.fstat(1).st_size))
            self.output_is_read = True
        if errors is None:
            return
        kind = _kind(errors)
        if kind == _DISK:
            self._files.append((2, os.fstat(2).st_size))
        elif kind == _PIPE:
            self._source, self._inside = os.pipe()
            os.set_inheritable(self._inside, True)
        elif kind == _CHARACTERS:
            self._screen = Screen.of(errors)
            self._both |= self._screen is not None and output is not None and Screen.of(output) is not None
        self.errors_are_read = kind != _CHARACTERS or self._screen is not None
        self.output_is_read |= self._both and self.errors_are_read

    def for_child(self) -> dict[int, int]:
        """The handles that the child gets instead of ours."""
        if self._inside < 0:
            return {}
        handle = msvcrt.get_osfhandle(self._inside)
        return dict.fromkeys((1, 2) if self._both else (2,), handle)

    def started(self) -> None:
        """The child has its end; ours must be closed so that the stream can end."""
        if self._inside < 0:
            return
        os.close(self._inside)
        self._inside = -1
        self._pump = Thread(target=self._pass_on, daemon=True)
        self._pump.start()

    def drain(self) -> None:
        """Wait for what is left, but not for a grandchild that holds the stream open and is silent."""
        for _ in range(_ROUNDS):
            before = self.kept.passed
            if self._pump is None or not self._pump.is_alive():
                return
            self._pump.join(_QUIET)
            if self.kept.passed == before:
                return

    def logs(self) -> list[tuple[str, bytes]]:
        """What was printed where we can read it, by the name of the stream."""
        name = "output" if self._both else "stderr"
        files = [("stdout" if fd == 1 else name, _tail_of(fd, start)) for fd, start in self._files]
        if any(fd == 2 for fd, _ in self._files) or not self.errors_are_read:
            return files
        # Standard output in a file says nothing about the errors, which went elsewhere.
        errors = self._screen.new_text().encode() if self._screen is not None else self.kept.content
        return [*files, (name, errors)]

    def leave_to_a_copier(self) -> None:
        """Leave it to a separate process to pass on what one that outlives the program still prints."""
        if self._pump is None or not self._pump.is_alive():
            return
        with suppress(OSError):
            quietly = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
            subprocess.Popen([sys.executable, "-c", _COPIER], stdin=self._source, stdout=2, creationflags=quietly)

    def _pass_on(self) -> None:
        try:
            while data := os.read(self._source, PIECE):
                self.kept.add(data)
                while data:
                    data = data[os.write(2, data) :]
        except OSError:
            pass
        # Whoever read this has gone, or nothing more can come: the child must notice, as it would without us.
        with suppress(OSError):
            os.close(self._source)


def _handle(descriptor: int) -> int | None:
    try:
        handle = msvcrt.get_osfhandle(descriptor)
    except OSError:
        return None
    return handle if handle not in (-1, -2) else None


def _kind(handle: int) -> int:
    winapi.kernel32.GetFileType.argtypes, winapi.kernel32.GetFileType.restype = (HANDLE,), DWORD
    return int(winapi.kernel32.GetFileType(handle)) & 0x7FFF


def _same(one: int, other: int) -> bool:
    """Whether two handles are of the same pipe or file, as after 2>&1."""
    if one == other:
        return True
    try:
        compare = ctypes.WinDLL("kernelbase").CompareObjectHandles
    except (OSError, AttributeError):  # before Windows 10
        return False
    compare.argtypes, compare.restype = (HANDLE, HANDLE), BOOL
    return bool(compare(one, other))


def _tail_of(descriptor: int, start: int) -> bytes:
    """The new part of a file that is open for writing."""
    name = ctypes.create_unicode_buffer(32768)
    winapi.kernel32.GetFinalPathNameByHandleW.argtypes = (HANDLE, ctypes.c_wchar_p, DWORD, DWORD)
    try:
        length = winapi.kernel32.GetFinalPathNameByHandleW(msvcrt.get_osfhandle(descriptor), name, len(name), 0)
    except OSError:
        return b""
    return tail_of(name.value, start) if length else b""
