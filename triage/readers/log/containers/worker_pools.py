"""Pools of worker processes in Python: joblib, concurrent.futures, torch's elastic launcher and DataLoader."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = (
    "exit codes of the workers are",
    "process pool was terminated",
    "managed by the executor",
    "DataLoader worker (pid",
    ") received by PID",
    "exitcode  :",
)
_FORMS = (
    r"exit codes of the workers are \{(?P<signal>SIG[A-Z]{2,6})\(-\d+\)",
    r"exit codes of the workers are \{EXIT\((?P<code>\d{1,3})\)",
    r"^[ \t]*exitcode\s*: (?P<code>-?\d{1,10}) \(pid: \d+\)",
    r"Signal (?P<number>\d{1,2}) \(SIG[A-Z]+\) received by PID \d+",
    r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) is killed by signal: (?P<words>[A-Z][\w /]+)\.",
)
_NOTICE = (
    r"A process in the process pool was terminated abruptly|"
    r"A worker process managed by the executor was unexpectedly terminated|"
    r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) exited unexpectedly"
)


def extract(log: Log) -> ContainerFacts:
    """How workers ended where the pool says so, otherwise the notice that one did."""
    return ContainerFacts(
        exits=statuses(log, *_FORMS),
        messages=notices(log, _NOTICE),
    )
