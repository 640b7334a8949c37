"""`docker inspect`: the state of a container that has ended."""

from __future__ import annotations

from triage import patterns, status
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = ('"OOMKilled":', '"ExitCode":', "ExitCode:")
_EXIT_CODE = r'\bExitCode"?: ?(?P<code>\d{1,3})'
_OOM = r'\bOOMKilled"?: ?(?P<oom>true|false)'


def extract(log: Log) -> ContainerFacts:
    """The exit code and whether the kernel killed it for memory; `false` counts as well, it rules memory out."""
    exits = [
        status.from_code(int(match.group("code")), place=log.place(match.start()))
        for match in patterns.compile(_EXIT_CODE).finditer(log.text)
    ]
    oom = patterns.compile(_OOM).search(log.text)
    kills = None if oom is None else int(oom.group("oom") == "true")
    return ContainerFacts(exits=tuple(exits), memory=Memory(oom_kills=kills))
