"""WinDbg: `!analyze -v`, the stacks of `k`, `kn`, `kv` and `~*k`, and the module list of `lm`."""

from __future__ import annotations

from triage import digits, patterns, status
from triage.crash import Environment, ExitStatus, Library, Log, NativeFrame, RuntimeMessage, Thread
from triage.frames import from_fault
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, notices, statuses

TRIGGERS = (
    "!analyze -v",
    "STACK_TEXT:",
    "ExceptionCode: ",
    "Child-SP",
    "ChildEBP",
    "second chance",
    "  module name",
)
_CODE = (
    r"^[ \t]*(?:ExceptionCode: |EXCEPTION_CODE_STR: +|EXCEPTION_CODE: \(\w+\) |ERROR_CODE: \(NTSTATUS\) )"
    r"(?P<code>0x[0-9a-fA-F]{8}|[0-9a-fA-F]{8})\b"
)
_SECOND_CHANCE = r" - code (?P<code>[0-9a-f]{8}) \(!!! second chance !!!\)"
# A program may handle a first-chance exception, so only those count that hardly any program handles.
_FIRST_CHANCE = r"(?:Access violation|[Ii]llegal instruction|Stack overflow) - code (?P<code>c\w{7}) \(first chance\)"
_SUBCODE = r"^[ \t]*Subcode: (?P<subcode>0x[0-9a-fA-F]{1,8}) FAST_FAIL_"
_BUG_CHECK = r"^[A-Z][A-Z_]{8,60} \([0-9a-f]{1,3}\)$"
_ADDRESS = r"[0-9a-fA-F]{8}(?:`[0-9a-fA-F]{8})?"
_FRAME = (
    rf"^[ \t]*(?:[0-9a-f]{{2,3}} )?(?:{_ADDRESS} {_ADDRESS}|\(Inline Function\) -{{8}}`-{{8}})\s+"
    rf"(?:(?:: (?:[0-9a-fA-F`-]+ ){{1,5}})?: |(?:[0-9a-fA-F]{{8}} ){{3}})?"
    r"(?P<module>[A-Za-z_][\w.]*)(?:!(?P<function>[^\n]+?))?(?:\+0x(?P<offset>[0-9a-f]+))?"
    r"(?: \[[^\n]*\]| \(Inline Function\))?[ \t]*$"
)
# `#` marks the thread that raised the exception.
_THREAD = r"^(?P<mark>[.#* ]) +\d+  Id: [0-9a-f]+\.[0-9a-f]+ Suspend:"
_LIST_HEAD = r"^[ \t]*start\s+end\s+module name[ \t]*$"
_LISTED = rf"^{_ADDRESS} {_ADDRESS}\s+(?P<name>[A-Za-z_][\w.]*)\s+(?:[CT#*] +)*\((?:deferred|(?:\w+ )*symbols)"
_LIST_END = r"^(?:Unloaded modules:|\d+:\d{3}(?::x86)?> ?)"


def extract(log: Log) -> ContainerFacts:
    """The exception with its fast-fail subcode, the stacks and the modules."""
    exits = statuses(log, _CODE) or statuses(log, _SECOND_CHANCE) or statuses(log, _FIRST_CHANCE)
    libraries, complete = _modules(log)
    threads = _threads(log)
    return ContainerFacts(
        exits=tuple(_with_subcode(log, seen) for seen in exits),
        threads=threads,
        messages=_bug_checks(log),
        environment=Environment(
            os="windows" if exits or threads or libraries else None,
            libraries=libraries,
            libraries_complete=complete,
        ),
    )


def _with_subcode(log: Log, seen: ExitStatus) -> ExitStatus:
    match = patterns.compile(_SUBCODE).search(log.text) if seen.ntstatus == status.FAST_FAIL_STATUS else None
    return status.with_subcode(seen, int(match["subcode"], 16)) if match else seen


def _threads(log: Log) -> tuple[Thread, ...]:
    """One thread for each unbroken run of frame lines."""
    heads = [(match.start(), match["mark"]) for match in patterns.compile(_THREAD).finditer(log.text)]
    runs: list[list[Match]] = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        if not runs or log.text[runs[-1][-1].end() : match.start()].strip():
            runs.append([])
        runs[-1].append(match)
    threads = []
    for run in runs:
        marks = [mark for at, mark in heads if at < run[0].start()]
        frames = from_fault([_frame(match) for match in run])
        crashed = marks[-1] == "#" if marks else True
        threads.append(Thread("", crashed, native_stack=frames, place=log.place(run[0].start())))
    return tuple(threads)


def _frame(match: Match) -> NativeFrame:
    return NativeFrame(match["module"], match["function"], digits.whole(match["offset"], 16))


def _modules(log: Log) -> tuple[tuple[Library, ...], bool]:
    """The modules of `lm`, and whether the list is whole: that of `lm m cu*` lacks ntdll, which every process has."""
    found = list(patterns.compile(_LISTED).finditer(log.text))
    if not found:
        return (), False
    head = patterns.compile(_LIST_HEAD).search(log.text)
    end = patterns.compile(_LIST_END).search(log.text, found[-1].end())
    whole = head is not None and end is not None and any(match["name"].lower() == "ntdll" for match in found)
    return tuple(Library(match["name"]) for match in found), whole


def _bug_checks(log: Log) -> tuple[RuntimeMessage, ...]:
    return notices(log, _BUG_CHECK) if "BUGCHECK" in log.text or "Bugcheck Analysis" in log.text else ()
