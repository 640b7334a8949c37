"""A crash as clue kinds see it."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType

from triage.clues import KIND_OF, KINDS
from triage.clues.findings import Finding, Unseen
from triage.clues.interface import BEGINNING, At, Clue, Kinds, Request, Sought
from triage.clues.log import LogPatterns, LogSearch
from triage.crash import Crash, Process, Thread


class Facts:
    """A crash and what was worked out about it, so that each thing is worked out once.

    `wanted` are the patterns that will be looked for in its logs.
    """

    kinds: Kinds = KINDS

    def __init__(self, crash: Crash, wanted: LogPatterns = MappingProxyType({})) -> None:
        self.crash = crash
        self._wanted = wanted
        self.logs = LogSearch(crash.logs, self._wanted)
        told = any(not log.is_blank for log in crash.logs)
        self.log_is_whole = told and all(entry.complete for entry in crash.inputs)
        """Whether what does not stand in the log was not printed."""

    def find(self, sought: Sought, after: At = BEGINNING) -> Finding:
        """What there is to find; of what stands in a log the first behind `after`."""
        return KIND_OF[type(sought)].find(sought, self, after)

    def missing(self, clue: Clue) -> tuple[Request, ...]:
        """What is not there and would show a clue, or those inside a combinator in the order of their kinds' names."""
        requests = (self.kinds[name].request for name in sorted(self._unseen_kinds(clue)))
        return tuple(dict.fromkeys(request for request in requests if request is not None))

    def _unseen_kinds(self, clue: Clue) -> set[str]:
        if clue.inner:
            return {name for inner in clue.inner for name in self._unseen_kinds(inner)}
        return {clue.kind} if isinstance(self.find(clue.sought), Unseen) else set()

    @property
    def telling_processes(self) -> tuple[Process, ...]:
        """The process that died; of a program that hung all of them."""
        return self.crash.processes if self.crash.hung else self.crash.processes[self.crash.primary :][:1]

    @property
    def telling_threads(self) -> list[Thread]:
        """The crashed threads; of a program that hung every thread of every process, since none of them crashed."""
        if self.crash.hung:
            return [thread for process in self.crash.processes for thread in process.threads]
        return [thread for thread in self.crash.threads if thread.crashed]

    @cached_property
    def each_process_by_threads(self) -> list[list[Facts]]:
        """For each process the crash as if it had only that thread, for each that tells; an exception is one too."""
        crash = self.crash
        split = []
        for process in self.telling_processes:
            telling = [thread for thread in process.threads if thread.crashed or crash.hung]
            alone = [process._replace(threads=(thread,)) for thread in telling] or [process._replace(threads=())]
            split.append([crash._replace(processes=(one,), primary=0, exceptions=()) for one in alone])
        split += [[crash._replace(processes=(), primary=0, exceptions=(error,))] for error in crash.exceptions]
        return [[Facts(one, self._wanted) for one in alone] for alone in split]
