"""Heroku: memory quota errors with their figures, and the end of a dyno."""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, Memory
from triage.readers.text.containers.findings import count, notices, size, statuses
from triage.readers.text.containers.interface import Told

# R14 swaps and lives on; R15 ends the dyno.
_ENDED_FOR_MEMORY = r"Error R15 \(Memory quota vastly exceeded\)"
_STOPPED = r"Stopping process with (?P<signal>SIGKILL)\b"
_USED = r"Process running mem=(?P<used>[\d.]+)(?P<unit>[KMG])\((?P<percent>[\d.]+)%\)"
_NOTICE = r"State changed from \w+ to crashed"


def extract(log: Log) -> Told:
    """Kills for memory, how much of the quota was used, and that the dyno crashed."""
    used = [
        (size(match["used"], match["unit"]), float(match["percent"]))
        for match in patterns.compile(_USED).finditer(log.text)
    ]
    memory = Memory(oom_kills=count(log, _ENDED_FOR_MEMORY))
    if used:
        peak, percent = max(used)
        memory = memory._replace(peak_bytes=peak)
        if percent > 0:
            memory = memory._replace(limit_bytes=round(peak * 100 / percent), limit_source="Heroku")
    return Told(exits=statuses(log, _STOPPED), messages=notices(log, _NOTICE), memory=memory)
