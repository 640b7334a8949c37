"""Real runs for the tests of `triage run`: with triage and without it, with pipes and in a terminal.

Most of them are not about native stacks, so `--no-native` is the default here.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from conftest import TRIAGE, clean_environment

PATIENCE = 60
QUICKLY = ("run", "--no-native")
CRASH = "import ctypes\ndef die():\n    ctypes.string_at(8)\n"


def environment(**more: str) -> dict[str, str]:
    """Our environment without what would change how a child behaves: an active venv, a log level, another triage."""
    kept = clean_environment(**more)
    for name in (
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "TF_CPP_MIN_LOG_LEVEL",
        "PYTHONPATH",
        "PYTHONFAULTHANDLER",
        "PYTHONUNBUFFERED",
    ):
        if name not in more:
            kept.pop(name, None)
    return kept


def with_triage(*arguments: str | Path, options: tuple[str | Path, ...] = (), **named: Any) -> Any:
    """`triage run` as a program calls it; the report goes to report.txt in the working directory."""
    report = () if "--output" in options else ("--output", "report.txt")
    return _finished([*TRIAGE, *QUICKLY, *report, *map(str, (*options, *arguments))], **named)


def without_triage(*arguments: str | Path, **named: Any) -> Any:
    """The same without triage: with Python, or with the command alone after `--`."""
    words = list(map(str, arguments))
    return _finished(words[1:] if words[0] == "--" else [sys.executable, *words], **named)


def report_on(
    cwd: Path, *arguments: str | Path, options: tuple[str | Path, ...] = (), native: bool = False, **named: Any
) -> tuple[Any, dict[str, Any]]:
    """How a run ended, and its JSON report."""
    file = cwd / "report.json"
    mode = () if native else ("--no-native",)
    words = [*TRIAGE, "run", *mode, "--format", "json", "--output", file, *options, *arguments]
    done = _finished([str(word) for word in words], cwd=cwd, **named)
    assert file.exists(), (done.returncode, done.stdout, done.stderr)
    return done, json.loads(file.read_text("utf-8"))


def _finished(words: list[str], **named: Any) -> Any:
    settings: dict[str, Any] = {"env": environment(), "timeout": PATIENCE, "check": False, **named}
    if not {"input", "stdin"} & settings.keys():
        settings["stdin"] = subprocess.DEVNULL
    if not {"stdout", "stderr"} & settings.keys():
        settings["capture_output"] = True
    return subprocess.run(words, **settings)


def primary_of(report: dict[str, Any]) -> dict[str, Any]:
    """The process that the report is about."""
    return report["crash"]["processes"][report["crash"]["primary"]]


def functions_of(process: dict[str, Any]) -> list[str]:
    """The Python functions of the crashed thread, innermost first; of all threads where none crashed."""
    threads = [t for t in process["threads"] if t["crashed"]] or process["threads"]
    return [frame["function"] for thread in threads for frame in thread["python_stack"]]


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(what: Any) -> None:
    """Wait for something to become true; fails if it never does."""
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, "it never became true"
        time.sleep(0.02)


class Terminal:
    """A terminal of 80 by 24 whose program leads its session, as in a window or under `ssh -t`."""

    def __init__(self, *words: str | Path, cwd: Path, **more: str) -> None:
        self.keyboard, screen = os.openpty()
        self.resize(24, 80)
        self.modes = termios.tcgetattr(screen)
        self.screen = screen
        self.seen = b""
        self.process = subprocess.Popen(
            [str(word) for word in words],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            cwd=cwd,
            env=environment(TERM="xterm-256color", **more),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)

    def resize(self, rows: int, columns: int) -> None:
        """Resize the window; the programs in it get SIGWINCH."""
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.keyboard, keys)

    def expect(self, text: str, times: int = 1) -> None:
        """Read the screen until a text has appeared this many times."""
        until = time.monotonic() + PATIENCE
        while self.seen.count(text.encode()) < times:
            assert time.monotonic() < until, f"{text!r} never appeared in {self.seen!r}"
            self._read()

    def end(self) -> int:
        """Wait for the program and return Python's returncode for it."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < until, f"still running; on the screen is {self.seen!r}"
            self._read()
        while self._read():
            pass
        return self.process.returncode

    def modes_now(self) -> list[Any]:
        """The terminal's settings."""
        return termios.tcgetattr(self.screen)

    def hang_up(self) -> None:
        """Close the window."""
        for descriptor in (self.screen, self.keyboard):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _read(self) -> bool:
        if not select.select([self.keyboard], [], [], 0.05)[0]:
            return False
        self.seen += os.read(self.keyboard, 65536)
        return True
