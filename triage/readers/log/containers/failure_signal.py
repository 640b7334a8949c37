"""Abseil's failure signal handler, which Ray, TensorFlow Serving and JAX install.

The frames below that line are read where TensorFlow's own traces are.
"""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, statuses

TRIGGERS = (" received at time=",)
_SIGNAL = r"\*\*\* (?P<signal>SIG[A-Z]{2,6}) received (?:at time=|by PID )"


def extract(log: Log) -> ContainerFacts:
    """The signal that the handler caught."""
    return ContainerFacts(exits=statuses(log, _SIGNAL))
