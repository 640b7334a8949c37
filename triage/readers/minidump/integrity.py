"""What a dump lacks and which kind of dump would hold it, what in it is broken, and what contradicts itself.

Contradictions are reported and not smoothed over: they may come from the dump, or from the crash itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from triage.crash import Gap, NativeFrame, Process, Remedy, base_name
from triage.readers.minidump import file as parts
from triage.readers.minidump.cpython import LAYOUTS, PythonStack
from triage.readers.minidump.file import DumpFile
from triage.readers.minidump.streams import (
    DumpFacts,
    ExceptionRecord,
    Module,
    ModuleMap,
    Registers,
    System,
)
from triage.readers.minidump.walk import Threads

# A breakpoint is one byte long, and some systems report the address after it.
_BREAKPOINTS = {0x80000003, 0x4000001F}
# Names that programs trust; a file that only looks like one of them may have been put there.
_WELL_KNOWN = (
    "ntdll.dll",
    "kernel32.dll",
    "kernelbase.dll",
    "user32.dll",
    "advapi32.dll",
    "ws2_32.dll",
    "ucrtbase.dll",
    "msvcrt.dll",
    "vcruntime140.dll",
    "msvcp140.dll",
    "nvcuda.dll",
)
_LOOKS_LIKE = str.maketrans({"1": "l", "i": "l", "0": "o", "5": "s", "|": "l"})
_MOST_OF_A_KIND = 3
_MOST_BROKEN = 3
_FULL = "a dump with full memory (procdump -ma, or MiniDumpWithFullMemory)"


def missing_in(
    dump: DumpFile,
    facts: DumpFacts,
    process: Process,
    walked: Threads,
    *,
    name: str,
    has_python: bool,
    lost_bytes: int,
    notes: Sequence[str],
) -> tuple[Gap, ...]:
    """One gap for each thing that is not there; what is broken comes first."""
    return (
        *_broken(dump, name, lost_bytes),
        *_end(dump, name, died=process.exit is not None, by_request=facts.by_request),
        *_stacks(dump, process, facts.system, walked, has_python=has_python),
        *(Gap("frames", "not-read", "give-pe-dir", detail=note) for note in notes[:_MOST_BROKEN]),
        *_lists(dump, facts.system),
    )


def _broken(dump: DumpFile, name: str, lost_bytes: int) -> list[Gap]:
    found = []
    if lost_bytes:
        size = f"{lost_bytes / 1024:,.0f} KiB" if lost_bytes < 10 << 20 else f"{lost_bytes >> 20:,} MiB"
        detail = f"{name} is cut off: {size} of the memory that it lists are not there; copy it again if you can"
        found.append(Gap("input", "cut-off", "copy-again", name, detail))
    if dump.notes:
        shown = "; ".join(dump.notes[:_MOST_BROKEN])
        more = f" (and {len(dump.notes) - _MOST_BROKEN} more)" if len(dump.notes) > _MOST_BROKEN else ""
        found.append(Gap("input", "damaged", "copy-again", name, f"{name} is damaged: {shown}{more}"))
    return found


def _end(dump: DumpFile, name: str, *, died: bool, by_request: bool) -> list[Gap]:
    if died:
        return []
    if by_request:
        detail = f"{name} was asked for by the program itself, which went on; it is not of a crash"
        return [Gap("exit status", "alive", None, name, detail)]
    if parts.EXCEPTION in dump.streams or parts.EXCEPTION in dump.broken:
        return [Gap("exit status", "damaged", None, name, f"the exception in {name} can't be read")]
    detail = f"{name} holds no exception, so it is not of a crash: it was taken by hand, or because the program hung"
    return [Gap("exit status", "alive", None, name, detail)]


def _stacks(dump: DumpFile, process: Process, system: System, walked: Threads, *, has_python: bool) -> list[Gap]:
    found = []
    died = process.exit is not None
    frames = process.threads[0].native_stack if process.threads else ()
    if died and not frames:
        found.append(Gap("native stack", "not-held", detail="the dump has no registers of the thread that crashed"))
    elif died and (walked.wanted or len(frames) == 1):
        detail = f"{_how_far(frames)}; {_more_frames(system, walked.wanted)}"
        remedy: Remedy = "give-pe-dir" if _is_windows(system) else "make-a-core"
        found.append(Gap("native stack", "not-held", remedy, walked.wanted or "", detail))
    if died and frames and process.faulting_module is None:
        detail = "the frames that are known lie in the system's own libraries, or in no module"
        found.append(Gap("faulting module", "not-told", detail=detail))
    if has_python and not any(thread.python_stack for thread in process.threads):
        found.append(_no_python(dump, system, walked.crashed_python))
    return found


def _how_far(frames: Sequence[NativeFrame]) -> str:
    return "only its innermost frame is known" if len(frames) == 1 else f"only its inner {len(frames)} frames are known"


def _is_windows(system: System) -> bool:
    """Whether it is a dump from Windows, as it is where the system is not stored."""
    return system.os in ("windows", None)


def _more_frames(system: System, wanted: str | None) -> str:
    if not _is_windows(system):
        return "a core would hold them all"
    return f"give the folder of {wanted or 'the DLLs'} with --pe-dir DIR, or {_FULL}"


def _no_python(dump: DumpFile, system: System, stack: PythonStack) -> Gap:
    reason = why_no_frames(stack) if stack.reason else None
    if not _is_windows(system):
        return Gap("Python stack", "not-held", "make-a-core", detail=reason or "a core would hold it")
    if dump.has_full_memory:
        return Gap("Python stack", "not-read", detail=reason or "it could not be read from this dump")
    return Gap("Python stack", "not-held", "full-dump", detail=reason or f"{_FULL} would hold it")


def why_no_frames(stack: PythonStack) -> str:
    """Why a thread has no Python frames, and what would show them."""
    match stack.reason:
        case "no-python":
            return "no Python DLL is loaded in this process"
        case "unknown-version":
            version = ".".join(map(str, stack.unknown_version or ()))
            known = ", ".join(f"{major}.{minor}" for major, minor in LAYOUTS)
            return f"those of Python {version} cannot be read, only {known}"
        case "runtime-not-held":
            return f"this dump does not hold them; {_FULL} holds them"
        case "memory-not-held":
            return f"this dump does not hold the interpreter's memory; {_FULL} holds them"
        case "thread-without-python":
            return "the thread that crashed was not running Python"
        case "no-function":
            return "the thread that crashed was in no Python function"
        case None:
            return ""


def _lists(dump: DumpFile, system: System) -> list[Gap]:
    found = []
    if parts.MODULES not in dump.streams:
        found.append(Gap("loaded libraries", "not-held", detail="the dump has no list of modules"))
    if parts.UNLOADED not in dump.streams and system.os == "windows":
        detail = "a dump with MiniDumpWithUnloadedModules would list them"
        found.append(Gap("unloaded libraries", "not-held", "full-dump", detail=detail))
    return found


def contradictions_in(facts: DumpFacts) -> tuple[str, ...]:
    """One sentence for each thing in a dump that contradicts another."""
    system, modules, exception = facts.system, facts.modules, facts.exception
    by_address = ModuleMap(modules)
    found = _of_modules(modules)
    if system.architecture == "x64" and any(module.file.lower() == "wow64cpu.dll" for module in modules):
        found.append("a 64-bit tool dumped this 32-bit program: registers and stacks are those of Windows' own layer")
    if exception is None:
        return tuple(found)
    thread, registers = facts.crashed, facts.registers
    if facts.threads and thread is None:
        found.append(f"the thread that crashed ({exception.thread_id}) is not in the list of threads")
    if exception.registers is None:
        found.append("the exception has no registers of its own; those of its thread may be from later")
    elif thread is not None and thread.registers is not None:
        found += _of_two_contexts(exception.registers, thread.registers, by_address)
    if system.os == "windows" and registers is not None:
        found += _of_addresses(system, exception, registers)
    where = registers.pc if registers is not None else exception.address
    if modules and by_address.at(where) is None:
        gone = next((module.file for module in facts.unloaded if module.holds(where)), None)
        had = f", and {gone} had been there before it was unloaded" if gone else ""
        found.append(f"the crash was at 0x{where:x}, which is in no module{had}")
    return tuple(found)


def _of_modules(modules: Sequence[Module]) -> list[str]:
    found = []
    ordered = sorted(modules, key=lambda module: module.base)
    for one, two in pairwise(ordered):
        if two.base < one.base + one.size:
            found.append(f"{one.file} and {two.file} claim the same addresses (0x{two.base:x})")
            break
    for module in modules:
        if (known := _look_alike(module.name)) and len(found) <= _MOST_OF_A_KIND:
            found.append(f"a module is called {module.file}, which looks like {known} and is not it ({module.name})")
    return found


def _of_two_contexts(own: Registers, later: Registers, by_address: ModuleMap) -> list[str]:
    """A handler in the process writes the dump later, when its thread has moved on: the exception's registers count."""
    if own.pc == later.pc:
        return []
    where = by_address.at(later.pc)
    place = base_name(where.name) if where else f"0x{later.pc:x}"
    return [f"the crashed thread stood in {place} when the dump was written; the exception tells where it crashed"]


def _of_addresses(system: System, exception: ExceptionRecord, registers: Registers) -> list[str]:
    found = []
    address = exception.address
    if system.architecture == "x86":
        if any(value >> 32 == 0xFFFFFFFF for value in (address, *exception.parameters)):
            found.append("addresses of this 32-bit program were stored with 64 bits; the upper half was dropped")
        address &= 0xFFFFFFFF
    slack = 1 if exception.code in _BREAKPOINTS else 0
    if not 0 <= abs(registers.pc - address) <= slack:
        found.append(f"the exception names the address 0x{address:x}, its registers stand at 0x{registers.pc:x}")
    return found


def _look_alike(name: str) -> str | None:
    """The well-known library whose name this one imitates, if any."""
    lower = base_name(name).lower()
    if lower in _WELL_KNOWN:
        return None
    shape = lower.translate(_LOOKS_LIKE)
    return next((known for known in _WELL_KNOWN if known.translate(_LOOKS_LIKE) == shape), None)
