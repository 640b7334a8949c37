"""Formats that are their own: schedulers, crash reporters, debuggers; one module each, imported at need."""

from __future__ import annotations

from importlib import import_module

from triage.crash import Log
from triage.readers.text.containers.interface import Container, Told

# The module of each format, and texts of which one must be in the log before it is even imported.
FORMATS: dict[str, tuple[str, ...]] = {
    "docker": ('"OOMKilled":', '"ExitCode":'),
}


def extract(log: Log) -> list[Told]:
    """What every container whose words are in the log tells, in the order of the table."""
    told = []
    for name, needles in FORMATS.items():
        if any(needle in log.text for needle in needles):
            container: Container = import_module(f"triage.readers.text.containers.{name}")
            told.append(container.extract(log))
    return told
