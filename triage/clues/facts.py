"""A crash as clue kinds see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from triage.clues import KIND_OF, KINDS
from triage.clues.findings import Finding, Unseen
from triage.clues.interface import BEGINNING, At, Clue, Kinds, Request, Sought
from triage.clues.log import LogPatterns, LogSearch
from triage.crash import Crash, Process, Thread


class Facts:
    """A crash and what follows from it, each thing worked out once.

    `wanted` are the patterns that its logs will be searched for; `tables` which versions go together.
    """

    kinds: Kinds = KINDS

    def __init__(
        self,
        crash: Crash,
        wanted: LogPatterns = MappingProxyType({}),
        tables: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.crash = crash
        self.tables = tables
        self._wanted = wanted
        self.logs = LogSearch(crash.logs, self._wanted)
        has_log = any(not log.is_blank for log in crash.logs)
        self.log_is_whole = has_log and all(entry.complete for entry in crash.inputs)
        """Whether what is not in the log was not printed."""

    def find(self, sought: Sought, after: At = BEGINNING) -> Finding:
        """Look for a clue; in a log, for the first match after `after`."""
        return KIND_OF[type(sought)].find(sought, self, after)

    def missing(self, clue: Clue) -> tuple[Request, ...]:
        """What is missing to look for a clue, or for those inside a combinator in the order of their kinds' names."""
        requests = (self.kinds[name].request_in(self) for name in sorted(self._unseen_kinds(clue)))
        return tuple(dict.fromkeys(request for request in requests if request is not None))

    def _unseen_kinds(self, clue: Clue) -> set[str]:
        if clue.inner:
            return {name for inner in clue.inner for name in self._unseen_kinds(inner)}
        return {clue.kind} if isinstance(self.find(clue.sought), Unseen) else set()

    @property
    def relevant_processes(self) -> tuple[Process, ...]:
        """The process that died; if the program hung, all of them."""
        return self.crash.processes if self.crash.hung else self.crash.processes[self.crash.primary :][:1]

    @property
    def relevant_threads(self) -> list[Thread]:
        """The crashed threads; if the program hung, every thread of every process, since none of them crashed."""
        if self.crash.hung:
            return [thread for process in self.crash.processes for thread in process.threads]
        return [thread for thread in self.crash.threads if thread.crashed]

    @cached_property
    def each_process_by_threads(self) -> list[list[Facts]]:
        """For each process, the crash with only one of its relevant threads; an exception counts as a process."""
        crash = self.crash
        split = []
        for process in self.relevant_processes:
            if not process.threads and process.exit is None:  # only known by name: its exceptions are all there is
                continue
            relevant = [thread for thread in process.threads if thread.crashed or crash.hung]
            alone = [process._replace(threads=(thread,)) for thread in relevant] or [process._replace(threads=())]
            split.append([crash._replace(processes=(one,), primary=0, exceptions=()) for one in alone])
        split += [[crash._replace(processes=(), primary=0, exceptions=(error,))] for error in crash.exceptions]
        return [[Facts(one, self._wanted, self.tables) for one in alone] for alone in split]
