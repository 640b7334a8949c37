"""`time`: the program's peak memory."""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = ("aximum resident set size",)
_GNU = r"^[ \t]*Maximum resident set size \(kbytes\): (?P<number>\d{1,12})$"
_MACOS = r"^[ \t]*(?P<number>\d{1,15})  maximum resident set size$"


def extract(log: Log) -> ContainerFacts:
    """The peak of the resident memory; the signal is read with the exit lines."""
    sizes = [int(match["number"]) * 1024 for match in patterns.compile(_GNU).finditer(log.text)]
    sizes += [int(match["number"]) for match in patterns.compile(_MACOS).finditer(log.text)]
    return ContainerFacts(memory=Memory(peak_bytes=max(sizes, default=None)))
