"""Abseil's failure signal handler, which Ray, TensorFlow Serving and JAX install.

The frames below that line are read where TensorFlow's own traces are.
"""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.findings import statuses
from triage.readers.log.containers.interface import Told

_SIGNAL = r"\*\*\* (?P<signal>SIG[A-Z]{2,6}) received (?:at time=|by PID )"


def extract(log: Log) -> Told:
    """The signal that the handler caught."""
    return Told(exits=statuses(log, _SIGNAL))
