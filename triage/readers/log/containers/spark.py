"""Spark on YARN: executors that were lost, and why the node manager killed them."""

from __future__ import annotations

from triage import patterns
from triage.crash import ExitStatus, Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, notices, size

TRIGGERS = ("killed by YARN", "ExecutorLostFailure", "Lost executor", "Python worker exited", "Container marked as")
_USED = (
    r"(?:Container killed by YARN for exceeding (?:physical )?memory limits\. |"
    r"running (?:\d+B )?beyond (?:the )?'?(?:physical|PHYSICAL)'? memory limits?\. Current usage: )"
    r"(?P<used>[\d.]+) (?P<used_unit>[KMGT]B) of (?P<limit>[\d.]+) (?P<limit_unit>[KMGT]B) physical memory used"
)
# YARN's own exit statuses: the node manager killed the container for its virtual or physical memory.
_ENDED = r"[Ee]xit status: (?P<code>-10[34])\b"
_NOTICE = (
    r"ExecutorLostFailure \(executor \S+ exited[^\n)]*\)|Lost executor \d+ on [^\s:]+|"
    r"Python worker exited unexpectedly \(crashed\)|Container marked as failed: \S+"
)


def extract(log: Log) -> ContainerFacts:
    """The kill for memory with its figures, and notices of lost executors."""
    used = list(patterns.compile(_USED).finditer(log.text))
    ended = tuple(
        ExitStatus(
            code=int(match["code"]),
            name=f"exit {match['code']}",
            kind="exit",
            meaning="YARN ended the container because it used more memory than it had asked for",
            place=log.place(match.start()),
        )
        for match in patterns.compile(_ENDED).finditer(log.text)
    )
    memory = Memory(oom_kills=max(len({match.group() for match in used}), len(ended)) or None)
    if used:
        most = max(used, key=lambda match: size(match["used"], match["used_unit"]) or 0)
        memory = Memory(
            peak_bytes=size(most["used"], most["used_unit"]),
            limit_bytes=size(most["limit"], most["limit_unit"]),
            limit_source="YARN",
            oom_kills=memory.oom_kills,
        )
    return ContainerFacts(exits=ended, messages=notices(log, _NOTICE), memory=memory)
