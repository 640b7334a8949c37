"""SageMaker: the failure reason of a training job."""

from __future__ import annotations

from triage.crash import Log
from triage.readers.log.containers.findings import notices, statuses
from triage.readers.log.containers.interface import Told

_CODE = r"^[ \t]*ExitCode (?P<code>-?\d{1,10})$"
_NOTICE = r"Please use an instance type with more memory|AlgorithmError: ExecuteUserScriptError"


def extract(log: Log) -> Told:
    """The exit code of the user's script, and SageMaker's word that it failed."""
    return Told(exits=statuses(log, _CODE), messages=notices(log, _NOTICE))
