"""Several runs in one log: people paste what they tried one after the other.

A new run is believed where a process has ended and afterwards something starts that only a new process prints.
"""

from __future__ import annotations

from itertools import pairwise

from triage.crash import Log
from triage.patterns import compile as pattern
from triage.readers.log import exit_lines

_STARTS = (
    r"^(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[:~\w/.\-]* ?)?[$#%>] ?(?:\w+=\S+ )*(?:python|pytest|bash|sh|\./)[\w./-]* \S"
    r"|^(?:PS )?[A-Z]:\\[^>\n]*> ?python\S* \S"
    r"|oneDNN custom operations are on|cpu_feature_guard\.cc:\d+\] This TensorFlow binary is optimized"
    r"|^Epoch 1/\d+"
)
_NEEDLES = ("python", "pytest", "bash", "oneDNN custom", "This TensorFlow binary is optimized", "Epoch 1/")
# More runs than this are a service's log; its last ones are looked at.
MOST = 8


def split(log: Log) -> list[Log]:
    """The runs in the order of the text; a log with one run is itself."""
    ends = _ends(log)
    if len(ends) < 2 or not any(needle in log.text for needle in _NEEDLES):
        return [log]
    starts = [match.start() for match in pattern(_STARTS).finditer(log.text)]
    cuts = [0]
    for end, following in pairwise(ends):
        start = next((start for start in starts if end < start < following), None)
        if start is not None:
            cuts.append(start)
    if len(cuts) == 1:
        return [log]
    return [log.part(start, stop) for start, stop in zip(cuts, [*cuts[1:], len(log.text)], strict=True)][-MOST:]


def _ends(log: Log) -> list[int]:
    """Where the log says that a process failed."""
    failed = [offset for offset, status in exit_lines.placed(log) if status.is_failure]
    fatal = [match.start() for match in pattern(r"^Fatal Python error: ").finditer(log.text)]
    return sorted({*failed, *fatal})
