"""A console's memory: what a program has shown there, read back without standing between it and the console."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPWSTR, SHORT, WORD

from triage.capture.windows.scrollback import new_lines

# Larger memories are read from here on backwards; the end of the output is what tells the cause.
_MOST_LINES = 3000


class _Place(Structure):
    _fields_ = (("column", SHORT), ("row", SHORT))


class _ScreenInfo(Structure):
    _fields_ = (("size", _Place), ("cursor", _Place), ("colours", WORD), ("window", SHORT * 4), ("largest", _Place))


class Screen:
    """A console as it was when the program began."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._before = self._lines()

    @classmethod
    def of(cls, handle: int) -> Screen | None:
        """The console behind a handle; None where it is none, such as NUL."""
        return cls(handle) if _information(handle) else None

    def new_text(self) -> str:
        """What has been shown since."""
        return "\n".join(new_lines(self._before, self._lines())) + "\n"

    def _lines(self) -> list[str]:
        """The lines up to the cursor, without the blanks at their ends."""
        information = _information(self._handle)
        if information is None:
            return []
        read = ctypes.WinDLL("kernel32").ReadConsoleOutputCharacterW
        read.argtypes, read.restype = (HANDLE, LPWSTR, DWORD, _Place, POINTER(DWORD)), BOOL
        width, last = information.size.column, information.cursor.row
        text, count, lines = ctypes.create_unicode_buffer(width + 1), DWORD(), []
        for row in range(max(0, last + 1 - _MOST_LINES), last + 1):
            if not read(self._handle, text, width, _Place(0, row), byref(count)):
                break
            lines.append("".join(text[: count.value]).rstrip())
        return lines


def _information(handle: int) -> _ScreenInfo | None:
    ask = ctypes.WinDLL("kernel32").GetConsoleScreenBufferInfo
    ask.argtypes, ask.restype = (HANDLE, POINTER(_ScreenInfo)), BOOL
    information = _ScreenInfo()
    return information if ask(handle, byref(information)) else None
