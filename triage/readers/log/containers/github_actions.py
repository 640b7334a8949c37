"""GitHub Actions: a job that ended without an exit code of its own."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.findings import notices
from triage.readers.log.containers.interface import Told

_NOTICE = (
    r"lost communication with the server|The runner has received a shutdown signal|"
    r"(?:##\[error\]|^Error: ?)The operation was canceled\."
)


def extract(log: Log) -> Told:
    """That the runner vanished or was stopped; exit codes are read where all exit lines are."""
    return Told(messages=notices(log, _NOTICE))
