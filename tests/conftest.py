"""What every test may use, and the rule about what may be missing.

A test that needs something missing is skipped with the reason. Where TRIAGE_REQUIRE names it, a skip is a failure:
that machine is set up to run everything.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import scheduling

from triage.knowledge.database import Knowledge

# Started as ../.venv/bin/python, its path would contain .., unlike that of the Pythons that the tests start.
sys.executable = os.path.abspath(sys.executable)
REPOSITORY = Path(__file__).resolve().parents[1]
LOGS = REPOSITORY / "fixtures" / "logs"
TRIAGE = (sys.executable, "-m", "triage")
REQUIRED = {name for name in os.environ.get("TRIAGE_REQUIRE", "").split(",") if name}
_AVAILABLE = {
    "tensorflow": lambda: importlib.util.find_spec("tensorflow") is not None,
    "gdb": lambda: shutil.which("gdb") is not None,
    "ptrace": lambda: _may_trace(),
    "g++": lambda: shutil.which("g++") is not None,
    "lldb": lambda: any(map(shutil.which, ("lldb-19", "lldb"))),
    "bash": lambda: shutil.which("bash") is not None,
    "zsh": lambda: shutil.which("zsh") is not None,
    "mingw": lambda: shutil.which("x86_64-w64-mingw32-gcc") is not None,
    "wine": lambda: shutil.which("wine") is not None,
    # what `make windows` puts in place: Windows Pythons, wheels and crash programs
    "windows": lambda: shutil.which("wine") is not None and (REPOSITORY / ".windows" / "ready").exists(),
}
# Variables that would change the output of the command.
_MEDDLING = {"NO_COLOR", "FORCE_COLOR", "TRIAGE_SIGNATURES", "COLUMNS", "LINES", "PYTHONIOENCODING", "TERM"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Only a hang takes this long: our slowest command needs 12 s of a processor that it may have to share.
_PATIENCE = 180


@functools.cache
def _may_trace() -> bool:
    """Whether we may trace a child of ours; tried, because containers and kernels forbid it in many ways."""
    if not sys.platform.startswith("linux"):
        return False
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    attach, detach = 16, 17
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        if ptrace(attach, child.pid, None, None) != 0:
            return False
        os.waitpid(child.pid, os.WUNTRACED)
        return bool(ptrace(detach, child.pid, None, None) == 0)
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def require() -> Callable[[str], None]:
    """require("tensorflow") skips a test where it is missing, or fails it where TRIAGE_REQUIRE names it."""

    def check(name: str) -> None:
        if not _AVAILABLE[name]():
            message = f"{name} is missing or not allowed"
            pytest.fail(message) if name in REQUIRED else pytest.skip(message)

    return check


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Our signatures, read once."""
    from fixture_logs import our_knowledge

    return our_knowledge()


def clean_environment(**more: str) -> dict[str, str]:
    """The environment of this process without what would change the output of the command."""
    return {**{name: value for name, value in os.environ.items() if name not in _MEDDLING}, **more}


def give_up_the_right_to_read_everything() -> None:
    """Root ignores file permissions; without these two capabilities it does not."""
    if os.geteuid() == 0:
        drop_from_bounding_set, override, read_search = 24, 1, 2
        prctl = ctypes.CDLL(None).prctl
        for capability in (override, read_search):
            prctl(drop_from_bounding_set, capability, 0, 0, 0)


@pytest.fixture
def run_triage(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real command, without variables that would change its output."""

    def run(
        *arguments: str | Path, input: str | bytes | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        data = input.encode() if isinstance(input, str) else input
        done = subprocess.run(
            [*TRIAGE, *map(str, arguments)],
            input=data if data is not None else b"",
            capture_output=True,
            cwd=tmp_path,
            env=clean_environment(**environment),
            timeout=_PATIENCE,
        )
        output, errors = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return subprocess.CompletedProcess(done.args, done.returncode, output, errors)

    return run


@dataclass(frozen=True)
class Screen:
    """What a terminal received, and how the command ended."""

    returncode: int
    raw: str

    @property
    def lines(self) -> list[str]:
        """The lines without colours."""
        return _COLOUR.sub("", self.raw).replace("\r\n", "\n").splitlines()


@pytest.fixture
def in_terminal(tmp_path: Path) -> Callable[..., Screen]:
    """Run the real command in a terminal of 80 by 24; `typed` is typed once `after` has appeared on the screen."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    import fcntl
    import struct
    import termios

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def run(
        *arguments: str | Path, typed: bytes = b"", after: str = "", columns: int = 80, **environment: str
    ) -> Screen:
        keyboard, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        settings = termios.tcgetattr(terminal)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
        process = subprocess.Popen(
            [*TRIAGE, *map(str, arguments)],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=tmp_path,
            env=clean_environment(**{"TERM": "xterm-256color", **environment}),
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(terminal)
        seen = b""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if typed and after.encode() in seen:
                # A real terminal passes on a paste in pieces too; one large write could block on the echo.
                os.write(keyboard, typed[:512])
                typed = typed[512:]
            if select.select([keyboard], [], [], 0.1)[0]:
                try:
                    data = os.read(keyboard, 65536)
                except OSError:  # Linux's way of saying that the other side is closed
                    break
                if not data:
                    break
                seen += data
        else:
            process.kill()
            pytest.fail(f"the command still waits after {_PATIENCE} s; it printed {seen!r}")
        os.close(keyboard)
        return Screen(process.wait(_PATIENCE), seen.decode("utf-8", "replace"))

    return run


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one more than the processors we may use, because tests of hangs only wait.

    At most eight: each may start a TensorFlow, which takes up to 1.6 GB.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable + 1, 8)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With several processes, tests that share something expensive run in the same one."""
    return scheduling.scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes, start with what takes longest."""
    if hasattr(config, "workerinput"):
        scheduling.long_ones_first(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests of each file ran and were skipped, so that no skip goes unnoticed."""
    ran: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if isinstance(report, pytest.TestReport) and (report.when == "call" or outcome == "skipped"):
                suite = report.nodeid.split("::")[0]
                (skipped if outcome == "skipped" else ran)[suite] += 1
    for suite in sorted({*ran, *skipped}):
        terminalreporter.write_line(f"{suite}: {ran[suite]} ran, {skipped[suite]} skipped")
