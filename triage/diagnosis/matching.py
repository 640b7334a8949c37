"""Looking for a clue among the facts: it is seen (a Hit), absent although it could be seen, or not observable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from triage import patterns
from triage.crash import Crash, Fault, Log, Memory, Place, Resources, Thread
from triage.diagnosis.arithmetic import human_bytes
from triage.diagnosis.versions import in_range
from triage.knowledge.clues import (
    AnyOf,
    EnvironmentSeen,
    ExceptionSeen,
    ExitSeen,
    FaultSeen,
    InSequence,
    LogSeen,
    MemorySeen,
    ModuleSeen,
    NativeSeen,
    ProcessSeen,
    PythonSeen,
    Sought,
)

_NO_VALUES: Mapping[str, str] = {}


class Hit(NamedTuple):
    """A clue that was seen: where, in which words, with which named values; `at` orders hits within a log."""

    place: Place | None
    quote: str
    at: tuple[int, int] = (0, 0)
    values: Mapping[str, str] = _NO_VALUES


class Absent:
    """A clue that could have been seen and was not."""


class Unseen:
    """A clue of a kind that the inputs do not hold."""


ABSENT, UNSEEN = Absent(), Unseen()
Finding = Hit | Absent | Unseen
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
                values = {name: text for name, text in match.groupdict().items() if text is not None}
                return Hit(log.place(at), log.line(at), (log.input, at), values)
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
                values = {name: text for name, text in match.groupdict().items() if text is not None}
            return Hit(
                error.place, f"{error.short_type}: {error.message.splitlines()[0] if error.message else ''}", at, values
            )
        return ABSENT if self._log_is_whole else UNSEEN

    def _any(self, sought: AnyOf, after: tuple[int, int]) -> Finding:
        findings = [self.find(clue.sought, after) for clue in sought.clues]
        hits = [finding for finding in findings if isinstance(finding, Hit)]
        if hits:
            # The earliest is the evidence, but every wording may carry values of its own.
            first = min(hits, key=lambda hit: hit.at)
            values = {name: text for hit in reversed(hits) for name, text in hit.values.items()}
            return Hit(first.place, first.quote, first.at, {**values, **first.values})
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
        return Hit(last.place, last.quote, last.at, values)

    def _exit(self, sought: ExitSeen) -> Finding:
        status = self.crash.exit
        if status is None:
            return UNSEEN
        names = {status.name, status.signal, f"exit {status.code}"}
        if status.ntstatus is not None:
            names.add(f"0x{status.ntstatus:08X}")
        if not names.intersection(sought.statuses):
            return ABSENT
        if sought.subcode is not None and status.subcode != sought.subcode:
            return UNSEEN if status.subcode is None else ABSENT
        return Hit(status.place, f"the process ended with {status.label}", _END)

    def _telling_threads(self) -> list[Thread]:
        """The crashed threads; of a program that hung every thread of every process, since none of them crashed."""
        if self.crash.hung:
            return [thread for process in self.crash.processes for thread in process.threads]
        return [thread for thread in self.crash.threads if thread.crashed]

    def _native(self, sought: NativeSeen) -> Finding:
        stacks = [thread for thread in self._telling_threads() if thread.native_stack]
        for thread in stacks:
            fitting = [
                frame.name
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
                and (frame.is_own or not sought.own)
            ]
            if name := _often_enough(fitting, sought.repeated):
                return Hit(place, f"Python frame {name}")
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
        return _CONDITIONS[sought.condition](self.crash.memory, self.crash.resources)

    def _fault(self, sought: FaultSeen) -> Finding:
        crash = self.crash
        fault = crash.processes[crash.primary].fault if crash.processes else None
        if fault is None:
            return UNSEEN
        findings = []
        if sought.address:
            findings.append(_address_is(sought.address, fault))
        if sought.access:
            findings.append(_told(fault.access, lambda value: value == sought.access, "the fault was a {}"))
        if pattern := sought.instruction:
            at = "the instruction at the fault is {}"
            findings.append(_told(fault.instruction, lambda value: _fits(pattern, value), at))
        if sought.needs_missing_flag is not None:
            findings.append(_needs_flag(sought.needs_missing_flag, fault, crash.environment.cpu_flags))
        if sought.stack_full is not None:
            findings.append(_stack_is(sought.stack_full, fault))
        return _all_of(findings)

    def _process(self, sought: ProcessSeen) -> Finding:
        if self.crash.rerun is None:  # only a program that we ran tells how its processes were made
            return UNSEEN
        processes = self.crash.processes if self.crash.hung else self.crash.processes[self.crash.primary :][:1]
        for process in processes:
            if process.forked_with == sought.forked_with:
                what = f"process {process.pid} was forked from one in which {sought.forked_with} had started"
                return Hit(None, what, values={"pid": str(process.pid)})
        return ABSENT

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
        return _all_of(findings)


_SELDOM_TOLD = (FaultSeen, ModuleSeen, MemorySeen, EnvironmentSeen, ExitSeen)
# An exit status is the last thing that happens, wherever in a paste it stands.
_END = (1 << 30, 0)


def _fits(pattern: str | None, text: str | None) -> bool:
    return pattern is None or (text is not None and patterns.compile(pattern).search(text) is not None)


def _if(holds: bool, quote: str, **values: str) -> Finding:
    return Hit(None, quote, values=values) if holds else ABSENT


def _all_of(findings: list[Finding]) -> Finding:
    """One finding for parts that must all hold: one that does not makes it absent, one that is not told unseen."""
    if any(finding == ABSENT for finding in findings):
        return ABSENT
    hits = [finding for finding in findings if isinstance(finding, Hit)]
    if not hits or len(hits) < len(findings):
        return UNSEEN
    values = {name: text for hit in hits for name, text in hit.values.items()}
    return Hit(None, ", ".join(hit.quote for hit in hits), values=values)


def _told(value: str | None, holds: Callable[[str], bool], quote: str) -> Finding:
    if not value:
        return UNSEEN
    return _if(holds(value), quote.format(value))


def _often_enough(frames: list[str], times: int | None) -> str | None:
    """The first frame, or the first that stands there so many times."""
    return next((frame for frame in frames if frames.count(frame) >= (times or 1)), None)


def _peak(holds: Callable[[float], bool]) -> Callable[[Memory, Resources], Finding]:
    """A condition over the share of its limit that a process used at most."""

    def finding(memory: Memory, _: Resources) -> Finding:
        if memory.peak_bytes is None or not memory.limit_bytes:
            return UNSEEN
        share = memory.peak_bytes / memory.limit_bytes
        values = {
            "peak_share": f"{share:.0%}",
            "peak": human_bytes(memory.peak_bytes),
            "limit": human_bytes(memory.limit_bytes),
            "limit_source": memory.limit_source or "the limit",
        }
        return _if(holds(share), f"peak memory was {share:.0%} of the limit", **values)

    return finding


def _oom_killed(memory: Memory, _: Resources) -> Finding:
    if memory.oom_kills is None:
        return UNSEEN
    count = str(memory.oom_kills)
    return _if(memory.oom_kills > 0, f"OOM kills on record while it ran: {count}", oom_kills=count)


def _not_oom_killed(memory: Memory, _: Resources) -> Finding:
    if memory.oom_kills is None:
        return UNSEEN
    return _if(memory.oom_kills == 0, "the kernel counted 0 kills for memory while it ran")


def _shm_full(_: Memory, resources: Resources) -> Finding:
    size, free = resources.shm_bytes, resources.shm_free_bytes
    if size is None or free is None:
        return UNSEEN
    values = {"shm_free": human_bytes(free), "shm_size": human_bytes(size)}
    full = free < _SHM_LEAST or free < _SHM_SHARE * size
    return _if(full, f"shared memory had {values['shm_free']} of {values['shm_size']} left", **values)


def _threads(holds: Callable[[float], bool]) -> Callable[[Memory, Resources], Finding]:
    def finding(_: Memory, resources: Resources) -> Finding:
        threads, limit = resources.threads, resources.thread_limit
        if threads is None or not limit:
            return UNSEEN
        whose = f" ({resources.thread_limit_source})" if resources.thread_limit_source else ""
        quote = f"{threads} of {limit} threads were in use{whose}"
        return _if(holds(threads / limit), quote, threads=str(threads), thread_limit=str(limit))

    return finding


def _address_space_limited(memory: Memory, _: Resources) -> Finding:
    if memory.limit_source is None or memory.limit_bytes is None:
        return UNSEEN
    size = human_bytes(memory.limit_bytes)
    limited = memory.limit_source.startswith("RLIMIT_AS")
    return _if(limited, f"the address space is limited to {size} (RLIMIT_AS, ulimit -v)", address_space=size)


_FULL = 0.95
# Shared memory is given out in pages, and what is left of a full one is a remainder that no array fits into.
_SHM_SHARE, _SHM_LEAST = 0.05, 1 << 20
_CONDITIONS: dict[str, Callable[[Memory, Resources], Finding]] = {
    "peak_below_half": _peak(lambda share: share < 0.5),
    "peak_below_limit": _peak(lambda share: share < 0.8),
    "peak_at_limit": _peak(lambda share: share > 0.9),
    "oom_killed": _oom_killed,
    "not_oom_killed": _not_oom_killed,
    "shm_full": _shm_full,
    "threads_at_limit": _threads(lambda share: share >= _FULL),
    "threads_below_limit": _threads(lambda share: share < 0.5),
    "address_space_limited": _address_space_limited,
}
# The first pages are never mapped: an address in them is a null pointer, or a field of what it should point to.
_NULL, _NEAR_NULL = 1 << 16, 1 << 24
# A push touches what lies just below the stack pointer, a new frame what lies above it.
_BELOW_STACK, _ABOVE_STACK = 1 << 12, 1 << 16
_HALF_FULL = 0.5


def _address_is(wanted: str, fault: Fault) -> Finding:
    address = fault.address
    if address is None:
        return UNSEEN
    if wanted == "stack-guard":
        near = _is_near_stack(fault)
        return UNSEEN if near is None else _if(near, f"the fault at 0x{address:x} is at the end of the stack")
    # Processors of another kind have one more bit of addresses for programs.
    lowest = 1 << (48 if "x0" in dict(fault.registers) else 47)
    holds = {
        "null": address < _NULL,
        "near-null": _NULL <= address < _NEAR_NULL,
        "noncanonical": lowest <= address < (1 << 64) - lowest,
        "any": True,
    }[wanted]
    return _if(holds, f"the fault was at address 0x{address:x}", fault_address=f"0x{address:x}")


def _needs_flag(wanted: bool, fault: Fault, flags: tuple[str, ...]) -> Finding:
    if not fault.instruction or not flags:
        return UNSEEN
    from triage.instructions import missing_flag  # a table of patterns that few crashes need

    flag = missing_flag(fault.instruction, flags)
    values = {"instruction": " ".join(fault.instruction.split()), "flag": flag or ""}
    if flag is None:
        return _if(not wanted, f"the processor lists what '{values['instruction']}' needs", **values)
    return _if(wanted, f"'{values['instruction']}' needs {flag}, which the processor does not list", **values)


def _stack_is(full: bool, fault: Fault) -> Finding:
    """Whether a stack is used up, or (if that is asked) is far from it; in between it is neither."""
    near = _is_near_stack(fault)
    used, limit = fault.stack_used_bytes, fault.stack_limit_bytes
    if used is None or not limit:
        if not near:
            # Without a size the place of the fault can only prove that the stack is used up.
            return ABSENT if full and near is False else UNSEEN
        return _if(full, f"the fault at 0x{fault.address or 0:x} is at the stack pointer, where the stack ends")
    values = {"stack_used": human_bytes(used), "stack_limit": human_bytes(limit)}
    holds = used >= _FULL * limit or bool(near) if full else used < _HALF_FULL * limit and not near
    return _if(holds, f"{values['stack_used']} of {values['stack_limit']} of the stack were in use", **values)


def _is_near_stack(fault: Fault) -> bool | None:
    """Whether a fault was where the stack pointer is: a thread always has memory there unless its stack is full.

    Code that is run from the stack faults there too, but for another reason.
    """
    registers = dict(fault.registers)
    pointer = next((registers[name] for name in ("rsp", "esp", "sp") if name in registers), None)
    if fault.address is None or pointer is None:
        return None
    return fault.access != "execute" and -_BELOW_STACK <= fault.address - pointer < _ABOVE_STACK
