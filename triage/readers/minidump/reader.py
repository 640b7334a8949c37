"""A minidump -> Crash: which thread died of what, where, with which libraries, and what the dump does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from triage import digits
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
from triage.programs import program_of_libraries
from triage.readers.interface import Stream, Unreadable
from triage.readers.minidump import file as parts
from triage.readers.minidump.exception import (
    fault_of,
    missing_import,
    stack_use,
    status_of,
    was_requested,
    with_missing_library,
)
from triage.readers.minidump.file import DumpFile, NotAMinidump
from triage.readers.minidump.integrity import contradictions_in, missing_in
from triage.readers.minidump.memory import DumpMemory, MemoryRegions
from triage.readers.minidump.pe import ImageFinder
from triage.readers.minidump.stored_frames import stored
from triage.readers.minidump.streams import (
    DumpFacts,
    Module,
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
from triage.stacks.libraries import libraries_with, loaded_twice

_COMMIT_LIMIT = "commit limit (RAM and page file)"
_PYTHON = re.compile(r"(?i)^(?:lib)?python(\d)\.?(\d+)(?:[td]|_d)?(?:\.dll|\.so)")
_INTERPRETER = re.compile(r"(?i)^(?:vrt)?python(?:w|[\d.]+)?(?:_d)?(?:\.exe)?$")
_CUDNN = re.compile(r"(?i)^cudnn64_(\d+)\.dll$")
# NVIDIA numbers the files of CUDA like those of a driver, with the release of CUDA at the end: 6.14.11.11020 is 11.2.
_OF_DRIVER = re.compile(r"^6\.14\.11\.(\d{4,5})$")
_Frames = tuple[NativeFrame, ...]


class MinidumpReader:
    """Reads minidumps of Windows, and those that Breakpad and Crashpad write elsewhere.

    `path` is the file, if there is one; `pe_directories` have the program's own files, as the person says.
    """

    def __init__(self, path: str | None = None, pe_directories: Sequence[str] = ()) -> None:
        self._path = path
        self._pe_directories = tuple(pe_directories)

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a dump; `gaps` has what it does not hold, and which kind of dump would."""
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
    environment = _environment(dump, facts)
    names = [module.name for module in facts.modules]
    program = program_of_libraries(names, threads, place, complete=environment.libraries_complete)
    process = process._replace(program=program)
    message = assertion_of(dump)
    return Crash(
        processes=(process,),
        messages=(RuntimeMessage("assertion", message, place),) if message else (),
        memory=_memory(facts),
        resources=Resources(threads=facts.linux.threads or len(facts.threads) or None),
        environment=environment,
        gaps=missing_in(
            dump,
            facts,
            process,
            walked,
            name=name,
            has_python=environment.python is not None,
            lost_bytes=memory.missing,
            notes=images.notes,
        ),
        # Last, when everything that may turn out to be broken has been read.
        inputs=(Input(input_id, "minidump", name, complete=not dump.broken and not memory.missing),),
    )


def _death(
    dump: DumpFile, facts: DumpFacts, memory: DumpMemory, images: ImageFinder
) -> tuple[ExitStatus | None, Fault | None]:
    """How the process ended and what the processor could not do; nothing if the process was alive."""
    exception = facts.exception
    if exception is None or facts.by_request:
        return None, None
    died = status_of(exception, facts.system)
    used = None
    if facts.system.os == "windows":
        used = stack_use(exception, facts.crashed, facts.registers, memory)
    fault = fault_of(exception, facts.registers, facts.system, died, MemoryRegions(dump), memory, used)
    missing = missing_import(exception, facts.modules, memory, images)
    return died, with_missing_library(fault, missing)


def _dump(dump: DumpFile, facts: DumpFacts) -> Dump:
    return Dump(
        taken=dump.taken or None,
        started=facts.times.started,
        user_seconds=facts.times.user_seconds,
        kernel_seconds=facts.times.kernel_seconds,
        full_memory=dump.has_full_memory,
        contradictions=contradictions_in(facts),
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
        exception is not None and was_requested(exception, system),
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
        python=_python_of(facts.modules),
        cpu_flags=facts.linux.cpu_flags,
        libraries=_libraries_of(facts.modules),
        libraries_complete=whole,
        loaded_twice=loaded_twice(module.name for module in facts.modules),
        interpreter=_interpreter_of(facts.modules),
        architecture=system.architecture,
        cpu=facts.linux.cpu or system.cpu,
    )


def _libraries_of(modules: Iterable[Module]) -> tuple[Library, ...]:
    """The libraries among the modules; those that signatures look for most come first."""
    return libraries_with((module.name, _version(module)) for module in modules)


def _python_of(modules: Iterable[Module]) -> str | None:
    """The version of Python, from the interpreter's DLL."""
    for module in modules:
        if match := _PYTHON.match(module.file):
            fields = (module.version or "").split(".")
            release = digits.whole(fields[2]) if len(fields) == 4 and fields[:2] == [match[1], match[2]] else None
            if release is not None:
                # The build of Python puts the release into the third field: 3.11.9 is 3.11.9150.
                return f"{match[1]}.{match[2]}.{release // 1000}"
            return f"{match[1]}.{match[2]}" if match[2] else None
    return None


def _interpreter_of(modules: Iterable[Module]) -> str | None:
    """The path of the program, if it is a Python."""
    program = next(iter(modules), None)
    return program.name if program is not None and _INTERPRETER.match(program.file) else None


def _version(module: Module) -> str | None:
    if module.version is None:
        return None
    if match := _OF_DRIVER.match(module.version):
        number = int(match[1])
        # The version of cuDNN itself is nowhere then.
        return None if module.file.lower().startswith("cudnn") else f"{number // 1000}.{number % 1000 // 10}"
    cudnn = _CUDNN.match(module.file)
    if cudnn and module.version.split(".")[0] != cudnn[1]:
        return None
    return module.version
