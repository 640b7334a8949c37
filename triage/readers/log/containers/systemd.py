"""systemd: services that it stopped because their time was up."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = (" timed out. ", "Watchdog timeout (limit ", "Result: timeout", "with result 'timeout'", "result 'watchdog'")
_KILLED = r": Killing process \d+ \([^)\n]*\) with signal (?P<signal>SIG[A-Z]{2,6})\b"
_TIME_IS_UP = (
    r"[^\s:]+\.(?:service|scope): Watchdog timeout \(limit [^)\n]*\)!?"
    r"|[^\s:]+\.(?:service|scope):? (?:State '[\w-]+'|[Ss]tart\w*(?: operation)?|[Ss]topping|stop-\w+) timed out\. "
    r"(?:Killing|Terminating|Aborting|Skipping \w+)[^\n]*"
    r"|[^\s:]+\.(?:service|scope): Failed with result '(?:timeout|watchdog)'"
    r"|^\s*Active: failed \(Result: (?:timeout|watchdog)\)"
)


def extract(log: Log) -> ContainerFacts:
    """The signals that systemd sent, and its words for a service that did not start, stop or answer in time."""
    return ContainerFacts(exits=statuses(log, _KILLED), messages=notices(log, _TIME_IS_UP))
