"""Airflow: the return code of a task, whose signals it spells `Negsignal.SIGKILL`."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = ("Negsignal.", "zombie job", "Task received SIGTERM", "exit_code=", "been externally set to")
_SIGNAL = r"(?:[Rr]eturn code |return_code=|exit_code=)<?Negsignal\.(?P<signal>SIG[A-Z]{2,6})"
_CODE = r"\bProcess exited\b[^\n]*\bexit_code=(?P<code>-?\d{1,10})\b"
_NOTICE = r"Detected zombie job|Task received SIGTERM signal|State of this instance has been externally set to \w+"


def extract(log: Log) -> ContainerFacts:
    """The signal of the task's process, and tasks that Airflow lost or stopped itself."""
    return ContainerFacts(exits=statuses(log, _CODE, _SIGNAL), messages=notices(log, _NOTICE))
