"""The Linux kernel's own account of a death: dmesg lines, the out-of-memory killer, audit records, its own crash."""

from __future__ import annotations

from typing import NamedTuple

from triage import digits, patterns, status
from triage.crash import Access, ExitStatus, Fault, Log, Memory, NativeFrame, Place, Thread
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, notices
from triage.readers.log.victims import is_neighbour

TRIGGERS = (
    "segfault at ",
    "traps: ",
    "ut of memory: Kill",
    "Killed process ",
    "ANOM_ABEND",
    "]: unhandled ",
    "Unhandled fault: align",
    "Alignment trap",
    "Kernel panic - not syncing",
    "BUG: KASAN: ",
    "kernel BUG at ",
    "Internal error: Oops",
    "Unable to handle kernel",
    "unable to handle ",
    "0000 [#1]",
    "BUG: kernel NULL pointer",
    "Oops: 0",
)
_WHERE = r"(?: in (?P<module>[^\[\s]+)\[(?:(?P<offset>[0-9a-f]+),)?(?P<base>[0-9a-f]+)\+[0-9a-f]+\])?"
_PROCESS = r"(?P<comm>[^\[\]\n:]{1,16})\[\d+\]"
# People cut the line in front of the fault, and the name of the process with it.
_SEGFAULT = (
    rf"(?:{_PROCESS}: |^)segfault at (?P<at>[0-9a-f]+) ip (?P<ip>[0-9a-f]+) sp (?P<sp>[0-9a-f]+) "
    rf"error (?P<error>[0-9a-f]+){_WHERE}"
)
_TRAP = (
    rf"traps: {_PROCESS} (?:trap )?(?P<trap>invalid opcode|general protection(?: fault)?|divide error|int3|"
    rf"stack segment|alignment check) ip:(?P<ip>[0-9a-f]+) sp:[0-9a-f]+ error:[0-9a-f]+{_WHERE}"
)
# ARM, RISC-V and POWER name the signal by its number.
_UNHANDLED = (
    rf"{_PROCESS}: (?:unhandled (?:signal (?P<plain>\d{{1,2}}) code|[\w ,:-]+? \((?P<number>\d{{1,2}})\) at)) "
    rf"[^\n]*?(?:, in (?P<module>[^\[\s]+)\[(?:(?P<offset>[0-9a-f]+),)?(?P<base>[0-9a-f]+)\+[0-9a-f]+\])?$"
)
_ALIGNMENT = r"Unhandled fault: alignment (?:exception|fault)|Alignment trap: not handling instruction"
_OOM_KILL = (
    r"Kill(?:ed)? process \d+,? (?:UID \d+,? )?\((?P<comm>[^)\n]{1,16})\),?"
    r"(?:[^\n]*?anon-rss:(?P<anon>\d+)kB)?(?:, file-rss:(?P<file>\d+)kB)?(?:, shmem-rss:(?P<shmem>\d+)kB)?"
)
_GROUP_LIMIT = r"memory: usage \d+kB, limit (?P<limit>\d+)kB"
_AUDIT = r'ANOM_ABEND [^\n]*?comm="?(?P<comm>[^"\s]+)"?[^\n]*? sig=(?P<sig>\d{1,2})\b'
# The kernel itself: what it says first, and its own stack, where the report's own functions come on top.
_OOPS = (
    r"(?:Kernel panic - not syncing: |BUG: KASAN: |kernel BUG at |Internal error: Oops|[Uu]nable to handle "
    r"(?:kernel|page)|BUG: kernel NULL pointer dereference|\bOops: 0[0-9a-f]{3} \["
    r"|(?:general protection fault|invalid opcode|divide error)(?:, [^\n:]*)?: 0000 \[#1\])[^\n]*$"
)
_KERNEL_AT = r"(?:RIP: 0010:|PC is at |\bpc : )(?:\[<[0-9a-f]+>\] ?)*\s*(?P<function>[A-Za-z_][\w.]*)\+0x"
_KERNEL_TRACE = r"^[^\n]{0,40}?(?:Call [Tt]race:|Backtrace:)[^\n]*\n"
_KERNEL_FRAME = (
    r"^[^\n]{0,40}?(?:\[< *(?:[0-9a-f]+|inline) *>\] )?(?:\((?:\[<[0-9a-f]+>\] ?)?\(?)?(?P<function>[A-Za-z_][\w.]*)\)?"
    r"(?:\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+| [\w./-]+:\d+)(?: \[(?P<module>\w+)\])?"
)
_KERNEL_REPORTING = (
    r"^(?:_*dump_(?:stack|backtrace)\w*|show_(?:stack|regs|trace)\w*|print_address_description|_*kasan_\w+|kasan\w*|panic|"
    r"_*asan_\w+|check_memory_region\w*|die|oops_\w+|do_(?:page|trap|translation|mem)_?\w*fault|no_context|page_fault)$"
)
_TRAPS = {
    "invalid opcode": "SIGILL",
    "general protection": "SIGSEGV",
    "general protection fault": "SIGSEGV",
    "divide error": "SIGFPE",
    "int3": "SIGTRAP",
    "stack segment": "SIGBUS",
    "alignment check": "SIGBUS",
}
# A limit that nobody set is printed as the largest number of pages.
_NO_LIMIT = 1 << 50


class _Death(NamedTuple):
    """One process whose end the kernel logged."""

    comm: str
    offset: int
    exit: ExitStatus
    frame: NativeFrame | None = None
    fault: Fault | None = None
    rss: int | None = None


def extract(log: Log) -> ContainerFacts:
    """Which process died of what and, for a fault, in which library; only Python's lines, if there are any."""
    deaths = sorted([*_faults(log), *_kills(log), *_audited(log)], key=lambda death: death.offset)
    deaths = [death for death in deaths if not is_neighbour(log, death.comm)]
    relevant = [death for death in deaths if death.comm.startswith("python")] or deaths
    threads = [
        Thread(death.comm, True, native_stack=(death.frame,), place=death.exit.place)
        for death in relevant
        if death.frame
    ]
    limit = patterns.compile(_GROUP_LIMIT).search(log.text)
    limit_bytes = digits.scaled(limit["limit"], 1024) if limit else None
    if limit_bytes is None or limit_bytes >= _NO_LIMIT:
        memory = Memory(peak_bytes=_peak(relevant))
    else:
        memory = Memory(_peak(relevant), limit_bytes, "control group")
    fault = next((death.fault for death in reversed(relevant) if death.fault), None)
    messages = notices(log, _OOPS)
    if messages:
        threads += _kernel_stack(log, messages[0].offset)
    return ContainerFacts(
        exits=tuple(death.exit for death in relevant),
        threads=tuple(threads),
        messages=messages,
        memory=memory,
        fault=fault,
    )


def _kernel_stack(log: Log, start: int) -> list[Thread]:
    """The kernel's stack below its first word of a crash: the instruction's function, then the calls."""
    text = log.text[start : start + 64 * 1024]
    frames: list[NativeFrame] = []
    if at := patterns.compile(_KERNEL_AT).search(text):
        frames.append(NativeFrame("kernel", at["function"]))
    if trace := patterns.compile(_KERNEL_TRACE).search(text):
        for line in text[trace.end() :].split("\n"):
            match = patterns.compile(_KERNEL_FRAME).match(line)
            if match is None:
                if line.strip(" \t<>/TASKIRQ[].0123456789"):
                    break
                continue
            if line.lstrip().startswith("? ") or patterns.compile(_KERNEL_REPORTING).match(match["function"]):
                continue
            frames.append(
                NativeFrame(match["module"] or "kernel", match["function"], digits.whole(match["offset"], 16))
            )
    return [Thread("kernel", True, native_stack=tuple(frames), place=log.place(start))] if frames else []


def _faults(log: Log) -> list[_Death]:
    found = []
    for match in patterns.compile(_SEGFAULT).finditer(log.text):
        found.append(_death(log, match, "SIGSEGV", ip=match["ip"])._replace(fault=_fault(match)))
    for match in patterns.compile(_TRAP).finditer(log.text):
        found.append(_death(log, match, _TRAPS[match["trap"]], ip=match["ip"]))
    for match in patterns.compile(_UNHANDLED).finditer(log.text):
        found.append(_death(log, match, status.from_code(-int(match["plain"] or match["number"])).name))
    for match in patterns.compile(_ALIGNMENT).finditer(log.text):
        found.append(_Death("", match.start(), _signal("SIGBUS", log.place(match.start()))))
    return found


def _fault(match: Match) -> Fault:
    """The address, the registers, and the kind of access from the processor's error code (x86)."""
    error = digits.whole(match["error"], 16) or 0
    access: Access = "execute" if error & 16 else "write" if error & 2 else "read"
    printed = (("rip", digits.whole(match["ip"], 16)), ("rsp", digits.whole(match["sp"], 16)))
    registers = tuple((name, value) for name, value in printed if value is not None)
    return Fault("SIGSEGV", digits.whole(match["at"], 16), access, registers=registers)


def _death(log: Log, match: Match, signal: str, ip: str | None = None) -> _Death:
    frame = None
    if module := match["module"]:
        # Newer kernels give the offset in the file; older ones only where the mapping starts.
        offset = digits.whole(match["offset"], 16)
        at, base = digits.whole(ip, 16), digits.whole(match["base"], 16)
        if offset is None and at is not None and base is not None:
            offset = at - base
        frame = NativeFrame(module, None, offset)
    return _Death((match["comm"] or "").strip(), match.start(), _signal(signal, log.place(match.start())), frame)


def _kills(log: Log) -> list[_Death]:
    found = []
    for match in patterns.compile(_OOM_KILL).finditer(log.text):
        parts = [digits.scaled(match[part], 1024) for part in ("anon", "file", "shmem")]
        sizes = [size for size in parts if size is not None]
        rss = sum(sizes) if sizes else None
        found.append(_Death(match["comm"], match.start(), _signal("SIGKILL", log.place(match.start())), rss=rss))
    return found


def _audited(log: Log) -> list[_Death]:
    return [
        _Death(match["comm"], match.start(), status.from_code(-int(match["sig"]), place=log.place(match.start())))
        for match in patterns.compile(_AUDIT).finditer(log.text)
    ]


def _peak(deaths: list[_Death]) -> int | None:
    return max((death.rss for death in deaths if death.rss is not None), default=None)


def _signal(name: str, place: Place) -> ExitStatus:
    known = status.from_signal(name, place=place)
    return known if known is not None else ExitStatus(name=name, place=place)
