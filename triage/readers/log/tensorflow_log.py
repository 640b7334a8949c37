"""TensorFlow's own log lines, in the forms that its generations wrote them."""

from __future__ import annotations

from collections import deque

from triage import patterns
from triage.crash import Log, LogRecord

# 2.21: `F0000 00:00:1763258400.123  4711 png_io.cc:357] text`; 1.5 to 2.20: `2024-01-02 03:04:05.678: F path:12] text`;
# before that: `F path:12] text`. A .cu or .cpp source belongs to another framework (glog is older than TensorFlow).
_RECORD = (
    r"(?:^|: |\| |\s)(?P<severity>[IWEF])(?:\d{4} \d\d:\d\d:\d+\.\d+\s+\d+)? "
    r"(?P<file>(?:[A-Za-z]:)?[\w\\/.\-+]*\w\.(?:cc|h)):\d+\] ?(?P<message>.*)$"
)
_MOST = 2500


def extract(log: Log) -> tuple[LogRecord, ...]:
    """The warnings, errors and fatal lines (information lines are left to the signatures' patterns)."""
    if "] " not in log.text and ".cc:" not in log.text:
        return ()
    # The first records tell what started it and the last one what ended it; in a flood the middle goes.
    found: list[LogRecord] = []
    latest: deque[LogRecord] = deque(maxlen=_MOST)
    for match in patterns.compile(_RECORD).finditer(log.text):
        severity = match.group("severity")
        if severity == "I":
            continue
        start = match.end() - len(match.group("message"))
        record = LogRecord(severity, match.group("file"), match.group("message"), log.place(start), start)
        (found if len(found) < _MOST else latest).append(record)
    return (*found, *latest)
