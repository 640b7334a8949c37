"""What could not be found out about a process or a core: the gaps, worded for a person, with what to do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from triage.crash import Gap, Lacking
from triage.stacks.debuggers import GdbAnswer
from triage.stacks.pystack import PystackAnswer
from triage.stacks.untrusted_paths import Refusal, RefusedFile

_SYS_PTRACE = 1 << 19
_MANAGERS = (
    ("apt-get", "apt install"),
    ("dnf", "dnf install"),
    ("apk", "apk add"),
    ("pacman", "pacman -S"),
    ("zypper", "zypper install"),
    ("conda", "conda install -c conda-forge"),
)
_STACKS: Lacking = "native stack and Python stack"
_NEEDS_NO_RIGHT = "or call faulthandler.dump_traceback_later(60) in the script, which needs no such right"


def of_process(
    pid: int, by_pystack: PystackAnswer, by_gdb: GdbAnswer, *, crashed: bool, has_ended: bool
) -> tuple[Gap, ...]:
    """What a live process did not show."""
    if "not-permitted" in (by_pystack.failure, by_gdb.failure):
        return (not_permitted(pid, crashed=crashed),)
    if has_ended and (by_pystack.failure or by_gdb.failure):
        return (gone(pid),)
    return (*of_stacks(by_pystack, by_gdb, f"process {pid}"), *of_fault(by_gdb, crashed=crashed))


def of_stacks(by_pystack: PystackAnswer, by_gdb: GdbAnswer, where: str) -> tuple[Gap, ...]:
    """The stacks that pystack could not give; gdb has no Python frames, and gives the native ones if it can."""
    what: Lacking = "Python stack" if by_gdb.threads else _STACKS
    match by_pystack.failure:
        case None | "no-executable":  # without the program, that is the gap
            return ()
        case "crafted-core":
            detail = "the core names files as no system does, so neither pystack nor gdb is given it; make a new core"
            return (Gap(what, "not-permitted", "analyze-where-made", detail=detail),)
        case "refused-file":
            detail = _pystack_would_open(by_pystack.refused) if by_pystack.refused else ""
            return (Gap(what, "not-permitted", "analyze-where-made", detail=detail),)
        case "open-files":
            return (_too_few_files(what, "pystack"),)
        case "not-installed":
            return (_no_pystack(what),)
        case "timeout":
            detail = f"pystack took too long over {where}; try again when the machine is less busy"
            return (Gap(what, "timeout", "run-again", "pystack", detail),)
        case "broken" | "not-permitted":
            detail = f"pystack failed on {where} ({by_pystack.detail}); 'pip install --upgrade pystack' may help"
            return (Gap(what, "failed", "upgrade", "pystack", detail),)
        case "no-python":
            detail = f"pystack finds no Python that it knows in {where}; it reads CPython 2.7 and 3.6 or newer"
            return (Gap(what, "failed", None, "pystack", detail),)


def of_executable(
    found: str | None, *, is_there: bool, is_other: bool, refusal: Refusal | None = None
) -> tuple[Gap, ...]:
    """What is wrong with the program that a core is from; `refusal` is why it may not even be opened."""
    if found is None:
        detail = "the core does not say which program made it; name it with --executable PATH"
        return (Gap("native stack", "not-told", "give-executable", detail=detail),)
    if refusal:
        detail = f"{found}, which the core names, is {_described(refusal)}; name the program with --executable PATH"
        return (Gap("native stack", "not-permitted", "give-executable", found, detail),)
    if is_other:
        detail = f"{found} is another build now than the one that made the core; give that one with --executable PATH"
        return (Gap("native stack", "another-build", "give-executable", found, detail),)
    if not is_there:
        detail = f"{found}, which made the core, is not on this machine; copy it here and give --executable"
        return (Gap("native stack", "not-here", "give-executable", found, detail),)
    return ()


def no_such_program(given: str) -> Gap:
    """There is no file at the path that the person gave for the program."""
    detail = f"--executable {given}: there is no such file, and it was not used"
    return Gap("program", "not-here", "give-executable", given, detail)


def not_a_program(given: str, refusal: Refusal) -> Gap:
    """The person named something that is not a program."""
    detail = f"--executable {given}: this is {_described(refusal)} and no program, and it was not used"
    return Gap("program", "ignored", "give-executable", given, detail)


def another_program(given: str) -> Gap:
    """The person named a program that did not make the core."""
    detail = f"--executable {given}: this is not the program that made the core (its build id differs); it was not used"
    return Gap("program", "another-build", "give-executable", given, detail)


def of_libraries(
    absent: Sequence[str],
    other: Sequence[str],
    unproven: Sequence[str] = (),
    refused: Sequence[RefusedFile] = (),
) -> tuple[Gap, ...]:
    """Files of a core that are not here, are other builds, may be other builds, or were not opened."""
    found = []
    if absent:
        detail = f"frames in {_some(absent)}: not on this machine; analyze the core where it was made"
        found.append(Gap("frames", "not-here", "analyze-where-made", _some(absent), detail))
    if other:
        detail = f"frames in {_some(other)} may be wrong or lack names: another build is installed now"
        found.append(Gap("frames", "another-build", "analyze-where-made", _some(other), detail))
    if unproven:
        detail = f"names of frames in {_some(unproven)} may be wrong: the core does not hold which build was loaded"
        found.append(Gap("frames", "not-told", None, _some(unproven), detail))
    if refused:
        first, *more = refused
        others = f", and {len(more)} more like it" if more else ""
        described = f"it is {_described(first.refusal)}{others}"
        detail = f"frames in {first.path}: {described}, and no such file is opened because a core names it"
        found.append(Gap("frames", "not-permitted", None, first.path, detail))
    return tuple(found)


def _pystack_would_open(file: RefusedFile) -> str:
    """pystack opens every library that a core names, so a single one rules it out."""
    names = f"the core names {file.path}, which is {_described(file.refusal)}"
    if file.refusal.hazard == "network-mount":
        return f"{names}; give --executable PATH of the program there to have it read"
    return f"{names}, and pystack would open it; analyze the core where it was made"


def _described(refusal: Refusal) -> str:
    """What a path that is not opened is, to come after "it is"."""
    match refusal.hazard:
        case "pipe" | "device" | "socket" | "directory":
            return f"a {refusal.hazard}"
        case "not-a-file":
            return "no file"
        case "link-loop":
            return "a link to itself"
        case "place":
            return f"below {refusal.where}"
        case "automounter":
            return "below an automounter"
        case "kernel-file":
            return f"a file of the kernel ({refusal.where})"
        case "network-mount":
            return f"on a network mount ({refusal.where})"
        case "crafted-name":
            return "no name that a system writes"


def _some(paths: Sequence[str]) -> str:
    names = [os.path.basename(path) for path in paths]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def of_fault(
    by_gdb: GdbAnswer, *, crashed: bool, what: Lacking = "fault", advice: str = "; a newer gdb may help"
) -> tuple[Gap, ...]:
    """What gdb could not give."""
    match by_gdb.failure:
        case "crafted-core":  # the gap of the stacks says so
            return ()
        case "not-installed":
            return (_no_gdb(what),)
        case "timeout":
            detail = "gdb took too long; try again when the machine is less busy"
            return (Gap(what, "timeout", "run-again", "gdb", detail),)
        case "open-files":
            return (_too_few_files(what, "gdb"),)
        case "ended" | "error" | "not-permitted":
            return (Gap(what, "failed", "upgrade", "gdb", f"gdb failed ({by_gdb.detail.rstrip('.')}){advice}"),)
        case None:
            if crashed and by_gdb.found is None:
                return (Gap(what, "no-handler", None, "gdb", "no thread is in the handler of a fatal signal"),)
            return ()


def _too_few_files(what: Lacking, program: str) -> Gap:
    detail = f"{program} could not open its files, too many are open already; raise the limit with 'ulimit -n 1024'"
    return Gap(what, "open-files", "raise-limit", program, detail)


def _no_gdb(what: Lacking) -> Gap:
    """gdb is not installed."""
    manager = next((command for program, command in _MANAGERS if shutil.which(program)), None)
    pip = "'pip install crash-triage[gdb]'"
    how = f"'{manager} gdb' or {pip}" if manager else pip
    return Gap(what, "not-installed", "install", "gdb", f"gdb is not installed; install it with {how}")


def _no_pystack(what: Lacking) -> Gap:
    """pystack is not installed, for example where it has no wheel."""
    detail = "pystack is not installed; install it with 'pip install pystack'"
    return Gap(what, "not-installed", "install", "pystack", detail)


def not_linux() -> Gap:
    """Another system, on which neither pystack nor our use of gdb works."""
    name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
    reports = (
        "; its own crash report, if it wrote one, is in ~/Library/Logs/DiagnosticReports" if name == "macOS" else ""
    )
    detail = f"it can be taken from a live process on Linux only, and this is {name}{reports}"
    return Gap("native stack", "wrong-system", None, name, detail)


def gone(pid: int) -> Gap:
    """The process ended before its stack could be taken."""
    detail = f"process {pid} had ended before its stack could be taken; run it again"
    return Gap("native stack", "gone", "run-again", str(pid), detail)


def not_permitted(pid: int, *, crashed: bool) -> Gap:
    """The kernel does not let us trace the process; we find out why, so that the advice fits.

    A crash still has its Python stack from faulthandler; a hang has none at all.
    """
    what: Lacking = "native stack" if crashed else _STACKS
    more = "" if crashed else f"; {_NEEDS_NO_RIGHT}"
    detail = f"the kernel does not let triage look into process {pid} ({_why_refused(pid)}{more}"
    return Gap(what, "not-permitted", "allow-tracing", str(pid), detail)


def _why_refused(pid: int) -> str:
    tracer = _status(pid, "TracerPid")
    if tracer not in (None, "0"):
        return f"process {tracer} is tracing it already); end that debugger or strace and run it again"
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return "it has ended); run it again"
    if os.geteuid() not in (0, owner):
        return "it belongs to another user); run triage as that user"
    scope = _read("/proc/sys/kernel/yama/ptrace_scope")
    if scope == "3":
        return "kernel.yama.ptrace_scope is 3, which only a reboot lowers); analyze a core of it instead"
    may = _may_trace()
    if in_container() and not may:
        return "this container lacks the right to trace); start it with 'docker run --cap-add=SYS_PTRACE'"
    if scope in ("1", "2") and not may:
        return (
            f"kernel.yama.ptrace_scope is {scope}); allow it with 'sudo sysctl kernel.yama.ptrace_scope=0', or run "
            "triage as root"
        )
    if _status("self", "Seccomp") == "2":
        return "a seccomp filter is set); start the container with 'docker run --security-opt seccomp=unconfined'"
    return "it is protected); run triage as root"


def in_container() -> bool:
    """Whether we run in a container, as far as we can see."""
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv") or "container" in os.environ:
        return True
    groups = _read("/proc/1/cgroup") or ""
    return any(word in groups for word in ("docker", "kubepods", "containerd", "libpod", "lxc"))


def _may_trace() -> bool:
    rights = _status("self", "CapEff")
    return bool(rights and int(rights, 16) & _SYS_PTRACE)


def _status(pid: int | str, field: str) -> str | None:
    for line in (_read(f"/proc/{pid}/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    return None


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536).strip()
    except OSError:
        return None
