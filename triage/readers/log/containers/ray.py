"""Ray: that a worker died. The causes it lists with that are guesses, and none of them is read."""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, count, notices, size

TRIGGERS = (
    "worker process has died",
    "worker died unexpectedly",
    "A worker died or was",
    "node running low on memory",
)
_NOTICE = (
    r"The actor is dead because its worker process has died|The worker died unexpectedly while executing this task|"
    r"A worker died or was killed while executing a task"
)
# Ray's memory monitor reports what it did, with figures.
_MONITOR = r"(?:Task|Actor|Worker)s? (?:was|were) killed due to the node running low on memory"
_USED = (
    r"\bwas (?P<used>[\d.]+)(?P<used_unit>[KMGT]B) / (?P<limit>[\d.]+)(?P<limit_unit>[KMGT]B) \([\d.]+\), "
    r"which exceeds the memory usage threshold"
)


def extract(log: Log) -> ContainerFacts:
    """The notice of a death, and the kills of Ray's own memory monitor."""
    memory = Memory(oom_kills=count(log, _MONITOR))
    if used := patterns.compile(_USED).search(log.text):
        memory = memory._replace(
            peak_bytes=size(used["used"], used["used_unit"]),
            limit_bytes=size(used["limit"], used["limit_unit"]),
            limit_source="node",
        )
    return ContainerFacts(messages=notices(log, _NOTICE), memory=memory)
