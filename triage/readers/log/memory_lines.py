"""Memory figures that a log tells: the allocator's limit and the kernel's or a container's OOM kills."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, Memory

_UNITS = {"": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
# The BFC allocator's own summary: bytes before 2.16 or so, `23.54GiB` since.
_LIMIT = r"\bLimit: +(?P<number>\d+(?:\.\d+)?)(?:(?P<unit>[KMGTP])i)?B?$"
# Each of these is a record of a kill that happened, not a list of things that might have.
_OOM_KILLS = (
    r"invoked oom-killer",
    r"[Oo]ut of memory: Kill(?:ed)? process \d+|Memory cgroup out of memory: Kill",
    r"oom-kill:constraint=",
    r"[Dd]etected \d+ oom[-_]kill event",
    r"[Rr]eason:\s+OOMKilled",
)


def extract(log: Log) -> Memory:
    """The limit and the number of OOM kills that the log records."""
    limit = source = kills = None
    if "Limit: " in log.text:
        for match in patterns.compile(_LIMIT).finditer(log.text):
            limit = digits.scaled(match.group("number"), _UNITS[match.group("unit") or ""])
            source = "allocator"
    if any(word in log.text for word in ("oom", "OOMKilled", "ut of memory: Kill")):
        # The kernel writes several lines about one kill, so the most frequent form counts.
        kills = max(sum(1 for _ in patterns.compile(form).finditer(log.text)) for form in _OOM_KILLS) or None
    return Memory(limit_bytes=limit, limit_source=source, oom_kills=kills)
