"""A real console under wine: the program keeps it, and what it showed is read back from its memory."""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wine import PATIENCE, STEP, python, settings, windows


def in_console(folder: Path, *how: str, press: bytes = b"", after: str = "") -> tuple[int, str, dict[str, Any]]:
    """`triage run` of a step in a console of 100 by 30; `press` is typed once `after` is on the screen."""
    keyboard, screen = os.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    report = folder / "report.json"
    words = ["-m", "triage", "run", "--format", "json", "--output", windows(report), windows(STEP), *how]
    process = subprocess.Popen(
        ["wine", python(), *words],
        stdin=screen,
        stdout=screen,
        stderr=screen,
        cwd=folder,
        env={**settings(folder), "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(screen)
    seen, until = b"", time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if select.select([keyboard], [], [], 0.2)[0]:
            try:
                seen += os.read(keyboard, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
        if press and after.encode() in seen:
            os.write(keyboard, press)
            press = b""
    os.close(keyboard)
    code = process.wait(PATIENCE)
    return code, seen.decode("utf-8", "replace"), json.loads(report.read_text("utf-8"))


@pytest.fixture(autouse=True)
def with_wine(require: Callable[[str], None]) -> None:
    """Real Windows code needs wine, set up."""
    require("windows")
    if os.environ.get("TRIAGE_WINDOWS") != "all":
        pytest.skip("a longer test: make test-windows")


def test_a_console_stays_one_and_what_it_showed_is_read(tmp_path: Path) -> None:
    code, seen, report = in_console(tmp_path, "terminals", "exception")
    assert code == 1
    assert "[True, True, True]" in seen
    assert report["crash"]["exception"]["type"] == "RuntimeError"
    assert [source["name"] for source in report["crash"]["inputs"]] == ["output"]


def test_ctrl_c_goes_to_the_program(tmp_path: Path) -> None:
    _, seen, report = in_console(tmp_path, "ok", "sleep:60", press=b"\x03", after="a step")
    assert "KeyboardInterrupt" in seen
    assert report["crash"]["exception"]["type"] == "KeyboardInterrupt"
