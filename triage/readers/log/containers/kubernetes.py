"""Kubernetes: `kubectl describe pod`, `kubectl get pod` (table, YAML, JSON) and its events.

Exit codes and `Reason: OOMKilled` in its plainest form are read with the other ends; here is what only Kubernetes says.
"""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, count, notices, size

TRIGGERS = (
    "OOMKilled",
    "OOMKilling",
    "Last State:",
    "containerStatuses",
    "CrashLoopBackOff",
    "restarting failed container",
    "was low on resource",
    "local storage usage exceeds",
)
_OOM_KILLED = r"(?:\"?[Rr]eason\"?:\s+\"?OOMKilled\b|^\S+ +\d+/\d+ +OOMKilled +\d+ )"
# The kubelet evicts pods to save the node: a kill for memory too, the node's.
_EVICTED = r"node was low on resource: memory\b|was OOM[- ]killed|\bOOMKilling\b[^\n]*(?:Kill|System OOM)"
_OTHER_DEATH = (
    r"node was low on resource: ephemeral-storage\b[^\n]*|ephemeral local storage usage exceeds[^\n]*|"
    r"\bBackOff\b[^\n]*restarting failed container[^\n]*|^\S+ +\d+/\d+ +(?:Error|CrashLoopBackOff) +\d+ [^\n]*|"
    r"Liveness probe failed[^\n]*will be restarted[^\n]*"
)
_LIMIT = (
    r"[Ll]imits\"?: ?\{?(?:\s+[\w./\"-]+: +\S+){0,4}?"
    r"\s+\"?memory\"?: +\"?(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGT]i?)?\b"
)


def extract(log: Log) -> ContainerFacts:
    """Kills for memory, the container's memory limit, and notices of a death for another reason."""
    limit = patterns.compile(_LIMIT).search(log.text)
    kills = max(count(log, _OOM_KILLED) or 0, count(log, _EVICTED) or 0) or None
    memory = Memory(oom_kills=kills)
    if limit is not None:
        memory = memory._replace(limit_bytes=size(limit["number"], limit["unit"] or ""), limit_source="container")
    return ContainerFacts(messages=notices(log, _OTHER_DEATH), memory=memory)
