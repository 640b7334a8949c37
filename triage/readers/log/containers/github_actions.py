"""GitHub Actions: a job that ended without an exit code of its own."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices

TRIGGERS = ("lost communication with the server", "received a shutdown signal", "operation was canceled")
_NOTICE = (
    r"lost communication with the server|The runner has received a shutdown signal|"
    r"(?:##\[error\]|^Error: ?)The operation was canceled\."
)


def extract(log: Log) -> ContainerFacts:
    """Notices that the runner vanished or was stopped; exit codes are read with the exit lines."""
    return ContainerFacts(messages=notices(log, _NOTICE))
