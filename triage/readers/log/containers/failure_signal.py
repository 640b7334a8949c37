"""Abseil's failure signal handler, which Ray, TensorFlow Serving and JAX install.

tensorflow_log reads the frames below that line.
"""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, statuses

TRIGGERS = (" received at time=",)
_SIGNAL = r"\*\*\* (?P<signal>SIG[A-Z]{2,6}) received (?:at time=|by PID )"


def extract(log: Log) -> ContainerFacts:
    """The signal that the handler caught."""
    return ContainerFacts(exits=statuses(log, _SIGNAL))
