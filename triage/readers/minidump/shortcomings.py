"""What a dump lacks and which kind of dump would hold it, and what in it does not fit together.

Contradictions are told and not smoothed over: they may be of the dump, or of the crash itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from triage.crash import Gap, NativeFrame, Process, Remedy, base_name
from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile
from triage.readers.minidump.module_list import Module, ModuleMap, look_alike, python_of
from triage.readers.minidump.streams import ExceptionRecord, Registers, System, ThreadRecord
from triage.readers.minidump.walk import Threads

# A breakpoint is one byte long, and some systems tell the address behind it.
_BREAKPOINTS = {0x80000003, 0x4000001F}
_MOST_OF_A_KIND = 3
_MOST_BROKEN = 3
_FULL = "a dump with full memory (procdump -ma, or MiniDumpWithFullMemory)"


def missing_in(
    dump: DumpFile,
    name: str,
    *,
    died: bool,
    by_request: bool,
    lost_bytes: int,
    process: Process,
    modules: Sequence[Module],
    system: System,
    walked: Threads,
    notes: Sequence[str],
) -> tuple[Gap, ...]:
    """One gap for each thing that is not there, what is broken first."""
    return (
        *_broken(dump, name, lost_bytes),
        *_end(dump, name, died=died, by_request=by_request),
        *_stacks(dump, process, died=died, modules=modules, system=system, walked=walked),
        *(Gap("frames", "not-read", "give-pe-dir", detail=note) for note in notes[:_MOST_BROKEN]),
        *_lists(dump, system),
    )


def _broken(dump: DumpFile, name: str, lost_bytes: int) -> list[Gap]:
    said = []
    if lost_bytes:
        size = f"{lost_bytes / 1024:,.0f} KiB" if lost_bytes < 10 << 20 else f"{lost_bytes >> 20:,} MiB"
        detail = f"{name} is cut off: {size} of the memory that it lists are not there; copy it again if you can"
        said.append(Gap("input", "cut-off", "copy-again", name, detail))
    if dump.notes:
        shown = "; ".join(dump.notes[:_MOST_BROKEN])
        more = f" (and {len(dump.notes) - _MOST_BROKEN} more)" if len(dump.notes) > _MOST_BROKEN else ""
        said.append(Gap("input", "damaged", "copy-again", name, f"{name} is damaged: {shown}{more}"))
    return said


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


def _stacks(
    dump: DumpFile, process: Process, *, died: bool, modules: Sequence[Module], system: System, walked: Threads
) -> list[Gap]:
    said = []
    frames = process.threads[0].native_stack if process.threads else ()
    if died and not frames:
        said.append(Gap("native stack", "not-held", detail="the dump has no registers of the thread that crashed"))
    elif died and (walked.wanted or len(frames) == 1):
        detail = f"{_how_far(frames)}; {_more_frames(system, walked.wanted)}"
        remedy: Remedy = "give-pe-dir" if _is_windows(system) else "make-a-core"
        said.append(Gap("native stack", "not-held", remedy, walked.wanted or "", detail))
    if died and frames and process.faulting_module is None:
        detail = "the frames that are known lie in the system's own libraries, or in no module"
        said.append(Gap("faulting module", "not-told", detail=detail))
    if python_of(modules) and not any(thread.python_stack for thread in process.threads):
        said.append(_no_python(dump, system, walked.no_python))
    return said


def _how_far(frames: Sequence[NativeFrame]) -> str:
    return "only its innermost frame is known" if len(frames) == 1 else f"only its inner {len(frames)} frames are known"


def _is_windows(system: System) -> bool:
    """Whether it is a dump of Windows, which it is where nothing else is told."""
    return system.os in ("windows", None)


def _more_frames(system: System, wanted: str | None) -> str:
    if not _is_windows(system):
        return "a core would hold them all"
    return f"give the folder of {wanted or 'the DLLs'} with --pe-dir DIR, or {_FULL}"


def _no_python(dump: DumpFile, system: System, reason: str | None) -> Gap:
    if not _is_windows(system):
        return Gap("Python stack", "not-held", "make-a-core", detail=reason or "a core would hold it")
    if dump.has_full_memory:
        return Gap("Python stack", "not-read", detail=reason or "it could not be read from this dump")
    return Gap("Python stack", "not-held", "full-dump", detail=reason or f"{_FULL} would hold it")


def _lists(dump: DumpFile, system: System) -> list[Gap]:
    said = []
    if parts.MODULES not in dump.streams:
        said.append(Gap("loaded libraries", "not-held", detail="the dump has no list of modules"))
    if parts.UNLOADED not in dump.streams and system.os == "windows":
        detail = "a dump with MiniDumpWithUnloadedModules would list them"
        said.append(Gap("unloaded libraries", "not-held", "full-dump", detail=detail))
    return said


def contradictions_in(
    system: System,
    modules: Sequence[Module],
    unloaded: Sequence[Module],
    threads: Sequence[ThreadRecord],
    exception: ExceptionRecord | None,
) -> tuple[str, ...]:
    """One sentence for each thing that does not fit."""
    by_address = ModuleMap(modules)
    said = _of_modules(modules)
    if system.architecture == "x64" and any(module.file.lower() == "wow64cpu.dll" for module in modules):
        said.append("a 64-bit tool dumped this 32-bit program: registers and stacks are those of Windows' own layer")
    if exception is None:
        return tuple(said)
    thread = next((one for one in threads if one.id == exception.thread_id), None)
    registers = exception.registers or (thread.registers if thread else None)
    if threads and thread is None:
        said.append(f"the thread that crashed ({exception.thread_id}) is not in the list of threads")
    if exception.registers is None:
        said.append("the exception has no registers of its own; those of its thread may be from later")
    elif thread is not None and thread.registers is not None:
        said += _of_two_contexts(exception.registers, thread.registers, by_address)
    if system.os == "windows" and registers is not None:
        said += _of_addresses(system, exception, registers)
    where = registers.pc if registers is not None else exception.address
    if modules and by_address.at(where) is None:
        gone = next((module.file for module in unloaded if module.holds(where)), None)
        had = f", and {gone} had been there before it was unloaded" if gone else ""
        said.append(f"the crash was at 0x{where:x}, which is in no module{had}")
    return tuple(said)


def _of_modules(modules: Sequence[Module]) -> list[str]:
    said = []
    ordered = sorted(modules, key=lambda module: module.base)
    for one, two in pairwise(ordered):
        if two.base < one.base + one.size:
            said.append(f"{one.file} and {two.file} claim the same addresses (0x{two.base:x})")
            break
    for module in modules:
        if (known := look_alike(module.name)) and len(said) <= _MOST_OF_A_KIND:
            said.append(f"a module is called {module.file}, which looks like {known} and is not it ({module.name})")
    return said


def _of_two_contexts(own: Registers, later: Registers, by_address: ModuleMap) -> list[str]:
    """A handler in the process writes the dump later: its thread has moved on, and the exception's registers count."""
    if own.pc == later.pc:
        return []
    where = by_address.at(later.pc)
    place = base_name(where.name) if where else f"0x{later.pc:x}"
    return [f"the crashed thread stood in {place} when the dump was written; the exception tells where it crashed"]


def _of_addresses(system: System, exception: ExceptionRecord, registers: Registers) -> list[str]:
    said = []
    address = exception.address
    if system.architecture == "x86":
        if any(value >> 32 == 0xFFFFFFFF for value in (address, *exception.parameters)):
            said.append("addresses of this 32-bit program were stored with 64 bits; the upper half was dropped")
        address &= 0xFFFFFFFF
    slack = 1 if exception.code in _BREAKPOINTS else 0
    if not 0 <= abs(registers.pc - address) <= slack:
        said.append(f"the exception names the address 0x{address:x}, its registers stand at 0x{registers.pc:x}")
    return said
