"""Web servers with worker processes: gunicorn and uWSGI."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = (") was sent SIG", "was terminated due to signal", "WORKER TIMEOUT (", "DAMN ! worker")
# `Perhaps out of memory?` follows every SIGKILL: a question, not evidence.
_SIGNAL = r"Worker \(pid: ?\d+\) was sent (?P<signal>SIG[A-Z]{2,6})!"
_NUMBER = r"Worker (?:with pid|\(pid:) ?\d+\)? was terminated due to signal (?P<number>\d{1,2})\b"
_CODE = r"Worker \(pid: ?\d+\) exited with code:? ?(?P<code>-?\d{1,3})\b"
_UWSGI = r"^DAMN ! worker \d+ \(pid: \d+\) died, killed by signal (?P<number>\d{1,2}) "
# gunicorn aborts a worker that does not answer: not a crash of the worker's own.
_NOTICE = r"WORKER TIMEOUT \(pid: ?\d+\)"


def extract(log: Log) -> ContainerFacts:
    """The signals of dead workers, and workers that were stopped because they did not answer."""
    return ContainerFacts(exits=statuses(log, _CODE, _SIGNAL, _NUMBER, _UWSGI), messages=notices(log, _NOTICE))
