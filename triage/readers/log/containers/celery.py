"""Celery: how a process of its pool ended."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, statuses

TRIGGERS = ("exited with 'signal ", "exited with 'exitcode ", "WorkerLostError")
_SIGNAL = r"pid:\d+ exited with 'signal (?P<number>\d{1,2}) \(SIG"
_CODE = r"pid:\d+ exited with 'exitcode (?P<code>-?\d{1,10})'"
_LOST = r"Worker exited prematurely: (?:signal (?P<number>\d{1,2})|exitcode (?P<code>\d{1,3}))"


def extract(log: Log) -> ContainerFacts:
    """The signal or the exit code of each lost worker."""
    return ContainerFacts(exits=statuses(log, _CODE, _SIGNAL, _LOST))
