"""Looking for a clue among the facts of a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from triage import patterns
from triage.crash import Crash, Log, Thread
from triage.diagnosis.conditions import CONDITIONS
from triage.diagnosis.findings import ABSENT, UNSEEN, Absent, Finding, Hit, Unseen, all_of, seen_if
from triage.diagnosis.versions import in_range
from triage.frames import is_own, name_of
from triage.knowledge.clues import (
    COMBINATORS,
    AnyOf,
    Clue,
    EnvironmentSeen,
    ExceptionSeen,
    ExitSeen,
    FaultSeen,
    InSequence,
    LogSeen,
    MemorySeen,
    ModuleSeen,
    NativeSeen,
    OfOneThread,
    ProcessSeen,
    PythonSeen,
    Sought,
)
from triage.report import Phrase, quote

_BEGINNING = (-1, -1)
# Five characters tell most texts apart; past this size the set would cost more than the searches it saves.
_PIECE = 5
_SHORT = 200_000


class Facts:
    """A crash as matchers see it; `literals` are the texts a log pattern needs, worked out when the index was built."""

    def __init__(self, crash: Crash, literals: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.crash = crash
        self._literals = literals or {}
        self._log_findings: dict[str, Finding] = {}
        told = any(not log.is_blank for log in crash.logs)
        self._log_is_whole = told and all(entry.complete for entry in crash.inputs)
        self._pieces: dict[int, frozenset[str]] = {}

    def find(self, sought: Sought, after: tuple[int, int] = _BEGINNING) -> Finding:
        """What there is to find, at the first place behind `after`."""
        if isinstance(sought, LogSeen):
            return self._log(sought, after)
        if isinstance(sought, ExceptionSeen):
            return self._exception(sought, after)
        if isinstance(sought, AnyOf):
            return self._any(sought, after)
        if isinstance(sought, InSequence):
            return self._sequence(sought, after)
        if isinstance(sought, OfOneThread):
            return self._of_one_thread(sought)
        if isinstance(sought, ExitSeen):
            return self._exit(sought)
        if isinstance(sought, NativeSeen):
            return self._native(sought)
        if isinstance(sought, PythonSeen):
            return self._python(sought)
        if isinstance(sought, FaultSeen):
            return self._fault(sought)
        if isinstance(sought, ModuleSeen):
            return self._module(sought)
        if isinstance(sought, MemorySeen):
            return self._memory(sought)
        if isinstance(sought, ProcessSeen):
            return self._process(sought)
        return self._environment(sought)

    def missing_kinds(self, clue: Clue) -> list[str]:
        """The kinds of evidence that are not there and would show a clue, also those inside a combinator."""
        if isinstance(clue.sought, COMBINATORS):
            return sorted({kind for inner in clue.sought.clues for kind in self.missing_kinds(inner)})
        return [clue.kind] if isinstance(self.find(clue.sought), Unseen) else []

    def _log(self, sought: LogSeen, after: tuple[int, int]) -> Finding:
        if after != _BEGINNING:
            return self._search_logs(sought.pattern, after)
        if sought.pattern not in self._log_findings:
            self._log_findings[sought.pattern] = self._search_logs(sought.pattern, after)
        return self._log_findings[sought.pattern]

    def _search_logs(self, pattern: str, after: tuple[int, int]) -> Finding:
        logs = [log for log in self.crash.logs if not log.is_blank]
        for log in logs:
            if log.input < after[0]:
                continue
            start = after[1] + 1 if log.input == after[0] else 0
            match = self._first_match(log, pattern, start)
            if match is not None:
                at = match.start()
                return Hit(log.place(at), quote(log.line(at)), (log.input, at), _caught(match))
        return ABSENT if self._log_is_whole else UNSEEN

    def _may_hold(self, log: Log, needle: str, start: int) -> bool:
        """Whether a text can stand in a log; in a short log a set of its pieces answers that without a search."""
        if start or len(log.text) > _SHORT or len(needle) < _PIECE:
            return log.text.find(needle, start) >= 0
        if log.input not in self._pieces:
            text = log.text
            self._pieces[log.input] = frozenset(text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))
        pieces = self._pieces[log.input]
        return needle[:_PIECE] in pieces and needle[-_PIECE:] in pieces and needle in log.text

    def _first_match(self, log: Log, pattern: str, start: int) -> patterns.Match | None:
        """The first match behind a place; without the texts that it needs a pattern is not even compiled."""
        needles = self._literals.get(pattern)
        if needles is None:
            needles = patterns.literals(pattern)
        if needles and not any(self._may_hold(log, needle, start) for needle in needles):
            return None
        return patterns.compile(pattern).search(log.text, start)

    def _exception(self, sought: ExceptionSeen, after: tuple[int, int]) -> Finding:
        for error in self.crash.exceptions:
            at = (error.place.input if error.place else 0, error.offset)
            if at <= after or (sought.type and not patterns.compile(sought.type).search(error.type)):
                continue
            values: dict[str, str] = {}
            if sought.message:
                match = patterns.compile(sought.message).search(error.message)
                if match is None:
                    continue
                values = _caught(match)
            message = error.message.splitlines()[0] if error.message else ""
            return Hit(error.place, quote(f"{error.short_type}: {message}"), at, values)
        return ABSENT if self._log_is_whole else UNSEEN

    def _any(self, sought: AnyOf, after: tuple[int, int]) -> Finding:
        findings = [self.find(clue.sought, after) for clue in sought.clues]
        hits = [finding for finding in findings if isinstance(finding, Hit)]
        if hits:
            # The earliest is the evidence, but every wording may carry values of its own.
            first = min(hits, key=lambda hit: hit.at)
            values = {name: text for hit in reversed(hits) for name, text in hit.values.items()}
            is_exit = any(hit.is_exit for hit in hits)
            return Hit(first.place, first.quote, first.at, {**values, **first.values}, is_exit)
        # Faults, libraries, memory and the machine are seldom told, and their silence proves nothing either way; but
        # where there is no log to look into, that its wordings are missing says nothing.
        blind = any(
            isinstance(finding, Unseen) and not isinstance(clue.sought, _SELDOM_TOLD)
            for clue, finding in zip(sought.clues, findings, strict=True)
        )
        absent = any(isinstance(finding, Absent) for finding in findings)
        return ABSENT if absent and not blind else UNSEEN

    def _sequence(self, sought: InSequence, after: tuple[int, int]) -> Finding:
        values: dict[str, str] = {}
        last: Hit | None = None
        for clue in sought.clues:
            finding = self.find(clue.sought, after)
            if not isinstance(finding, Hit):
                return finding
            values.update(finding.values)
            after, last = max(after, finding.at), finding
        assert last is not None
        return Hit(last.place, last.quote, last.at, values, last.is_exit)

    def _of_one_thread(self, sought: OfOneThread) -> Finding:
        of_each = []
        for threads in self._each_process_by_threads:
            findings = [all_of([alone.find(clue.sought) for clue in sought.clues]) for alone in threads]
            # A thread that runs no Python has no Python stack; that is no gap so long as another one of them shows it.
            of_each.append(_first_of(findings, Hit, Absent))
        # A process of which nothing could be read may be the one.
        return _first_of(of_each, Hit, Unseen)

    @cached_property
    def _each_process_by_threads(self) -> list[list[Facts]]:
        """For each process the crash as if it had only that thread, for each that tells; an exception is one too."""
        crash = self.crash
        processes = crash.processes if crash.hung else crash.processes[crash.primary :][:1]
        split = []
        for process in processes:
            telling = [thread for thread in process.threads if thread.crashed or crash.hung]
            alone = [process._replace(threads=(thread,)) for thread in telling] or [process._replace(threads=())]
            split.append([crash._replace(processes=(one,), primary=0, exceptions=()) for one in alone])
        split += [[crash._replace(processes=(), primary=0, exceptions=(error,))] for error in crash.exceptions]
        return [[Facts(one, self._literals) for one in alone] for alone in split]

    def _exit(self, sought: ExitSeen) -> Finding:
        status = self.crash.exit
        if status is None:
            return UNSEEN
        names = {status.name, status.signal, f"exit {status.code}"}
        if status.ntstatus is not None:
            names.add(f"0x{status.ntstatus:08X}")
        if not names.intersection(sought.statuses):
            return ABSENT
        if sought.subcodes and status.subcode not in sought.subcodes:
            return UNSEEN if status.subcode is None else ABSENT
        return Hit(status.place, f"the process ended with {status.label}", _END, is_exit=True)

    def _telling_threads(self) -> list[Thread]:
        """The crashed threads; of a program that hung every thread of every process, since none of them crashed."""
        if self.crash.hung:
            return [thread for process in self.crash.processes for thread in process.threads]
        return [thread for thread in self.crash.threads if thread.crashed]

    def _native(self, sought: NativeSeen) -> Finding:
        stacks = [thread for thread in self._telling_threads() if thread.native_stack]
        for thread in stacks:
            fitting = [
                name_of(frame)
                for frame in thread.native_stack[: sought.within]
                if _fits(sought.function, frame.function)
                and _fits(sought.module, frame.module)
                and (frame.own or not sought.own)
            ]
            if name := _often_enough(fitting, sought.repeated):
                return Hit(thread.place, f"native frame {name}")
        return ABSENT if stacks else UNSEEN

    def _python(self, sought: PythonSeen) -> Finding:
        stacks = [(thread.place, thread.python_stack) for thread in self._telling_threads()]
        stacks += [(error.place, error.frames) for error in self.crash.exceptions]
        told = [(place, frames) for place, frames in stacks if frames]
        for place, frames in told:
            fitting = [
                f"{frame.file}:{frame.line} in {frame.function}"
                for frame in frames[: sought.within]
                if _fits(sought.file, frame.file.replace("\\", "/"))
                and _fits(sought.function, frame.function)
                and (is_own(frame) or not sought.own)
            ]
            if name := _often_enough(fitting, sought.repeated):
                return Hit(place, Phrase.of("Python frame ", quote(name)))
        return ABSENT if told else UNSEEN

    def _module(self, sought: ModuleSeen) -> Finding:
        environment = self.crash.environment
        if sought.twice:
            double = [sentence for sentence in environment.loaded_twice if _fits(sought.name, sentence)]
            if double:
                return Hit(None, double[0])
            return ABSENT if environment.libraries_complete else UNSEEN
        named = [library for library in environment.libraries if patterns.compile(sought.name).search(library.name)]
        if sought.absent:
            if named or not environment.libraries_complete:
                return ABSENT if named else UNSEEN
            return Hit(None, f"{sought.name} is not among the loaded libraries")
        if sought.version is None and named:
            return Hit(None, f"{named[0].name} is loaded")
        versions = [library for library in named if library.version is not None]
        for library in versions:
            if in_range(library.version or "", sought.version or ""):
                return Hit(None, f"{library.name} {library.version}")
        return ABSENT if versions or (environment.libraries_complete and not named) else UNSEEN

    def _memory(self, sought: MemorySeen) -> Finding:
        return CONDITIONS[sought.condition](self.crash.memory, self.crash.resources)

    def _fault(self, sought: FaultSeen) -> Finding:
        crash = self.crash
        fault = crash.processes[crash.primary].fault if crash.processes else None
        if fault is None:
            return UNSEEN
        from triage.diagnosis import faults  # only a crash that was held, or a core, has one

        findings = []
        if sought.address:
            findings.append(faults.address_is(sought.address, fault))
        if sought.access:
            findings.append(_told(fault.access, lambda value: value == sought.access, "the fault was a {}"))
        if pattern := sought.instruction:
            at = "the instruction at the fault is {}"
            findings.append(_told(fault.instruction, lambda value: _fits(pattern, value), at))
        if sought.needs_missing_flag is not None:
            findings.append(faults.needs_flag(sought.needs_missing_flag, fault, crash.environment.cpu_flags))
        if sought.stack_full is not None:
            findings.append(faults.stack_is(sought.stack_full, fault))
        if pattern := sought.says:
            findings.append(_told(fault.says, lambda value: _fits(pattern, value), "{}"))
        if pattern := sought.missing_library:
            findings.append(faults.library_is(pattern, fault))
        return all_of(findings)

    def _process(self, sought: ProcessSeen) -> Finding:
        if self.crash.rerun is None:  # only a program that we ran tells how its processes were made
            return UNSEEN
        processes = self.crash.processes if self.crash.hung else self.crash.processes[self.crash.primary :][:1]
        for process in processes:
            if process.forked_with == sought.forked_with:
                what = f"process {process.pid} was forked from one in which {sought.forked_with} had started"
                return ABSENT if sought.absent else Hit(None, what, values={"pid": str(process.pid)})
        return seen_if(sought.absent, f"no process was forked from one in which {sought.forked_with} had started")

    def _environment(self, sought: EnvironmentSeen) -> Finding:
        environment = self.crash.environment
        findings = []
        if sought.os:
            findings.append(_told(environment.os, lambda value: value in sought.os, "the system is {}"))
        if wanted := sought.python:
            findings.append(_told(environment.python, lambda value: in_range(value, wanted), "Python {}"))
        for name, version in sought.packages:
            findings.append(_told(environment.package(name), partial(in_range, wanted=version), name + " {}"))
        if flag := sought.lacks_cpu_flag:
            flags = " ".join(environment.cpu_flags)
            findings.append(_told(flags, lambda value: flag not in value.split(), f"the CPU does not list {flag}"))
        if gpu := sought.gpu:
            names = ", ".join(environment.gpus)
            findings.append(_told(names, lambda value: bool(patterns.compile(gpu).search(value)), "GPU {}"))
        return all_of(findings)


_SELDOM_TOLD = (FaultSeen, ModuleSeen, MemorySeen, EnvironmentSeen, ExitSeen)
# An exit status is the last thing that happens, wherever in a paste it stands.
_END = (1 << 30, 0)


def _caught(match: patterns.Match) -> dict[str, str]:
    return {name: quote(text) for name, text in match.groupdict().items() if text is not None}


def _fits(pattern: str | None, text: str | None) -> bool:
    return pattern is None or (text is not None and patterns.compile(pattern).search(text) is not None)


def _first_of(findings: list[Finding], *kinds: type[Finding]) -> Finding:
    """The first finding of the first kind that there is; without any, nothing could be seen."""
    in_order = (finding for kind in kinds for finding in findings if isinstance(finding, kind))
    return next(in_order, findings[0] if findings else UNSEEN)


def _told(value: str | None, holds: Callable[[str], bool], quote: str) -> Finding:
    if not value:
        return UNSEEN
    return seen_if(holds(value), quote.format(value))


def _often_enough(frames: list[str], times: int | None) -> str | None:
    """The first frame, or the first that stands there so many times."""
    return next((frame for frame in frames if frames.count(frame) >= (times or 1)), None)
