"""The same questions asked of a core: its notes say who died of what, pystack and gdb where."""

from __future__ import annotations

import os
import re
import time

from triage import status
from triage.crash import Access, Fault, Gap
from triage.stacks import mixed_stacks, obstacles
from triage.stacks.collected import Collected
from triage.stacks.collecting import STACK_SHARE, Target, Told, ask_gdb, collected, grounded, suspect_in
from triage.stacks.core_file import CoreFile, build_id_of, read_core
from triage.stacks.faults import Suspect, stack_used
from triage.stacks.libraries import libraries_at
from triage.stacks.memory_map import MemoryMap
from triage.stacks.mixed_stacks import Mixed
from triage.stacks.named_files import NamedFiles, opened
from triage.stacks.program_files import ProgramFiles, program_files

# Signals that a debugger leaves behind when it writes the core of a process that goes on living.
_NO_DEATH = {"SIGSTOP", "SIGTSTP", "SIGINT", "SIGCONT"}
_MEMORY_SIGNALS = {"SIGSEGV", "SIGBUS"}
_OF_PYTHON = re.compile(r"python(\d\.\d+)")
# Intel order: the first operand is written, save by instructions that only look.
_WRITES = re.compile(
    r"^(?:lock |rep\w* )?(?!cmp|test|v?u?comis|push|jmp|call|bt |fld|v?ptest)\w+ (?:\w+ PTR )?(?:\w\w:)?\["
)
_STRINGS = re.compile(r"\b(?:movs|cmps|lods|scas)[bwdq]?\b")


def collect_core(path: str, *, executable: str | None, budget: float, core: CoreFile | None) -> Collected:
    """The stacks and the fault in a core; see `from_core`."""
    until = time.monotonic() + budget
    core = core or read_core(path)
    map = core.map()
    wrong = _wrong(core, map, executable) if executable else None
    given = executable if not wrong else None
    files = NamedFiles(path, *((given,) if given else ()))
    found = core.executable()
    named = program_files(core, files)
    program = given or found
    real = os.path.realpath(given) if given else named.usable.get(found or "")
    died = _death(core)
    mapped = [region.path for region in core.files if region.path]
    with named.laid_out() as folder:
        mixed = _stacks(path, real, named, map, until, folder)
        suspect = _suspect(core, mixed, died)
        names = {core.pid: core.command.split()[0].rsplit("/", 1)[-1]} if core.pid and core.command else {}
        target = Target(
            _commands(path, real),
            map,
            names,
            None,
            program,
            is_core=True,
            closed=frozenset(mapped) - named.usable.keys(),
            known=named.loaded_as,
            root=folder,
        )
        crashed = died is not None or suspect.pc is not None
        told = Told(failure="names")
        if not named.is_crafted:
            told = ask_gdb(target, mixed, until, suspect, crashed=crashed)
        answer = collected(target, mixed, told, suspect, crashed=crashed)
    return answer._replace(
        fault=_fault(core, map, answer.fault, suspect, died) if crashed else None,
        missing=(
            *((wrong,) if wrong else ()),
            *obstacles.of_executable(
                program,
                is_there=real is not None,
                is_other=program in named.other,
                refused=None if given or not found else files.look(found).why,
            ),
            *(obstacles.of_stacks(mixed, told, "the core") if real or mixed.failure == "names" else ()),
            *obstacles.of_fault(told, crashed=crashed, what="faulting instruction", advice=""),
            *_of_libraries(named, program),
        ),
        python=answer.python or _python_version(mapped),
        exit=status.from_signal(died) if died else None,
        pid=core.pid,
        command=core.command_line(),
        executable=program,
        libraries=libraries_at(mapped, {name for name in mapped if files.look(name).why}),
        complete=not (core.is_cut_off or core.is_damaged),
    )


def _stacks(path: str, program: str | None, named: ProgramFiles, map: MemoryMap, until: float, folder: str) -> Mixed:
    """What pystack tells, which opens every library that a core names."""
    if named.is_crafted:
        return Mixed(failure="names", detail=obstacles.made_up())
    if program is None:
        return Mixed(failure="executable")
    if named.refused:
        return Mixed(failure="names", detail=obstacles.pystack_would_open(*named.refused[0]))
    seconds = (until - time.monotonic()) * STACK_SHARE
    return grounded(mixed_stacks.of_core(path, program, seconds, folder), map)


def _of_libraries(named: ProgramFiles, program: str | None) -> tuple[Gap, ...]:
    """What is wrong with the libraries; of the program itself it has been said."""
    absent, other = ([name for name in names if name != program] for names in (named.absent, named.other))
    refused = [(name, why) for name, why in named.refused if name != program]
    gone = [name for name in absent if name not in dict(refused)]
    return obstacles.of_libraries(gone, other, named.unproven, refused)


def _death(core: CoreFile) -> str | None:
    """The name of the signal that ended the process, or None when it was dumped alive."""
    name = status.signal_named_by_number(core.signal) if core.signal else None
    if name == "SIGTRAP":  # deadly as an instruction of the program, harmless as a debugger's
        return name if (core.signal_code or 0) > 0 else None
    return None if name in _NO_DEATH else name


def _suspect(core: CoreFile, mixed: Mixed, died: str | None) -> Suspect:
    """Who crashed: a thread in a signal handler, else the one that the kernel wrote first."""
    seen = suspect_in(mixed.threads)
    if seen.tid is not None or not core.threads:
        return seen
    # A fault has a positive code. A signal that was sent can be faulthandler's, which raised it again in its handler.
    was_sent = died in (*_MEMORY_SIGNALS, "SIGFPE", "SIGILL") and (core.signal_code or 0) <= 0
    return Suspect(core.threads[0], is_sure=True, is_bare=not was_sent)


def _commands(path: str, program: str | None) -> tuple[str, ...]:
    commands = (f"-file-exec-and-symbols {_quoted(program)}",) if program else ()
    return (*commands, f"-target-select core {os.path.abspath(path)}")  # the rest of the line is the name, as it is


def _quoted(path: str) -> str:
    whole = os.path.abspath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{whole}"'


def _wrong(core: CoreFile, map: MemoryMap, given: str) -> Gap | None:
    """Why the program that the person named cannot be the core's."""
    try:
        what = opened(os.path.realpath(given)).why
    except (OSError, ValueError):
        return obstacles.not_there(given)
    if what:
        return obstacles.not_a_file(given, what)
    return obstacles.not_the_one(given) if _is_other(core, map, given) else None


def _is_other(core: CoreFile, map: MemoryMap, program: str | None) -> bool:
    """Whether the program on this machine is another one than the core's."""
    found = core.executable()
    base = map.base(found) if found else None
    was = core.build_id(base) if base is not None else None
    now = build_id_of(program) if program else None
    return was is not None and now is not None and was != now


def _python_version(files: list[str]) -> str | None:
    found = (_OF_PYTHON.search(os.path.basename(path)) for path in files)
    return next((version[1] for version in found if version), None)


def _fault(core: CoreFile, map: MemoryMap, told: Fault | None, suspect: Suspect, died: str | None) -> Fault | None:
    """The fault with what the notes know of it; without gdb, what the notes know alone."""
    if told is None:
        if suspect.tid != next(iter(core.threads), None) or not suspect.is_bare:
            return Fault(died)  # the registers in the notes are those of the handler
        told = Fault(None, registers=core.registers)
        sp = next((value for name, value in core.registers if name in ("rsp", "sp")), None)
        stack = map.stack(sp) if sp is not None else None
        if stack and sp is not None:
            limit = None if stack[1] else stack[0].end - stack[0].start
            told = told._replace(stack_used_bytes=stack_used(stack[0].end - sp, limit), stack_limit_bytes=limit)
    told = told._replace(signal=told.signal or died, instruction=None if died == "SIGABRT" else told.instruction)
    if told.address is None and died in _MEMORY_SIGNALS and (core.signal_code or 0) > 0:
        # a pointer that no address space has comes as 0 and with the kernel's own code; 0 would be a lie
        address = None if core.signal_code == 0x80 else core.address
        told = told._replace(address=address, access=_access(told, address))
    return told


def _access(fault: Fault, address: int | None) -> Access | None:
    """Whether the instruction read or wrote: a core does not hold the processor's word for it."""
    pc = next((value for name, value in fault.registers if name in ("rip", "pc")), None)
    if address is not None and address == pc:
        return "execute"
    if fault.instruction is None or _STRINGS.search(fault.instruction) or "PTR" not in fault.instruction:
        return None
    return "write" if _WRITES.match(fault.instruction) else "read"
