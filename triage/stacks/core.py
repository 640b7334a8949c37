"""The stacks and the fault in a core: its notes say which thread died of what, pystack and gdb where."""

from __future__ import annotations

import os
import re
import time

from triage import status
from triage.crash import Access, Fault, Gap
from triage.stacks import Collected, gaps, pystack
from triage.stacks.core_file import CoreFile, read_core
from triage.stacks.core_modules import CoreModules, modules_of
from triage.stacks.debuggers import GdbAnswer, Target, ask_gdb, grounded, merged, pystack_seconds, suspect_in
from triage.stacks.elf import build_id_of
from triage.stacks.gdb_fault import Suspect, stack_used
from triage.stacks.libraries import libraries_at
from triage.stacks.memory_map import MemoryMap
from triage.stacks.pystack import PystackAnswer
from triage.stacks.untrusted_paths import UntrustedPaths, opened

# Signals in the core that a debugger writes of a process that lives on.
_NO_DEATH = {"SIGSTOP", "SIGTSTP", "SIGINT", "SIGCONT"}
_MEMORY_SIGNALS = {"SIGSEGV", "SIGBUS"}
_PYTHON = re.compile(r"python(\d\.\d+)")
# Intel order: the first operand is written, except by instructions that only read.
_WRITES = re.compile(
    r"^(?:lock |rep\w* )?(?!cmp|test|v?u?comis|push|jmp|call|bt |fld|v?ptest)\w+ (?:\w+ PTR )?(?:\w\w:)?\["
)
_STRINGS = re.compile(r"\b(?:movs|cmps|lods|scas)[bwdq]?\b")


def collect_core(path: str, *, executable: str | None, budget: float, core: CoreFile | None) -> Collected:
    """The stacks and the fault in a core; see `from_core`."""
    until = time.monotonic() + budget
    core = core or read_core(path)
    map = core.map()
    wrong = _wrong_program(core, map, executable) if executable else None
    given = executable if not wrong else None
    files = UntrustedPaths(path, *((given,) if given else ()))
    found = core.executable()
    modules = modules_of(core, files)
    program = given or found
    real = os.path.realpath(given) if given else modules.usable.get(found or "")
    died = _death(core)
    mapped = [region.path for region in core.files if region.path]
    with modules.folder() as folder:
        by_pystack = _by_pystack(path, real, modules, map, until, folder)
        suspect = _suspect(core, by_pystack, died)
        crashed = died is not None or suspect.pc is not None
        target = Target(
            _commands(path, real),
            map,
            _thread_names(core),
            None,
            program,
            is_core=True,
            closed=frozenset(mapped) - modules.usable.keys(),
            known=modules.loaded_as,
            root=folder,
        )
        by_gdb = GdbAnswer(failure="crafted-core")
        if not modules.is_crafted:
            by_gdb = ask_gdb(target, by_pystack, until, suspect, crashed=crashed)
        answer = merged(target, by_pystack, by_gdb, suspect, crashed=crashed)
    return answer._replace(
        fault=_fault(core, map, answer.fault, suspect, died) if crashed else None,
        missing=(
            *((wrong,) if wrong else ()),
            *gaps.of_executable(
                program,
                is_there=real is not None,
                is_other=program in modules.other,
                refusal=None if given or not found else files.look(found).refusal,
            ),
            *gaps.of_stacks(by_pystack, by_gdb, "the core"),
            *gaps.of_fault(by_gdb, crashed=crashed, what="faulting instruction", advice=""),
            *_of_libraries(modules, program),
        ),
        python=answer.python or _python_version(mapped),
        exit=status.from_signal(died) if died else None,
        pid=core.pid,
        command=core.command_line(),
        executable=program,
        libraries=libraries_at(mapped, {name for name in mapped if files.look(name).refusal}),
        complete=not (core.is_cut_off or core.is_damaged),
    )


def _by_pystack(
    path: str, program: str | None, modules: CoreModules, map: MemoryMap, until: float, folder: str
) -> PystackAnswer:
    """pystack's answer, unless it would open a file that must not be opened: it opens all that the core names."""
    if modules.is_crafted:
        return PystackAnswer(failure="crafted-core")
    if program is None:
        return PystackAnswer(failure="no-executable")
    if modules.refused:
        return PystackAnswer(failure="refused-file", refused=modules.refused[0])
    return grounded(pystack.of_core(path, program, pystack_seconds(until), folder), map)


def _thread_names(core: CoreFile) -> dict[int, str]:
    """The name of the main thread: it is that of the program."""
    return {core.pid: core.command.split()[0].rsplit("/", 1)[-1]} if core.pid and core.command else {}


def _of_libraries(modules: CoreModules, program: str | None) -> tuple[Gap, ...]:
    """What is wrong with the libraries; the program itself has a gap of its own."""
    absent, other = ([name for name in names if name != program] for names in (modules.absent, modules.other))
    refused = [file for file in modules.refused if file.path != program]
    gone = [name for name in absent if name not in dict(refused)]
    return gaps.of_libraries(gone, other, modules.unproven, refused)


def _death(core: CoreFile) -> str | None:
    """The name of the signal that ended the process, or None if it was dumped alive."""
    name = status.signal_named_by_number(core.signal) if core.signal else None
    if name == "SIGTRAP":  # fatal from an instruction of the program, harmless from a debugger
        return name if (core.signal_code or 0) > 0 else None
    return None if name in _NO_DEATH else name


def _suspect(core: CoreFile, by_pystack: PystackAnswer, died: str | None) -> Suspect:
    """The thread that crashed: the one in a signal handler, else the one that the kernel wrote first."""
    seen = suspect_in(by_pystack.threads)
    if seen.tid is not None or not core.threads:
        return seen
    # A fault has a positive code. A signal that was sent may come from faulthandler, which raises it again.
    was_sent = died in (*_MEMORY_SIGNALS, "SIGFPE", "SIGILL") and (core.signal_code or 0) <= 0
    return Suspect(core.threads[0], is_sure=True, is_bare=not was_sent)


def _commands(path: str, program: str | None) -> tuple[str, ...]:
    commands = (f"-file-exec-and-symbols {_quoted(program)}",) if program else ()
    return (*commands, f"-target-select core {os.path.abspath(path)}")  # the rest of the line is the path, unquoted


def _quoted(path: str) -> str:
    whole = os.path.abspath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{whole}"'


def _wrong_program(core: CoreFile, map: MemoryMap, given: str) -> Gap | None:
    """Why the program that the person gave cannot be that of the core."""
    try:
        refusal = opened(os.path.realpath(given)).refusal
    except (OSError, ValueError):
        return gaps.no_such_program(given)
    if refusal:
        return gaps.not_a_program(given, refusal)
    return gaps.another_program(given) if _is_other(core, map, given) else None


def _is_other(core: CoreFile, map: MemoryMap, program: str) -> bool:
    """Whether a program on this machine is another build than that of the core."""
    found = core.executable()
    base = map.base(found) if found else None
    was = core.build_id(base) if base is not None else None
    now = build_id_of(program)
    return was is not None and now is not None and was != now


def _python_version(files: list[str]) -> str | None:
    found = (_PYTHON.search(os.path.basename(path)) for path in files)
    return next((version[1] for version in found if version), None)


def _fault(core: CoreFile, map: MemoryMap, found: Fault | None, suspect: Suspect, died: str | None) -> Fault | None:
    """gdb's fault completed from the notes; without gdb, what the notes alone have."""
    if found is None:
        if suspect.tid != next(iter(core.threads), None) or not suspect.is_bare:
            return Fault(died)  # the registers in the notes are those of the handler
        found = Fault(None, registers=core.registers)
        sp = next((value for name, value in core.registers if name in ("rsp", "sp")), None)
        stack = map.stack(sp) if sp is not None else None
        if stack and sp is not None:
            limit = None if stack[1] else stack[0].end - stack[0].start
            found = found._replace(stack_used_bytes=stack_used(stack[0].end - sp, limit), stack_limit_bytes=limit)
    found = found._replace(signal=found.signal or died, instruction=None if died == "SIGABRT" else found.instruction)
    if found.address is None and died in _MEMORY_SIGNALS and (core.signal_code or 0) > 0:
        # for a non-canonical address the kernel reports 0, with a code of its own; the address is really unknown
        address = None if core.signal_code == 0x80 else core.address
        found = found._replace(address=address, access=_access(found, address))
    return found


def _access(fault: Fault, address: int | None) -> Access | None:
    """Whether the instruction read or wrote, from its text: a core does not hold the processor's error code."""
    pc = next((value for name, value in fault.registers if name in ("rip", "pc")), None)
    if address is not None and address == pc:
        return "execute"
    if fault.instruction is None or _STRINGS.search(fault.instruction) or "PTR" not in fault.instruction:
        return None
    return "write" if _WRITES.match(fault.instruction) else "read"
