"""What every test may use, and the rule about what may be missing.

A test that needs something absent is skipped with the reason. Where TRIAGE_REQUIRE names it, a skip is a failure: there
the machine is set up so that everything runs.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import triage
from triage.knowledge.loading import Knowledge

REPOSITORY = Path(__file__).resolve().parents[1]
LOGS = REPOSITORY / "fixtures" / "logs"
REQUIRED = {name for name in os.environ.get("TRIAGE_REQUIRE", "").split(",") if name}
_CHANGES_OUTPUT = ("NO_COLOR", "FORCE_COLOR", "TRIAGE_SIGNATURES", "COLUMNS")
_AVAILABLE = {"tensorflow": lambda: importlib.util.find_spec("tensorflow") is not None}


@pytest.fixture
def require() -> Callable[[str], None]:
    """require("tensorflow") skips a test where that is absent, and fails it where TRIAGE_REQUIRE names it."""

    def check(name: str) -> None:
        if not _AVAILABLE[name]():
            message = f"{name} is not installed"
            pytest.fail(message) if name in REQUIRED else pytest.skip(message)

    return check


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Our signatures, read once."""
    return triage.load_knowledge()


@pytest.fixture
def run_triage(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real command; the environment is clean of what would change its output."""

    def run(
        *arguments: str | Path, input: str | bytes | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if k not in _CHANGES_OUTPUT}
        data = input.encode() if isinstance(input, str) else input
        done = subprocess.run(
            [sys.executable, "-m", "triage", *map(str, arguments)],
            input=data if data is not None else b"",
            capture_output=True,
            cwd=tmp_path,
            env={**clean, **environment},
            timeout=60,
        )
        output, errors = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return subprocess.CompletedProcess(done.args, done.returncode, output, errors)

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests ran and were skipped in each suite, so that a silent skip is seen."""
    ran: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if isinstance(report, pytest.TestReport) and (report.when == "call" or outcome == "skipped"):
                suite = report.nodeid.split("::")[0]
                (skipped if outcome == "skipped" else ran)[suite] += 1
    for suite in sorted({*ran, *skipped}):
        terminalreporter.write_line(f"{suite}: {ran[suite]} ran, {skipped[suite]} skipped")
