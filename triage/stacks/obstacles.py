"""Why a process could not be looked into, and what the person can do about it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from triage.crash import Gap, Lacking

if TYPE_CHECKING:
    from triage.stacks.collecting import Told
    from triage.stacks.mixed_stacks import Mixed

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
_WITHOUT_RIGHT = "or call faulthandler.dump_traceback_later(60) in the script, which needs no such right"
_NO_RIGHT = ("operation not permitted", "permission denied")
_FEW_FILES = 32
_ABSENT = ("ModuleNotFoundError", "ImportError")


def of_process(pid: int, mixed: Mixed, told: Told, *, crashed: bool) -> tuple[Gap, ...]:
    """What could not be had from a living process, with what to do about it."""
    from triage.stacks.holding import state_of

    said = f"{mixed.detail} {told.failure or ''}".lower()
    if mixed.failure or told.failure:
        if any(words in said for words in _NO_RIGHT):
            return (refused(pid, crashed=crashed),)
        if state_of(pid) in (None, "Z", "X"):
            return (gone(pid),)
    return (*of_stacks(mixed, told, f"process {pid}"), *of_fault(told, crashed=crashed))


def of_stacks(mixed: Mixed, told: Told, where: str) -> tuple[Gap, ...]:
    """What pystack could not give; gdb has no Python frames, and gives native ones in its place if it can."""
    if mixed.failure is None:
        return ()
    what: Lacking = "Python stack" if told.threads else _STACKS
    if mixed.failure == "names":
        return (Gap(what, "not-permitted", "analyze-where-made", detail=mixed.detail),)
    if _are_few(mixed.detail):
        return (_too_few_files(what, "pystack"),)
    if mixed.failure in _ABSENT:
        return (no_pystack(what),)
    if mixed.failure == "timeout":
        detail = f"pystack took too long over {where}; try again when the machine is less busy"
        return (Gap(what, "timeout", "run-again", "pystack", detail),)
    if mixed.failure in ("crash", "start", "answer"):
        detail = f"pystack failed on {where} ({mixed.detail}); 'pip install --upgrade pystack' may help"
        return (Gap(what, "failed", "upgrade", "pystack", detail),)
    detail = f"pystack finds no Python that it knows in {where}; it reads CPython 2.7 and 3.6 or newer"
    return (Gap(what, "failed", None, "pystack", detail),)


def of_executable(found: str | None, *, is_there: bool, is_other: bool, refused: str | None = None) -> tuple[Gap, ...]:
    """What is wrong with the program that a core belongs to; `refused` is why it may not even be opened."""
    if found is None:
        detail = "the core does not tell which program made it; name it with --executable PATH"
        return (Gap("native stack", "not-told", "give-executable", detail=detail),)
    if refused:
        detail = f"{found}, which the core names, is {refused}; name the program with --executable PATH"
        return (Gap("native stack", "not-permitted", "give-executable", found, detail),)
    if is_other:
        detail = f"{found} is another build now than the one that made the core; give that one with --executable PATH"
        return (Gap("native stack", "another-build", "give-executable", found, detail),)
    if not is_there:
        detail = f"{found}, which made the core, is not on this machine; copy it here and give --executable"
        return (Gap("native stack", "not-here", "give-executable", found, detail),)
    return ()


def not_there(given: str) -> Gap:
    """No file has the name that the person gave for the program."""
    detail = f"--executable {given}: there is no such file, and it was not used"
    return Gap("program", "not-here", "give-executable", given, detail)


def not_a_file(given: str, what: str) -> Gap:
    """The person named something that is no program."""
    detail = f"--executable {given}: this is {what} and no program, and it was not used"
    return Gap("program", "ignored", "give-executable", given, detail)


def not_the_one(given: str) -> Gap:
    """The person named a program that the core is not of."""
    detail = f"--executable {given}: this is not the program that made the core (its build id differs); it was not used"
    return Gap("program", "another-build", "give-executable", given, detail)


def of_libraries(
    absent: Sequence[str],
    other: Sequence[str],
    unproven: Sequence[str] = (),
    refused: Sequence[tuple[str, str]] = (),
) -> tuple[Gap, ...]:
    """Which files of a core are not those of this machine, may be others, or were not opened and why."""
    said = []
    if absent:
        detail = f"frames in {_some(absent)}: not on this machine; analyze the core where it was made"
        said.append(Gap("frames", "not-here", "analyze-where-made", _some(absent), detail))
    if other:
        detail = f"frames in {_some(other)} may be wrong or lack names: another build is installed now"
        said.append(Gap("frames", "another-build", "analyze-where-made", _some(other), detail))
    if unproven:
        detail = f"names of frames in {_some(unproven)} may be wrong: the core does not hold which build was loaded"
        said.append(Gap("frames", "not-told", None, _some(unproven), detail))
    if refused:
        (path, why), *more = refused
        others = f", and {len(more)} more like it" if more else ""
        detail = f"frames in {path}: it is {why}{others}, and no such file is opened because a core names it"
        said.append(Gap("frames", "not-permitted", None, path, detail))
    return tuple(said)


def pystack_would_open(path: str, why: str) -> str:
    """pystack opens every library that a core names, so one of them keeps it away from all."""
    if why.startswith("on a network mount"):
        return f"the core names {path}, which is {why}; give --executable PATH of the program there to have it read"
    return f"the core names {path}, which is {why}, and pystack would open it; analyze the core where it was made"


def made_up() -> str:
    """The core was written by hand, and what a debugger would open for it cannot be foretold."""
    return "the core names files as no system does, so neither pystack nor gdb is given it; make a new core"


def _some(paths: Sequence[str]) -> str:
    names = [os.path.basename(path) for path in paths]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def of_fault(
    told: Told, *, crashed: bool, what: Lacking = "fault", advice: str = "; a newer gdb may help"
) -> tuple[Gap, ...]:
    """What gdb could not give."""
    if told.failure == "names":
        return ()  # said of the stacks already
    if told.failure == "absent":
        return (no_gdb(what),)
    if told.failure == "timeout":
        detail = "gdb took too long; try again when the machine is less busy"
        return (Gap(what, "timeout", "run-again", "gdb", detail),)
    if told.failure and _are_few(told.failure):
        return (_too_few_files(what, "gdb"),)
    if told.failure:
        return (Gap(what, "failed", "upgrade", "gdb", f"gdb failed ({told.failure.rstrip('.')}){advice}"),)
    if crashed and told.found is None:
        return (Gap(what, "no-handler", None, "gdb", "no thread stands in the handler of a fatal signal"),)
    return ()


def _are_few(reason: str) -> bool:
    """Whether a program could not start, or ended, because it may not open the few files that it needs."""
    if "too many open files" in reason.lower():
        return True
    if reason != "ended":
        return False
    try:
        import resource
    except ImportError:  # another system, with a core of Linux
        return False
    return 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _FEW_FILES


def _too_few_files(what: Lacking, program: str) -> Gap:
    detail = f"{program} could not open its files, too many are open already; raise the limit with 'ulimit -n 1024'"
    return Gap(what, "open-files", "raise-limit", program, detail)


def no_gdb(what: Lacking) -> Gap:
    """gdb is not installed."""
    manager = next((command for program, command in _MANAGERS if shutil.which(program)), None)
    pip = "'pip install crash-triage[gdb]'"
    how = f"'{manager} gdb' or {pip}" if manager else pip
    return Gap(what, "not-installed", "install", "gdb", f"gdb is not installed; install it with {how}")


def no_pystack(what: Lacking) -> Gap:
    """pystack is not installed, which happens where it has no wheel."""
    detail = "pystack is not installed; install it with 'pip install pystack'"
    return Gap(what, "not-installed", "install", "pystack", detail)


def not_linux() -> Gap:
    """Another system: neither pystack nor our use of gdb works there."""
    name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
    reports = (
        "; its own crash report, if it wrote one, is in ~/Library/Logs/DiagnosticReports" if name == "macOS" else ""
    )
    detail = f"it can be taken from a live process on Linux only, and this is {name}{reports}"
    return Gap("native stack", "wrong-system", None, name, detail)


def gone(pid: int) -> Gap:
    """The process ended before it could be looked at."""
    detail = f"process {pid} had ended before its stack could be taken; run it again"
    return Gap("native stack", "gone", "run-again", str(pid), detail)


def refused(pid: int, *, crashed: bool) -> Gap:
    """The kernel does not let us trace the process; the reason is looked for, so that the advice fits.

    A crash has its Python stack from faulthandler all the same; a hang has none at all.
    """
    what: Lacking = "native stack" if crashed else _STACKS
    more = "" if crashed else f"; {_WITHOUT_RIGHT}"
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
    """Whether we run in a container, as far as that shows."""
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
