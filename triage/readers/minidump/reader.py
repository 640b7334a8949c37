"""A minidump -> Crash: who died of what, where, among which libraries, and what the dump cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from triage.crash import (
    Crash,
    Dump,
    Environment,
    ExitStatus,
    Fault,
    Input,
    Library,
    Memory,
    NativeFrame,
    Place,
    Process,
    Resources,
    RuntimeMessage,
)
from triage.readers.interface import Stream, Unreadable
from triage.readers.minidump import death, module_list
from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile, NotAMinidump
from triage.readers.minidump.memory import DumpMemory, MemoryRegions
from triage.readers.minidump.module_list import Module
from triage.readers.minidump.pe_files import ImageFinder
from triage.readers.minidump.shortcomings import contradictions_in, missing_in
from triage.readers.minidump.stored_frames import stored
from triage.readers.minidump.streams import (
    ExceptionRecord,
    LinuxFacts,
    MemoryFigures,
    ProcessTimes,
    Registers,
    System,
    ThreadRecord,
    assertion_of,
    comments_of,
    exception_of,
    figures_of,
    handles_of,
    linux_facts,
    modules_of,
    system_of,
    threads_of,
    times_of,
    unloaded_of,
)
from triage.readers.minidump.walk import PROCESSORS, Threads, faulting_module
from triage.readers.source import as_file

_COMMIT_LIMIT = "commit limit (RAM and page file)"
_Frames = tuple[NativeFrame, ...]


class DumpFacts(NamedTuple):
    """What the streams say, before it is put into the words of a crash."""

    system: System
    times: ProcessTimes
    figures: MemoryFigures
    linux: LinuxFacts
    modules: tuple[Module, ...]
    unloaded: tuple[Module, ...]
    threads: tuple[ThreadRecord, ...]
    exception: ExceptionRecord | None
    # the program asked for the dump itself and lived on
    by_request: bool

    @property
    def crashed(self) -> ThreadRecord | None:
        """The thread that the exception names."""
        blamed = self.exception.thread_id if self.exception else None
        return next((thread for thread in self.threads if thread.id == blamed), None)

    @property
    def registers(self) -> Registers | None:
        """Those of the exception: the handler that writes a dump has moved on from where its thread crashed."""
        if self.exception is not None and self.exception.registers is not None:
            return self.exception.registers
        return self.crashed.registers if self.crashed else None

    @property
    def may_have_python(self) -> bool:
        """Whether this can be a Python whose frames can be read out of a dump."""
        return (self.system.os, self.system.architecture) == ("windows", "x64")


class MinidumpReader:
    """Reads minidumps of Windows, and those that Breakpad and Crashpad write elsewhere.

    `path` is a file that holds the bytes already; `pe_directories` have the program's own files, as the person says.
    """

    def __init__(self, path: str | None = None, pe_directories: Sequence[str] = ()) -> None:
        self._path = path
        self._pe_directories = tuple(pe_directories)

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a dump; what it does not hold, and which kind of dump would, is said in `gaps`."""
        with as_file(self._path, name, head, rest) as path:
            try:
                with DumpFile(path) as dump:
                    frames = stored(Path(self._path)) if self._path else {}
                    return _crash(dump, name, input_id, self._pe_directories, frames)
            except NotAMinidump as reason:
                raise Unreadable(
                    f"{name} cannot be read as a minidump ({reason}); copy it again, or give the console output of "
                    "the same crash."
                ) from None


def _crash(
    dump: DumpFile, name: str, input_id: int, pe_directories: Sequence[str], frames: Mapping[int, _Frames]
) -> Crash:
    memory = DumpMemory(dump)
    with ImageFinder(memory, pe_directories) as images:
        return _crash_with(dump, memory, images, name, input_id, frames)


def _crash_with(
    dump: DumpFile,
    memory: DumpMemory,
    images: ImageFinder,
    name: str,
    input_id: int,
    frames: Mapping[int, _Frames],
) -> Crash:
    facts = _facts(dump)
    place = Place(input_id)
    walked = Threads(facts.modules, memory, images, has_python=facts.may_have_python, stored=frames)
    blamed = facts.exception.thread_id if facts.exception and not facts.by_request else None
    threads = walked.crashed_first(facts.threads, blamed, facts.registers, place)
    died, fault = _death(dump, facts, memory, images)
    process = Process(
        facts.times.pid if facts.times.pid is not None else facts.linux.pid,
        command=facts.linux.command or (facts.modules[0].file if facts.modules else None),
        exit=died._replace(place=place) if died else None,
        threads=threads,
        fault=fault,
        faulting_module=faulting_module(threads[0].native_stack) if died and threads else None,
        dump=_dump(dump, facts),
    )
    message = assertion_of(dump)
    return Crash(
        processes=(process,),
        messages=(RuntimeMessage("assertion", message, place),) if message else (),
        memory=_memory(facts),
        resources=Resources(threads=facts.linux.threads or len(facts.threads) or None),
        environment=_environment(dump, facts),
        gaps=missing_in(
            dump,
            name,
            died=died is not None,
            by_request=facts.by_request,
            lost_bytes=memory.missing,
            process=process,
            modules=facts.modules,
            system=facts.system,
            walked=walked,
            notes=images.notes,
        ),
        # Last, when everything has been read that may turn out to be broken.
        inputs=(Input(input_id, "minidump", name, complete=not dump.broken and not memory.missing),),
    )


def _death(
    dump: DumpFile, facts: DumpFacts, memory: DumpMemory, images: ImageFinder
) -> tuple[ExitStatus | None, Fault | None]:
    """How the process ended and what the processor could not do; nothing where the process was alive."""
    exception = facts.exception
    if exception is None or facts.by_request:
        return None, None
    died = death.status_of(exception, facts.system)
    used = None
    if facts.system.os == "windows":
        used = death.stack_use(exception, facts.crashed, facts.registers, memory)
    fault = death.fault_of(exception, facts.registers, facts.system, died, MemoryRegions(dump), memory, used)
    missing = death.missing_import(exception, facts.modules, memory, images)
    return died, death.with_missing_library(fault, missing)


def _dump(dump: DumpFile, facts: DumpFacts) -> Dump:
    return Dump(
        taken=dump.taken or None,
        started=facts.times.started,
        user_seconds=facts.times.user_seconds,
        kernel_seconds=facts.times.kernel_seconds,
        full_memory=dump.has_full_memory,
        contradictions=contradictions_in(facts.system, facts.modules, facts.unloaded, facts.threads, facts.exception),
        unloaded=tuple(Library(module.file, module.version) for module in facts.unloaded),
        handles=handles_of(dump),
        comments=comments_of(dump),
    )


def _facts(dump: DumpFile) -> DumpFacts:
    system = system_of(dump)
    processor = PROCESSORS.get(system.architecture or "")
    read_context = processor.registers_in if processor else None
    exception = exception_of(dump, read_context)
    return DumpFacts(
        system,
        times_of(dump),
        figures_of(dump),
        linux_facts(dump),
        modules_of(dump),
        unloaded_of(dump),
        threads_of(dump, read_context),
        exception,
        exception is not None and death.asked_for(exception, system),
    )


def _memory(facts: DumpFacts) -> Memory:
    figures = facts.figures
    return Memory(
        peak_bytes=figures.peak or facts.linux.peak,
        limit_bytes=figures.commit_limit,
        limit_source=_COMMIT_LIMIT if figures.commit_limit else None,
        machine_bytes=figures.physical,
        machine_free_bytes=figures.available,
    )


def _environment(dump: DumpFile, facts: DumpFacts) -> Environment:
    system = facts.system
    whole = bool(facts.modules) and parts.MODULES not in dump.broken and all(module.name for module in facts.modules)
    build = facts.times.build if system.os == "windows" else facts.linux.distribution
    return Environment(
        os="linux" if system.os == "android" else system.os,
        os_version=f"{system.version} ({build})" if system.version and build else system.version or build,
        python=module_list.python_of(facts.modules),
        cpu_flags=facts.linux.cpu_flags,
        libraries=module_list.libraries_of(facts.modules),
        libraries_complete=whole,
        loaded_twice=module_list.loaded_twice(facts.modules),
        interpreter=module_list.interpreter_of(facts.modules),
        architecture=system.architecture,
        cpu=facts.linux.cpu or system.cpu,
    )
