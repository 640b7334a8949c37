"""A console's memory: what a program has shown there, read back without standing between it and the console."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPWSTR, SHORT, WORD
from typing import Any

# Of a larger memory only the last lines are read; the end of the output is what names the cause.
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
        """The console behind a handle; None where there is none, as for NUL."""
        return cls(handle) if _information(handle) else None

    def new_text(self) -> str:
        """What has been shown since."""
        return "\n".join(new_lines(self._before, self._lines())) + "\n"

    def _lines(self) -> list[str]:
        """The lines up to the cursor, without trailing blanks."""
        information = _information(self._handle)
        if information is None:
            return []
        read = _function("ReadConsoleOutputCharacterW", HANDLE, LPWSTR, DWORD, _Place, POINTER(DWORD))
        width, last = information.size.column, information.cursor.row
        text, count, lines = ctypes.create_unicode_buffer(width + 1), DWORD(), []
        for row in range(max(0, last + 1 - _MOST_LINES), last + 1):
            if not read(self._handle, text, width, _Place(0, row), byref(count)):
                break
            lines.append("".join(text[: count.value]).rstrip())
        return lines


def new_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The lines of `after` that come behind what was there before; older ones may have moved out at the top.

    What is left of the old lines is the longest end of `before` with which `after` begins; the last old line may have
    been continued.
    """
    if not before:
        return list(after)
    *whole, last = before
    for start in range(len(whole) + 1):
        old = whole[start:]
        rest = after[len(old) :]
        if list(after[: len(old)]) == old and rest and rest[0].startswith(last):
            return [rest[0][len(last) :], *rest[1:]] if last else list(rest)
    return list(after)


def _information(handle: int) -> _ScreenInfo | None:
    information = _ScreenInfo()
    ask = _function("GetConsoleScreenBufferInfo", HANDLE, POINTER(_ScreenInfo))
    return information if ask(handle, byref(information)) else None


def _function(name: str, *arguments: Any) -> Any:
    if sys.platform != "win32":
        raise NotImplementedError
    function = getattr(ctypes.WinDLL("kernel32"), name)
    function.argtypes, function.restype = arguments, BOOL
    return function
