"""What TensorFlow prints itself: its log lines, the native stack below a failed CHECK, its allocator's limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from triage import digits, patterns
from triage.crash import Log, LogRecord, Memory, NativeFrame, Place, Severity, Thread

# ---------------------------------------------------------------- log lines

# 2.21: `F0000 00:00:1763258400.123  4711 png_io.cc:357] text`; 1.5 to 2.20: `2024-01-02 03:04:05.678: F path:12] text`;
# before that: `F path:12] text`. A .cu or .cpp source belongs to another framework (glog is older than TensorFlow).
_RECORD = (
    r"(?:^|: |\| |\s)(?P<severity>[IWEF])(?:\d{4} \d\d:\d\d:\d+\.\d+\s+\d+)? "
    r"(?P<file>(?:[A-Za-z]:)?[\w\\/.\-+]*\w\.(?:cc|h)):\d+\] ?(?P<message>.*)$"
)
_BROKEN_OFF = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: F (?P<file>[\w\\/.:-]*)$"
_MOST = 2500


def records(log: Log) -> tuple[LogRecord, ...]:
    """The warnings, errors and fatal lines (information lines are left to the signatures' patterns)."""
    if not any(mark in log.text for mark in ("] ", ".cc:", ": F ")):
        return ()
    # The first records show what started it and the last one what ended it; in a flood the middle goes.
    found: list[LogRecord] = []
    latest: deque[LogRecord] = deque(maxlen=_MOST)
    for match in patterns.compile(_RECORD).finditer(log.text):
        severity: Severity = match.group("severity")
        if severity == "I":
            continue
        start = match.end() - len(match.group("message"))
        record = LogRecord(severity, match.group("file"), match.group("message"), log.place(start), start)
        (found if len(found) < _MOST else latest).append(record)
    return (*found, *latest, *_broken_off(log))


def _broken_off(log: Log) -> Iterator[LogRecord]:
    """The last line of a text that breaks off within the name of the file: that it was a fatal line still shows."""
    last = log.text.rstrip()
    start = last.rfind("\n") + 1
    if match := patterns.compile(_BROKEN_OFF).match(last[start:]):
        yield LogRecord("F", match["file"], "", log.place(start), start)


# ---------------------------------------------------------------- the stack below a failed CHECK

_FRAME = r"^\s*@\s+0x[0-9a-fA-F]+\s+(.+)$"
_LONGEST_LINE = 16 * 1024


def check_stacks(log: Log) -> tuple[Thread, ...]:
    """One crashed thread for each stack that absl printed with its symbols, innermost frame first."""
    if "@ " not in log.text:
        return ()
    threads: list[Thread] = []
    frames: list[NativeFrame] = []
    began: Place | None = None
    for offset, line in log.lines():
        match = patterns.compile(_FRAME).match(line) if "@" in line and len(line) <= _LONGEST_LINE else None
        if match:
            began = began or log.place(offset)
            function = match[1].strip()
            frames.append(NativeFrame(None, None if function == "(unknown)" else function))
        elif frames:
            threads.append(Thread("", True, native_stack=tuple(frames), place=began))
            frames, began = [], None
    if frames:
        threads.append(Thread("", True, native_stack=tuple(frames), place=began))
    return tuple(threads)


# ---------------------------------------------------------------- the allocator's limit

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
# The BFC allocator's own summary: bytes before 2.16 or so, `23.54GiB` since.
_LIMIT = r"\bLimit: +(?P<number>\d+(?:\.\d+)?)(?:(?P<unit>[KMGTP])i)?B?$"


def allocator_limit(log: Log) -> Memory:
    """The limit in the last summary that the allocator printed."""
    limit = source = None
    if "Limit: " in log.text:
        for match in patterns.compile(_LIMIT).finditer(log.text):
            limit = digits.scaled(match.group("number"), _UNITS[match.group("unit") or ""])
            source = "allocator"
    return Memory(limit_bytes=limit, limit_source=source)
