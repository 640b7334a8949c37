"""SageMaker: the failure reason of a training job."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = ("ExecuteUserScriptError", "instance type with more memory")
_CODE = r"^[ \t]*ExitCode (?P<code>-?\d{1,10})$"
_NOTICE = r"Please use an instance type with more memory|AlgorithmError: ExecuteUserScriptError"


def extract(log: Log) -> ContainerFacts:
    """The exit code of the user's script, and SageMaker's notice that it failed."""
    return ContainerFacts(exits=statuses(log, _CODE), messages=notices(log, _NOTICE))
