"""pytest-xdist: a worker that is gone. Why it died is only in the worker's own dump."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices

TRIGGERS = ("node down: Not properly", "crashed while running '")
_NOTICE = r"\[gw\d+\] node down: Not properly terminated|^worker '?gw\d+'? crashed while running '[^'\n]*'"


def extract(log: Log) -> ContainerFacts:
    """The notice that a worker died, with the test it ran."""
    return ContainerFacts(messages=notices(log, _NOTICE))
