"""The crash report that macOS writes by itself: the native stack there, where a process can't be held."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

_DIRECTORY = "~/Library/Logs/DiagnosticReports"
# ReportCrash writes it a moment after the death.
_PATIENCE = 5.0
_LARGEST = 8 * 1024 * 1024
# .ips is JSON ("pid" : 4711), .crash is text (Process: Python [4711]).
_ABOUT = re.compile(rb'"pid" ?: ?(\d+),|^Process:.*\[(\d+)\]', re.MULTILINE)


def crash_report_of(
    pid: int, since: float, directory: str = _DIRECTORY, patience: float = _PATIENCE
) -> tuple[str, bytes] | None:
    """Name and content of the newest report about a process that was written since a time; None where there is none."""
    folder = os.path.expanduser(directory)
    until = time.monotonic() + patience
    while os.path.isdir(folder):
        for path in _written_since(folder, since):
            content = _content(path)
            if b"%d" % pid in (about[1] or about[2] for about in _ABOUT.finditer(content)):
                return os.path.basename(path), content
        if time.monotonic() >= until:
            break
        time.sleep(0.2)
    return None


def _written_since(folder: str, since: float) -> list[str]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            # A report that is being renamed as we look is seen at the next look.
            with suppress(OSError):
                written = entry.stat().st_mtime
                if entry.name.endswith((".ips", ".crash")) and written >= since:
                    found.append((written, entry.path))
    return [path for _, path in sorted(found, reverse=True)]


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
