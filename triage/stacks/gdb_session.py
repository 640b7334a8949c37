"""A conversation with gdb over its machine interface: every answer belongs to its question, and time is bounded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

# No symbols are read unless asked for, no scripts of the person or of a library run, nothing is downloaded, and debug
# files are left alone: a TensorFlow process takes 0.2 s so, and 30 s otherwise.
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
# pygdbmi waits this long for more after every answer; with its default of 0.2 s a session takes seconds, with 0
# every read takes its whole timeout.
_LULL = 0.002
_MEMORY = 4 << 30


class GdbFailed(Exception):
    """gdb said no, or nothing; the text is its own reason, `timeout` or `ended`."""


def find_gdb() -> str | None:
    """gdb on the PATH, or in this environment's own bin directory, where the [gdb] extra puts it."""
    return shutil.which("gdb") or shutil.which("gdb", path=os.path.dirname(sys.executable))


class Gdb:
    """One gdb, ended when the `with` block ends, whatever happens in it.

    `root` is the folder below which it looks for every file that a core names, and for nothing else.
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
            start_new_session=True,  # the person's Ctrl-C is for us: gdb must not pass it on
        )
        assert self.process.stdin and self.process.stdout
        _bound(self.process.pid)
        self._io = IoManager(self.process.stdin, self.process.stdout, None, _LULL)

    def __enter__(self) -> Gdb:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Killed, not asked to detach: the kernel then leaves a stopped process stopped, where gdb would wake it.
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    @property
    def seconds_left(self) -> float:
        """What is left of the time that this session may take."""
        return max(0.0, self._until - time.monotonic())

    def ask(self, command: str, seconds: float = 30) -> dict[str, Any]:
        """The payload of the answer to a command; raises GdbFailed for an error, silence or gdb's end."""
        return self._answer(command, seconds)[0]

    def console(self, command: str, seconds: float = 30) -> str:
        """What a command prints, for the few that the machine interface lacks."""
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        return self._answer(f'-interpreter-exec console "{quoted}"', seconds)[1]

    def _answer(self, command: str, seconds: float) -> tuple[dict[str, Any], str]:
        if "\n" in command:  # a path may hold anything; a second command it must not be
            raise GdbFailed("a line break in a name")
        self._token += 1
        until = min(self._until, time.monotonic() + seconds)
        printed = []
        try:
            self._io.write(f"{self._token}{command}", read_response=False)
            while (left := until - time.monotonic()) > 0:
                # short reads: pygdbmi does not notice that gdb has ended
                for record in self._io.get_gdb_response(min(left, 0.2), raise_error_on_timeout=False):
                    if record["type"] == "console" and record["payload"]:
                        printed.append(record["payload"])
                    elif record["type"] == "result" and record["token"] == self._token:
                        payload = record["payload"] if isinstance(record["payload"], dict) else {}
                        if record["message"] == "error":
                            raise GdbFailed(str(payload.get("msg", "error")))
                        return payload, "".join(printed)
                if self.process.poll() is not None:
                    raise GdbFailed("ended")
        except (OSError, ValueError) as error:
            raise GdbFailed("ended") from error
        raise GdbFailed("timeout")


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would change the Python inside gdb, its language, or send it to the network."""
    unwanted = ("PYTHON", "DEBUGINFOD", "LD_PRELOAD", "LC_", "LANG")
    return {**{name: value for name, value in ours.items() if not name.startswith(unwanted)}, "LC_ALL": "C.UTF-8"}


def _bound(pid: int) -> None:
    """A damaged core can ask gdb for any amount of memory."""
    try:
        import resource

        resource.prlimit(pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        pass  # another system, a lower limit already, or gdb has ended
