"""Which line was written first, and which process wrote it: collectors show the newest first, or mix processes."""

from __future__ import annotations

from itertools import pairwise

from triage.patterns import compile as pattern
from triage.readers.log.prefixes import Stripped

_LEAST_TIMES = 4
_MOSTLY = 0.8
_COLAB = r"^([A-Z][a-z]{2}) (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d):(\d\d) ([AP])M$"
_TENSORFLOW = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+): [IWEF] "
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# More processes than this in one log are a collector's own business; the order of the file is kept.
_MOST_WRITERS = 64


def oldest_first(original: list[str], stripped: Stripped) -> list[int]:
    """The positions of the lines, oldest first and each process's lines together."""
    positions = list(range(len(original)))
    if _newest_first(stripped):
        positions.reverse()
    writers = {writer for writer in stripped.writers if writer is not None}
    if 1 < len(writers) <= _MOST_WRITERS:
        first: dict[str | None, int] = {}
        for position in positions:
            first.setdefault(stripped.writers[position], len(first))
        # A stable sort: the lines of one process stay in their order, and processes in that of their first line.
        positions.sort(key=lambda position: first[stripped.writers[position]])
    return positions


def _newest_first(stripped: Stripped) -> bool:
    times = [key for time in stripped.times if time and (key := _sortable(time))]
    if not times:
        matches = (pattern(_TENSORFLOW).match(line) for line in stripped.lines if line[:2] == "20")
        times = [match[1] for match in matches if match]
    if len(times) < _LEAST_TIMES:
        return False
    falls = sum(later < earlier for earlier, later in pairwise(times))
    rises = sum(later > earlier for earlier, later in pairwise(times))
    return falls > 0 and falls >= _MOSTLY * (falls + rises)


def _sortable(time: str) -> str | None:
    """A time as text that sorts: ISO already does, Colab's needs turning; syslog's month names are not worth it."""
    if time[:1].isdigit():
        return time
    match = pattern(_COLAB).match(time)
    if match is None or match[1] not in _MONTHS:
        return None
    hour = int(match[4]) % 12 + (12 if match[7] == "P" else 0)
    month = _MONTHS.index(match[1]) + 1
    return f"{match[3]}-{month:02}-{int(match[2]):02} {hour:02}:{match[5]}:{match[6]}"
