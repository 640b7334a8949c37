"""What the system itself wrote about a death: a line in Linux's kernel log, a crash report of macOS.

A thread whose stack is used up has nowhere to run a handler: no dump, no held process. The Linux kernel still notes the
address, the instruction and the stack pointer, which is enough to tell such a death from a wild pointer. On macOS a
crashed process can't be held, and the report is the only native stack.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from triage import digits

_LOG = "/dev/kmsg"
_RECORD = 8192
# The kernel's clock and ours drift apart by a little over days.
_TOLERANCE = 5.0
_FAULT = re.compile(
    r"(?:traps: )?(?P<name>[^\[\]\n:]{1,16})\[(?P<number>\d+)\]:? (?:segfault at|trap |general protection)"
)
_DIRECTORY = "~/Library/Logs/DiagnosticReports"
# ReportCrash writes it a moment after the death.
_PATIENCE = 5.0
_LARGEST = 8 * 1024 * 1024
# .ips is JSON ("pid" : 4711), .crash is text (Process: Python [4711]).
_ABOUT = re.compile(rb'"pid" ?: ?(\d+),|^Process:.*\[(\d+)\]', re.MULTILINE)


def line_about(pid: int, seconds: float, path: str = _LOG) -> str | None:
    """The kernel's last line about a fault of a process that ran for `seconds` until now; None where there is none.

    The kernel gives the number of the thread, not of the process; a Python with a later number is taken for a thread
    of ours.
    """
    since = time.monotonic() - seconds - _TOLERANCE
    own = of_a_thread = None
    for stamp, text in _records(path):
        match = _FAULT.search(text)
        if match is None or stamp < since:
            continue
        number = digits.whole(match["number"]) or 0
        if number == pid:
            own = text
        elif number > pid and match["name"].startswith("python"):
            of_a_thread = text
    return own or of_a_thread


def _records(path: str) -> list[tuple[float, str]]:
    """Every record with its time in seconds; none where we may not read the log, as is usual without root."""
    records = []
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        while True:
            try:
                record = os.read(log, _RECORD)
            except BrokenPipeError:  # records were overwritten while we read; the next read continues after them
                continue
            except OSError:
                break
            head, _, text = record.decode("utf-8", "replace").partition(";")
            fields = head.split(",")
            if len(fields) < 3 or not fields[2].isdigit():
                break
            records.append((int(fields[2]) / 1e6, text.split("\n", 1)[0]))
    finally:
        os.close(log)
    return records


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
