"""Reports of the sanitizers (address, memory, thread, leak, undefined behaviour, control flow) and of libFuzzer.

A report names the kind of fault, then prints the stack that ran into it and the stacks that led to it: where the
memory was allocated and freed, what the other thread did.
"""

from __future__ import annotations

from itertools import dropwhile
from typing import NamedTuple

from triage import digits, patterns, status
from triage.crash import Access, ExitStatus, Fault, Log, NativeFrame, RuntimeMessage, Thread
from triage.frames import function_name
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts
from triage.readers.log.containers.printed_stacks import Stack, by_lines, numbered_frames

TRIGGERS = (
    "Sanitizer: ",
    "Sanitizer:DEADLYSIGNAL",
    "ASAN:DEADLYSIGNAL",
    "ASAN:SIGSEGV",
    "libFuzzer: ",
    ": runtime error: ",
    "CFI: Most likely",
    "===BUG DETECTED",
)
# The heading of a report. A warning about a symboliser or a flag is none: it has no space before the colon's name.
_REPORT = (
    r"(?:ERROR|WARNING|FATAL|CHECK failed): ?(?P<tool>(?:HW|Hardware ?|Kernel)?[A-Z][A-Za-z]*Sanitizer|libFuzzer): "
    r"(?P<kind>[^\n]+)$"
)
# UndefinedBehaviorSanitizer writes like a compiler; so does control flow integrity.
_UNDEFINED = r"^(?P<file>(?:[A-Za-z]:)?[^\s:()]+):(?P<line>\d+)(?::\d+)?: runtime error: (?P<kind>[^\n]+)$"
_NOT_GO = ("panic:", "goroutine")
_SUMMARY = r"^SUMMARY: (?P<tool>\w*Sanitizer|libFuzzer): (?P<kind>[^\n]+)$"
_BARE = r"^(?:Address|Undefined\w*|Memory|Thread)Sanitizer:DEADLYSIGNAL$|^ASAN:(?:DEADLYSIGNAL|SIGSEGV)$"
_OTHERS = r"^CFI: Most likely a control flow integrity violation[^\n]*$|^===BUG DETECTED: [^\n]+?(?: ===)?$"
# What a sanitizer says of itself or of its helper, not of the program.
_OF_ITSELF = (
    r"(?i)symboli[sz]er|failed to allocate|unsupported flag|unrecogni[sz]ed flag|LD_PRELOAD|invalid path|"
    r"ASLR|ptrace|personality|interceptors? (?:are|is) not|reading suppressions|memory mapping|"
    r"Cant read|Can't (?:read|write)|doesn't fully support|failed to intercept|runtime does not come first|"
    r"found \d+ leaks"
)
_SIGNAL = (
    r"^(?P<name>SEGV|ABRT|ILL|BUS|FPE|TRAP|stack-overflow|access-violation|illegal-instruction|int-divide-by-zero)\b"
)
_SIGNALS = {
    "access-violation": "0xC0000005",
    "illegal-instruction": "0xC000001D",
    "int-divide-by-zero": "0xC0000094",
    "stack-overflow": "SIGSEGV",
}
_ADDRESS = r"(?:on|for)(?: unknown)? address (?P<address>0x[0-9a-f]+)"
_ACCESS = r"caused by a (?P<access>READ|WRITE) memory access"
# Headings of stacks that led to the fault and are not the fault.
_LED_TO_IT = (
    r"(?i)(?:freed|allocated|created|stored|marked) (?:by|here|at)|allocated from|(?:previous|concurrent) (?:atomic )?"
    r"(?:read|write)|was (?:created|stored|allocated)|uninitialized value was|memory was marked|"
    r"location is|mutex \S+ (?:\(\S+\) )?(?:is already|created|acquired)|as if synchronized|"
    r"live heap allocations|byte\(s\) \(\d+%\) in|top \d+%|dedup_token|registered by|created at:|previously"
)
_INTERCEPTED = (
    r"^(?:malloc|calloc|realloc|c?free|strdup|mem(?:cpy|move|set|cmp|chr)|strn?(?:len|cmp|cpy|cat|chr|str)|strtol|printf|"
    r"operator (?:new|delete)(?:\[\])?|pthread_create)$"
)
_LONGEST = 300


class _Report(NamedTuple):
    """The heading of one report."""

    offset: int
    kind: str
    # How the line has it: `AddressSanitizer: heap-use-after-free on address ...`
    text: str


def extract(log: Log) -> ContainerFacts:
    """What was found, the stack that ran into it as a crashed thread, and the other stacks by their headings."""
    reports = _reports(log)
    if not reports:
        return ContainerFacts()
    threads = _threads(log, reports)
    exits = [seen for report in reports if (seen := _signal(log, report)) is not None]
    messages = tuple(RuntimeMessage("sanitizer", r.text[:_LONGEST], log.place(r.offset), r.offset) for r in reports)
    return ContainerFacts(exits=tuple(exits), threads=threads, messages=messages, fault=_fault(log, reports))


def _reports(log: Log) -> list[_Report]:
    """The headings in the order of the text; a summary or a bare mark counts only where no heading is left."""
    found = []
    for match in patterns.compile(_REPORT).finditer(log.text):
        if not patterns.compile(_OF_ITSELF).search(match["kind"]):
            found.append(_named(match))
    for match in patterns.compile(_UNDEFINED).finditer(log.text):
        if not log.line(match.start()).startswith(_NOT_GO):
            found.append(_Report(match.start(), match["kind"].strip(), match.group().strip()))
    for match in patterns.compile(_OTHERS).finditer(log.text):
        found.append(_Report(match.start(), "", match.group().strip("= ")))
    if not found:
        for match in patterns.compile(_SUMMARY).finditer(log.text):
            found.append(_named(match))
    if not found:
        for match in patterns.compile(_BARE).finditer(log.text):
            found.append(_Report(match.start(), "", match.group()))
    return sorted(found)


def _named(match: Match) -> _Report:
    kind = match["kind"].strip()
    return _Report(match.start(), kind, f"{match['tool']}: {kind}")


def _threads(log: Log, reports: list[_Report]) -> tuple[Thread, ...]:
    """The first stack below a heading is the fault's, unless its own heading says that it led to it."""
    threads: list[Thread] = []
    told: set[int] = set()
    for stack in by_lines(log, numbered_frames(log)):
        above = [report for report in reports if report.offset < stack.offset]
        heading = _heading(log, stack)
        led_to_it = patterns.compile(_LED_TO_IT).search(heading) is not None
        report = above[-1] if above else reports[0]
        crashed = not led_to_it and report.offset not in told
        if crashed:
            told.add(report.offset)
        name = "" if crashed else heading.rstrip(":")
        threads.append(Thread(name, crashed, (), _below_interceptors(stack.frames), log.place(stack.offset)))
    # A leak has nothing but where it was allocated: the first stack is what there is to look at.
    if threads and not any(thread.crashed for thread in threads):
        threads[0] = threads[0]._replace(crashed=True)
    return tuple(threads)


def _below_interceptors(frames: tuple[NativeFrame, ...]) -> tuple[NativeFrame, ...]:
    """The stack from the caller of a function of the C library that the sanitizer replaces, if there is one."""
    named = patterns.compile(_INTERCEPTED)
    return tuple(dropwhile(lambda frame: bool(named.match(function_name(frame.function or "?"))), frames)) or frames


def _heading(log: Log, stack: Stack) -> str:
    """The line above a stack."""
    before = log.text[max(0, stack.offset - 400) : stack.offset].rstrip()
    return before[before.rfind("\n") + 1 :].strip()


def _signal(log: Log, report: _Report) -> ExitStatus | None:
    """The signal that the sanitizer caught, where it was one."""
    match = patterns.compile(_SIGNAL).match(report.kind)
    return status.parse(_SIGNALS.get(match["name"], match["name"]), place=log.place(report.offset)) if match else None


def _fault(log: Log, reports: list[_Report]) -> Fault | None:
    for report in reports:
        seen = _signal(log, report)
        if seen is None or seen.name not in ("SIGSEGV", "SIGBUS", "STATUS_ACCESS_VIOLATION"):
            continue
        address = patterns.compile(_ADDRESS).search(report.kind)
        below = log.text[report.offset : report.offset + 2000]
        access = patterns.compile(_ACCESS).search(below)
        kinds: dict[str, Access] = {"READ": "read", "WRITE": "write"}
        return Fault(
            seen.name if seen.signal else None,
            digits.whole(address["address"], 16) if address else None,
            kinds[access["access"]] if access else None,
        )
    return None
