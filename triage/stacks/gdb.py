"""gdb over its machine interface: a session in which time is bounded, and native stacks where pystack has none."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

from triage import digits
from triage.stacks.elf import names_in, write_stub
from triage.stacks.memory_map import MemoryMap
from triage.stacks.native_stack import RawFrame, RawThread

GdbFailure = Literal[
    "not-installed",
    "not-permitted",
    "open-files",
    "timeout",
    "ended",
    "error",
    # it was not asked: the core was made by hand
    "crafted-core",
]
SIGNAL_FRAME = "<signal handler called>"
# No symbols are read unless asked for, no scripts run, nothing is downloaded, and debug files are left alone: this way
# a TensorFlow process takes 0.2 s instead of 30 s.
_SETTINGS = (
    "auto-solib-add off",
    "debuginfod enabled off",
    "auto-load off",
    "debug-file-directory /nonexistent",
    "confirm off",
    "pagination off",
    "width 0",
    "print elements 64",
    "print frame-arguments none",
    "disassembly-flavor intel",
    "backtrace past-main off",
    "startup-with-shell off",
    "history save off",
)
# pygdbmi waits this long for more output after every answer. With its default of 0.2 s a session takes seconds; with 0
# every read takes its whole timeout.
_LULL = 0.002
_MEMORY_LIMIT = 4 << 30
_NOT_PERMITTED = ("operation not permitted", "permission denied")
_OPEN_FILES = "too many open files"
_FEW_FILES = 32
# gdb reads all symbols of a library; from this size on that takes longer than a person waits.
_HUGE = 40 << 20
# gdb has its own dialect of patterns; a dot matches any character in all dialects.
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
_MOST_FRAMES = 240
_MOST_THREADS = 200
_WALKS = 40
_PLAIN = re.compile(r"^[A-Za-z0-9_.$@]+$")
_NUMBER = re.compile(r"(?:LWP|process|Thread) (\d+)\b")


class GdbFailed(Exception):
    """gdb reported an error, did not answer, or ended; the text is what it said."""

    def __init__(self, kind: GdbFailure, text: str = "", *, is_final: bool = False) -> None:
        super().__init__(text)
        self.kind = kind
        # no other question will be answered
        self.is_final = is_final

    @classmethod
    def from_text(cls, text: str) -> GdbFailed:
        """An error that gdb reported."""
        if _OPEN_FILES in text.lower():
            return cls("open-files", text)
        return cls("not-permitted" if any(words in text.lower() for words in _NOT_PERMITTED) else "error", text)

    @classmethod
    def from_exception(cls, error: Exception) -> GdbFailed:
        """gdb, or what talks to it, could not be started."""
        number = error.errno if isinstance(error, OSError) else None
        return cls("open-files" if number in (errno.EMFILE, errno.ENFILE) else "error", str(error))


def find_gdb() -> str | None:
    """gdb on the PATH, or in this environment's own bin directory, where the [gdb] extra puts it."""
    return shutil.which("gdb") or shutil.which("gdb", path=os.path.dirname(sys.executable))


class Gdb:
    """One gdb, ended when the `with` block ends, whatever happens in it.

    `root` is the only folder in which it looks for the files that a core names.
    """

    def __init__(self, program: str, seconds: float, root: str | None = None) -> None:
        from pygdbmi.IoManager import IoManager

        self._until = time.monotonic() + seconds
        self._token = 0
        rooted = (f"sysroot {root}",) if root else ()
        settings = [word for setting in (*_SETTINGS, *rooted) for word in ("-iex", f"set {setting}")]
        self.process = subprocess.Popen(
            [program, "--nx", "--quiet", "--interpreter=mi3", *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(os.environ),
            cwd=root,
            start_new_session=True,  # the person's Ctrl-C is meant for us, not for gdb
        )
        assert self.process.stdin and self.process.stdout
        _limit_memory(self.process.pid)
        self._io = IoManager(self.process.stdin, self.process.stdout, None, _LULL)

    def __enter__(self) -> Gdb:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Kill it instead of detaching: then a stopped process stays stopped, while gdb would resume it.
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def ask(self, command: str, seconds: float = 30) -> dict[str, Any]:
        """The payload of the answer to a command; raises GdbFailed on an error, a timeout or gdb's end."""
        return self._answer(command, seconds)[0]

    def console(self, command: str, seconds: float = 30) -> str:
        """What a command prints, for the few commands that the machine interface lacks."""
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        return self._answer(f'-interpreter-exec console "{quoted}"', seconds)[1]

    def _answer(self, command: str, seconds: float) -> tuple[dict[str, Any], str]:
        if "\n" in command:  # a path may contain anything, but must not become a second command
            raise GdbFailed("error", "a line break in a name")
        self._token += 1
        until = min(self._until, time.monotonic() + seconds)
        printed = []
        try:
            self._io.write(f"{self._token}{command}", read_response=False)
            while (left := until - time.monotonic()) > 0:
                # short reads, because pygdbmi does not notice when gdb has ended
                for record in self._io.get_gdb_response(min(left, 0.2), raise_error_on_timeout=False):
                    if record["type"] == "console" and record["payload"]:
                        printed.append(record["payload"])
                    elif record["type"] == "result" and record["token"] == self._token:
                        payload = record["payload"] if isinstance(record["payload"], dict) else {}
                        if record["message"] == "error":
                            raise GdbFailed.from_text(str(payload.get("msg", "error")))
                        return payload, "".join(printed)
                if self.process.poll() is not None:
                    raise _ended()
        except (OSError, ValueError) as error:
            raise _ended() from error
        raise GdbFailed("timeout", is_final=True)


def _ended() -> GdbFailed:
    """gdb ends by itself where it may not open the few files that it needs."""
    try:
        import resource
    except ImportError:  # another system, with a core from Linux
        return GdbFailed("ended", "ended", is_final=True)
    is_few = 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _FEW_FILES
    return GdbFailed("open-files" if is_few else "ended", "ended", is_final=True)


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Our environment without what changes the Python in gdb or its language, or sends it to the network."""
    unwanted = ("PYTHON", "DEBUGINFOD", "LD_PRELOAD", "LC_", "LANG")
    return {**{name: value for name, value in ours.items() if not name.startswith(unwanted)}, "LC_ALL": "C.UTF-8"}


def _limit_memory(pid: int) -> None:
    """Limit gdb's memory, of which a damaged core can ask for any amount."""
    try:
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (_MEMORY_LIMIT, _MEMORY_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        pass  # another system, a lower limit already, or gdb has ended


class Modules:
    """The libraries that gdb has loaded so far: those that own a frame, and of huge ones only a stub.

    Stubs are in a private directory until `close`. Files in `closed` are not opened; `known` has the loader's name of
    each file, where gdb need not be asked for it.
    """

    def __init__(
        self,
        gdb: Gdb,
        map: MemoryMap,
        main: str | None = None,
        closed: Collection[str] = (),
        known: Mapping[str, str] | None = None,
    ) -> None:
        self.map = map
        self.huge: set[str] = set()
        self._gdb = gdb
        self._tried = {*((main,) if main else ()), *closed}
        self._known = known
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove the stubs."""
        if self._directory:
            self._directory.cleanup()

    def load_for(self, addresses: Iterable[int]) -> bool:
        """Load the libraries around some addresses; returns whether any was new."""
        wanted = {self.map.module_at(address) for address in addresses}
        new = [path for path in wanted if path and path not in self._tried]
        for path in new:
            self._tried.add(path)
            self._load(path)
        return bool(new)

    def _load(self, path: str) -> None:
        try:
            size = os.path.getsize(path)
            if size >= _HUGE:
                self._load_stub(path)
            else:
                # gdb knows a library by the loader's name, the memory map by its real path
                name = os.path.basename(self._names().get(path, path))
                pattern = _UNSAFE.sub(".", name)
                self._gdb.console(f"sharedlibrary {pattern}$", seconds=20)
        except (OSError, ValueError):
            pass  # no longer on this machine, or not an ELF file: the unwinder does without it
        except GdbFailed as failure:
            if failure.is_final:
                raise

    def _load_stub(self, path: str) -> None:
        self._directory = self._directory or tempfile.TemporaryDirectory(prefix="triage-")
        stub = os.path.join(self._directory.name, f"{len(self._tried)}.so")
        write_stub(path, stub)
        base = self.map.base(path)
        if base is not None:
            self._gdb.console(f"add-symbol-file {stub} -o 0x{base:x}", seconds=20)
            self.huge.add(path)

    def _names(self) -> Mapping[str, str]:
        if self._known is None:
            listed = self._gdb.ask("-file-list-shared-libraries").get("shared-libraries", ())
            names = [str(library.get("host-name", "")) for library in listed if isinstance(library, dict)]
            self._known = {os.path.realpath(name): name for name in names if name}
        return self._known


def stacks(gdb: Gdb, modules: Modules, names: Mapping[int, str], only: int | None = None) -> tuple[RawThread, ...]:
    """The native stacks of all threads, or of one only; as many as time allows."""
    threads = []
    try:
        for thread in gdb.ask("-thread-info").get("threads", ())[:_MOST_THREADS]:
            tid = thread_number(thread) or 0
            if only in (None, tid):
                frames = _whole_stack(gdb, modules, str(thread["id"]))
                threads.append((tid, str(thread.get("name", "")), frames))
    except GdbFailed:
        if not threads:
            raise
    symbols = _symbols(gdb, modules, [frame for _, _, frames in threads for frame in frames])
    return tuple(
        RawThread(tid, names.get(tid, name), native=tuple(_frame(frame, modules, symbols) for frame in frames))
        for tid, name, frames in threads
    )


def _whole_stack(gdb: Gdb, modules: Modules, thread: str) -> list[dict[str, Any]]:
    """A thread's stack, walked again whenever it turns out to go through another library."""
    frames: list[dict[str, Any]] = []
    for _ in range(_WALKS):
        frames = frames_of(gdb, thread, _MOST_FRAMES)
        if not modules.load_for(map(address_of, frames)):
            break
    return frames


def _symbols(gdb: Gdb, modules: Modules, frames: list[dict[str, Any]]) -> dict[int, str]:
    """The names of the frames in huge libraries, whose symbols gdb has not read."""
    found: dict[int, str] = {}
    for library in modules.huge:
        base = modules.map.base(library) or 0
        addresses = {a for a in map(address_of, frames) if modules.map.module_at(a) == library}
        try:
            # a return address can be in the next function already; the byte before it is in the call
            names = names_in(library, [address - base - 1 for address in addresses])
        except (OSError, ValueError):
            continue
        found.update({address: names[address - base - 1] for address in addresses if address - base - 1 in names})
    return {address: _demangled(gdb, name) for address, name in found.items()}


def _demangled(gdb: Gdb, name: str) -> str:
    if not name.startswith("_Z") or not _PLAIN.match(name):
        return name
    try:
        return gdb.console(f"demangle -l c++ -- {name}", seconds=5).strip() or name
    except GdbFailed:
        return name


def _frame(frame: dict[str, Any], modules: Modules, symbols: Mapping[int, str]) -> RawFrame:
    address = address_of(frame)
    name = str(frame.get("func", "??"))
    if name != SIGNAL_FRAME:
        name = symbols.get(address, name)
    line = str(frame.get("line", ""))
    return RawFrame(
        address,
        None if name == "??" else name,
        modules.map.module_at(address),
        frame.get("file"),
        digits.whole(line),
    )


def thread_number(thread: dict[str, Any]) -> int | None:
    """The thread id that is in gdb's name of a thread."""
    found = _NUMBER.search(str(thread.get("target-id", "")))
    return digits.whole(found[1]) if found else None


def frames_of(gdb: Gdb, thread: str, most: int) -> list[dict[str, Any]]:
    """The innermost frames of a thread, as gdb sees them now."""
    try:
        listed = gdb.ask(f"-stack-list-frames --thread {thread} 0 {most - 1}")
    except GdbFailed as failure:
        if failure.is_final:
            raise
        return []  # its stack cannot be walked
    return [frame for frame in listed.get("stack", ()) if isinstance(frame, dict)]


def address_of(frame: dict[str, Any]) -> int:
    """The address of a frame."""
    return digits.whole(str(frame.get("addr", "0")), 16) or 0
