"""What the Linux kernel noted about a process that died before its handler could run, where we may read it.

A thread whose stack is used up has nowhere to run a handler: no dump, no held process. The kernel still writes down
the address, the instruction and the stack pointer, which is enough to tell such a death from a wild pointer.
"""

from __future__ import annotations

import os
import re
import time

from triage import digits

_LOG = "/dev/kmsg"
_RECORD = 8192
# The kernel's clock and ours drift apart by a little over days.
_TOLERANCE = 5.0
_FAULT = re.compile(
    r"(?:traps: )?(?P<name>[^\[\]\n:]{1,16})\[(?P<number>\d+)\]:? (?:segfault at|trap |general protection)"
)


def line_about(pid: int, seconds: float, path: str = _LOG) -> str | None:
    """The kernel's last line about a fault of a process that ran for `seconds` until now; None where there is none.

    The kernel numbers threads and not processes, so a Python thread with a later number is taken for one of ours.
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
    """Every record with its time in seconds; none where the log may not be read, as is usual for people but root."""
    records = []
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        while True:
            try:
                record = os.read(log, _RECORD)
            except BrokenPipeError:  # records were overwritten while we read; the next read goes on behind them
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
