"""The directory in which the hook leaves its files: one note and one fault dump for each Python process."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")
_NAMED = {"TRIAGE_DIR", "TRIAGE_HOLDER", "TRIAGE_TF_LOG", "TRIAGE_DEADLINE"}
_LONGEST_DUMP = 4 * 1024 * 1024
_PREFIX = "triage-run-"


class Note(NamedTuple):
    """What the hook wrote about a process: its interpreter, and the level that TensorFlow's log was set to.

    `log_level_set_by` is script or environment. `forked_with` names what was already running when it was forked.
    `hooked` means that the hook could write at all, `has_file` that faulthandler has our file for its dump.
    """

    python: str | None = None
    forked_with: str | None = None
    log_level: str | None = None
    log_level_set_by: str | None = None
    hooked: bool = False
    has_file: bool = True


class Seen(NamedTuple):
    """The Python processes of a run: all in which the hook ran, those whose faulthandler has written its dump (in
    that order), and those whose script armed faulthandler itself and keeps the dump."""

    hooked: frozenset[int] = frozenset()
    dumped: tuple[int, ...] = ()
    own: frozenset[int] = frozenset()


# What makes PyTorch, NCCL and JAX say more: the C++ stack below an exception, warnings of the libraries beneath, what a
# collective waits for, and every frame of a traceback.
_OTHER_LOGS = {
    "TORCH_SHOW_CPP_STACKTRACES": "1",
    "TORCH_CPP_LOG_LEVEL": "INFO",
    "NCCL_DEBUG": "INFO",
    "JAX_TRACEBACK_FILTERING": "off",
}


class FaultDirectory:
    """A private directory for one run; `path` is None where none could be made, and then nothing is caught."""

    def __init__(self) -> None:
        self.path = _make()

    def environment(self, *, hold: bool, framework_log: bool) -> dict[str, str]:
        """The environment that makes the child's Pythons load the hook; without a directory it is our own."""
        if self.path is None:
            return dict(os.environ)
        # We may run below another triage; this run's hook is the only one.
        environment = without_hook(dict(os.environ))
        others = environment.get("PYTHONPATH")
        # An empty entry in it means the working directory, and must stay.
        environment["PYTHONPATH"] = f"{HOOK}{os.pathsep}{others}" if others else HOOK
        environment["TRIAGE_DIR"] = self.path
        if hold:
            environment["TRIAGE_HOLDER"] = str(os.getpid())
        if framework_log:
            environment["TRIAGE_TF_LOG"] = "1"
            environment["TF_CPP_MIN_LOG_LEVEL"] = "0"
            # What the person has set for the others stays: they hide nothing that a script could not show.
            environment = _OTHER_LOGS | environment
        return environment

    def look(self) -> Seen:
        """Which processes there are, and which of them have crashed."""
        hooked, keep = set(), set()
        dumped: list[tuple[int, int]] = []
        if self.path is None:
            return Seen()
        # A script may have emptied /dev/shm; then there is nothing to see, and that is all.
        with suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                kind, _, pid = entry.name.partition(".")
                if kind == "note":
                    hooked.add(int(pid))
                elif kind == "own":
                    keep.add(int(pid))
                elif kind == "fault" and entry.stat().st_size:
                    # Of two within one tick of the clock the younger comes first: a parent dies with its worker.
                    dumped.append((entry.stat().st_mtime_ns, -int(pid)))
        return Seen(frozenset(hooked), tuple(-pid for _, pid in sorted(dumped)), frozenset(keep))

    def dump(self, pid: int) -> bytes:
        """What faulthandler wrote about a process."""
        return self._content(f"fault.{pid}")

    def stacks(self, pid: int) -> bytes:
        """What faulthandler's watchdog wrote about a process that was still running at the timeout (Windows)."""
        return self._content(f"hang.{pid}")

    def has_finished(self, pid: int) -> bool | None:
        """Whether the Python of a process came to its own end (Windows); None where no hook ran in it."""
        if self.path is None or not os.path.exists(f"{self.path}/note.{pid}"):
            return None
        return os.path.exists(f"{self.path}/done.{pid}")

    def note(self, pid: int) -> Note:
        """What the hook wrote about a process."""
        found = Note()
        for line in self._content(f"note.{pid}").decode("utf-8", "replace").splitlines():
            word, _, rest = line.partition(" ")
            if word == "python":
                found = found._replace(python=rest or None, hooked=True)
            elif line == "no fault file":
                found = found._replace(has_file=False)
            elif word == "forked":
                found = found._replace(forked_with=rest)
            elif line.startswith("log level "):
                # The value is the script's and may be anything, even empty.
                level, _, set_by = line.removeprefix("log level ").rpartition(" ")
                found = found._replace(log_level=level, log_level_set_by=set_by)
        return found

    def is_open_in(self, pid: int) -> bool:
        """Whether this number is the process that holds the fault file, and not another one of the same number.

        A process in a namespace of its own has a number there that is somebody else's here.
        """
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            return False
        return any(_target(f"/proc/{pid}/fd/{number}") == f"{self.path}/fault.{pid}" for number in numbers)

    def forget(self, pid: int) -> None:
        """Remove the files of a process that ended well: there may be thousands of short-lived workers."""
        for kind in ("fault", "note", "own"):
            with suppress(OSError):
                os.unlink(f"{self.path}/{kind}.{pid}")

    def remove(self) -> None:
        """Remove everything."""
        if self.path is not None:
            _empty_and_remove(self.path)

    def remove_those_of_the_dead(self) -> None:
        """Remove the directories of this user's earlier runs whose triage was killed."""
        if self.path is None:
            return
        parent = os.path.dirname(self.path)
        with suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                # Where containers share the parent directory, a process number is only valid within its own container.
                pid, _, rest = entry.name.removeprefix(_PREFIX).partition("-")
                if not entry.name.startswith(_PREFIX) or not pid.isdigit() or not rest.startswith(_namespace()):
                    continue
                owner = entry.stat(follow_symlinks=False).st_uid
                # Windows has no user ids, but there the parent directory is the user's own.
                ours = owner == os.getuid() if hasattr(os, "getuid") else True
                if entry.is_dir(follow_symlinks=False) and ours and _is_dead(int(pid)):
                    _empty_and_remove(entry.path)

    def _content(self, name: str) -> bytes:
        try:
            with open(f"{self.path}/{name}", "rb") as file:
                return file.read(_LONGEST_DUMP)
        except OSError:
            return b""


def without_hook(environment: dict[str, str]) -> dict[str, str]:
    """An environment for programs that we start for ourselves, in which the hook does not run."""
    clean = {name: value for name, value in environment.items() if name not in _NAMED}
    entries = clean.get("PYTHONPATH", "").split(os.pathsep)
    if HOOK in entries:
        others = [entry for entry in entries if entry != HOOK]
        del clean["PYTHONPATH"]
        if others:
            clean["PYTHONPATH"] = os.pathsep.join(others)
    return clean


def is_ours(file: str) -> bool:
    """Whether a source file is the hook."""
    return os.path.dirname(file) == HOOK


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _make() -> str | None:
    """A private directory; its name can't be guessed, and one that exists already is refused."""
    name = f"{_PREFIX}{os.getpid()}-{_namespace()}{os.urandom(6).hex()}"
    for parent in _parents():
        path = os.path.join(parent, name)
        with suppress(OSError):
            os.mkdir(path, 0o700)
            if _takes_files(path):
                return path
    return None


def _parents() -> tuple[str, ...]:
    if os.name == "nt":
        import tempfile

        return (tempfile.gettempdir(),)
    # Memory is faster than a disk and seldom full.
    return ("/dev/shm", os.environ.get("TMPDIR") or "/tmp")  # noqa: S108


def _takes_files(path: str) -> bool:
    """Whether a file can be written in the new directory; a full disk lets us make one that is then of no use."""
    try:
        file = os.open(f"{path}/try", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, b"\n")
        finally:
            os.close(file)
        os.unlink(f"{path}/try")
    except OSError:
        _empty_and_remove(path)
        return False
    return True


def _empty_and_remove(path: str) -> None:
    with suppress(OSError):
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)


def _namespace() -> str:
    """The namespace in which our process number is valid, as part of a name; empty where there are none."""
    target = _target("/proc/self/ns/pid") or ""
    number = "".join(character for character in target if character.isdigit())
    return f"{number}-" if number else ""


def _is_dead(pid: int) -> bool:
    if os.name == "nt":  # where signal 0 is Ctrl-C
        import psutil

        return not psutil.pid_exists(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
