"""Looks at how a process was started, where `triage run` saw it.

process: {forked_with: tensorflow}
process: {not_forked_with: tensorflow}  # no process was
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, seen_if
from triage.clues.interface import At, Field, Kind, Request

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class ProcessSeen(NamedTuple):
    """How a process was started: forked from one in which something, such as tensorflow, was running.

    `absent` asks that no process of the incident was.
    """

    forked_with: str
    absent: bool = False


class ProcessKind(Kind):
    """How it was started."""

    form = ProcessSeen
    background = 0.03
    request = Request("process start", "run again")
    fields: Mapping[str, Field] = {
        "forked_with": Field("text", "The process was forked from one in which this had started."),
        "not_forked_with": Field("text", "No process was forked from one in which this had started."),
    }
    needs: Mapping[str, Any] = {"maxProperties": 1}
    of_a_thread = True

    def parse(self, written: "Written") -> ProcessSeen:
        fields = written.fields(*self.fields)
        if len(fields) != 1:
            raise written.refused("a process was forked with something, or was not", "{forked_with: tensorflow}")
        ((name, what),) = fields.items()
        return ProcessSeen(what.text(), absent=name == "not_forked_with")

    def find(self, sought: ProcessSeen, facts: "Facts", after: At) -> Finding:
        if facts.crash.rerun is None:  # only known for a program that we ran
            return UNSEEN
        for process in facts.relevant_processes:
            if process.forked_with == sought.forked_with:
                what = f"process {process.pid} was forked from one in which {sought.forked_with} had started"
                return ABSENT if sought.absent else Hit(None, what, values={"pid": str(process.pid)})
        return seen_if(sought.absent, f"no process was forked from one in which {sought.forked_with} had started")


KIND = ProcessKind()
