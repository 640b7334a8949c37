"""Heroku: memory quota errors with their figures, and the end of a dyno."""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, count, notices, size, statuses

TRIGGERS = ("Error R15", "Process running mem=", "Stopping process with SIGKILL", " to crashed")
# R15 ends the dyno. R14 is over the quota too, but the dyno swaps and lives on: its figures would look like a kill's.
_ENDED_FOR_MEMORY = r"Error R15 \(Memory quota vastly exceeded\)"
_STOPPED = r"Stopping process with (?P<signal>SIGKILL)\b"
_USED = r"Process running mem=(?P<used>[\d.]+)(?P<unit>[KMG])\((?P<percent>[\d.]+)%\)"
_NOTICE = r"State changed from \w+ to crashed"


def extract(log: Log) -> ContainerFacts:
    """Kills for memory, how much of the quota was used, and that the dyno crashed."""
    kills = count(log, _ENDED_FOR_MEMORY)
    memory = _used(log)._replace(oom_kills=kills) if kills else Memory()
    return ContainerFacts(exits=statuses(log, _STOPPED), messages=notices(log, _NOTICE), memory=memory)


def _used(log: Log) -> Memory:
    """The most that was used, and the quota worked out from the percentage."""
    used = [
        (size(match["used"], match["unit"]) or 0, digits.decimal(match["percent"]) or 0.0)
        for match in patterns.compile(_USED).finditer(log.text)
    ]
    peak, percent = max(used, default=(0, 0.0))
    if not peak or percent < 1:
        return Memory()
    return Memory(peak_bytes=peak, limit_bytes=round(peak * 100 / percent), limit_source="Heroku")
