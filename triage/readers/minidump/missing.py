"""What a dump does not tell, in sentences that say which kind of dump would."""

from __future__ import annotations

from collections.abc import Sequence

from triage.crash import NativeFrame, Process
from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile
from triage.readers.minidump.module_list import Module, python_of
from triage.readers.minidump.streams import System
from triage.readers.minidump.walk import Threads

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
) -> tuple[str, ...]:
    """One sentence for each thing that is not there, what is broken first."""
    return (
        *_broken(dump, name, lost_bytes),
        *_end(dump, name, died=died, by_request=by_request),
        *_stacks(dump, process, died=died, modules=modules, system=system, walked=walked),
        *notes[:_MOST_BROKEN],
        *_lists(dump, system),
    )


def _broken(dump: DumpFile, name: str, lost_bytes: int) -> list[str]:
    said = []
    if lost_bytes:
        size = f"{lost_bytes / 1024:,.0f} KiB" if lost_bytes < 10 << 20 else f"{lost_bytes >> 20:,} MiB"
        said.append(f"{name} is cut off: {size} of the memory that it lists are not there; copy it again if you can")
    if dump.notes:
        shown = "; ".join(dump.notes[:_MOST_BROKEN])
        more = f" (and {len(dump.notes) - _MOST_BROKEN} more)" if len(dump.notes) > _MOST_BROKEN else ""
        said.append(f"{name} is damaged: {shown}{more}")
    return said


def _end(dump: DumpFile, name: str, *, died: bool, by_request: bool) -> list[str]:
    if died:
        return []
    if by_request:
        return [f"exit status: {name} was asked for by the program itself, which went on; it is not of a crash"]
    if parts.EXCEPTION in dump.streams or parts.EXCEPTION in dump.broken:
        return [f"exit status: the exception in {name} can't be read"]
    return [
        f"exit status: {name} holds no exception, so it is not of a crash: it was taken by hand, or because the "
        "program hung"
    ]


def _stacks(
    dump: DumpFile, process: Process, *, died: bool, modules: Sequence[Module], system: System, walked: Threads
) -> list[str]:
    said = []
    frames = process.threads[0].native_stack if process.threads else ()
    if died and not frames:
        said.append("native stack: the dump has no registers of the thread that crashed")
    elif died and (walked.wanted or len(frames) == 1):
        said.append(f"native stack: {_how_far(frames)}; {_more_frames(system, walked.wanted)}")
    if died and frames and process.faulting_module is None:
        said.append("faulting module: the frames that are known lie in the system's own libraries, or in no module")
    if python_of(modules) and not any(thread.python_stack for thread in process.threads):
        said.append(_no_python(dump, system, walked.no_python))
    return said


def _how_far(frames: Sequence[NativeFrame]) -> str:
    return "only its innermost frame is known" if len(frames) == 1 else f"only its inner {len(frames)} frames are known"


def _more_frames(system: System, wanted: str | None) -> str:
    if system.os not in ("windows", None):
        return "a core would hold them all"
    return f"give the folder of {wanted or 'the DLLs'} with --pe-dir DIR, or {_FULL}"


def _no_python(dump: DumpFile, system: System, reason: str | None) -> str:
    if reason:
        return reason
    if system.os not in ("windows", None):
        return "Python stack: a core would hold it"
    how = "it could not be read from this dump" if dump.has_full_memory else f"{_FULL} would hold it"
    return f"Python stack: {how}"


def _lists(dump: DumpFile, system: System) -> list[str]:
    said = []
    if parts.MODULES not in dump.streams:
        said.append("loaded libraries: the dump has no list of modules")
    if parts.UNLOADED not in dump.streams and system.os == "windows":
        said.append("unloaded libraries: a dump with MiniDumpWithUnloadedModules would list them")
    return said
