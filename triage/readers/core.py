"""A core file -> Crash: its notes say which thread died of what, `stacks` says where."""

from __future__ import annotations

from triage.crash import Crash, Environment, Gap, Input, Place, Process
from triage.programs import program_of_libraries
from triage.readers.interface import Stream, Unreadable
from triage.readers.source import as_file
from triage.stacks import from_core
from triage.stacks.core_file import CoreFile, NotACore, read_core

_MIB = 1024 * 1024


class CoreReader:
    """Reads ELF cores. `path` is the file, if there is one, and `executable` the program that the person gave."""

    def __init__(self, path: str | None = None, executable: str | None = None) -> None:
        self._path = path
        self._executable = executable

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a core; `gaps` has what it does not hold, and what is missing here to read it."""
        with as_file(self._path, name, head, rest) as path:
            try:
                core = read_core(path)
            except NotACore as reason:
                raise Unreadable(
                    f"{name} cannot be read as a core ({reason}); give the console output of the same crash."
                ) from None
            return _crash(core, name, input_id, self._executable)


def _crash(core: CoreFile, name: str, input_id: int, executable: str | None) -> Crash:
    collected = from_core(core.path, executable, core=core)
    place = Place(input_id)
    process = Process(
        collected.pid,
        command=collected.command,
        exit=collected.exit._replace(place=place) if collected.exit else None,
        threads=tuple(thread._replace(place=place) for thread in collected.threads),
        fault=collected.fault,
    )
    is_complete = bool(core.files) and core.notes_whole
    names = [collected.executable or "", *(library.name for library in collected.libraries)]
    process = process._replace(program=program_of_libraries(names, process.threads, place, complete=is_complete))
    environment = Environment(
        os="linux",
        python=collected.python,
        libraries=collected.libraries,
        libraries_complete=is_complete,
        interpreter=collected.executable,
    )
    return Crash(
        inputs=(Input(input_id, "core", name, complete=collected.complete),),
        processes=(process,),
        environment=environment,
        gaps=(*_limits(core, name, died=collected.exit is not None), *collected.missing),
    )


def _limits(core: CoreFile, name: str, *, died: bool) -> tuple[Gap, ...]:
    """What the file itself does not hold."""
    found = []
    if core.is_cut_off:
        share = f"{_size(core.size)} of {_size(core.whole)}"
        detail = f"{name} is cut off: {share} are there; lift 'ulimit -c' or the disk's limit for a whole one"
        found.append(Gap("input", "cut-off", "raise-limit", name, detail))
    if core.is_damaged:
        detail = f"{name} is damaged: some of its headers point outside of it; copy it again if you can"
        found.append(Gap("input", "damaged", "copy-again", name, detail))
    if not core.threads:
        detail = f"{name} has no notes that can be read: which thread died of what is unknown"
        found.append(Gap("input", "damaged", None, name, detail))
    elif not died:
        detail = f"{name} names no deadly signal: it was taken from a process that was alive"
        found.append(Gap("input", "alive", None, name, detail))
    return tuple(found)


def _size(count: int) -> str:
    return f"{count / _MIB:,.0f} MiB" if count >= 10 * _MIB else f"{count / 1024:,.0f} KiB"
