"""Real runs of the real `triage` on real Windows Pythons, under wine.

wine hands only the low byte of an exit code to Linux, so a small program inside writes down the whole of it. Files and
/dev/null make poor standard streams there (Python does not start with them), so all of them are pipes.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from set_up import CACHE, PROJECT, SOURCES, environment

PATIENCE = 120
STEP = SOURCES / "step.py"
_WRITE_CODE = """
import subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write("%08X" % (code & 0xFFFFFFFF))
"""


class Run(NamedTuple):
    """How a run ended: the whole exit code, what was printed, the report if there is one, and the dumps it left."""

    code: int
    output: str
    errors: str
    report: dict[str, Any] | None
    dumps: tuple[Path, ...]
    seconds: float

    @property
    def primary(self) -> dict[str, Any]:
        """The process that the report is about."""
        assert self.report is not None, self.errors
        process: dict[str, Any] = self.report["crash"]["processes"][self.report["crash"]["primary"]]
        return process

    @property
    def functions(self) -> list[str]:
        """The Python functions of the crashed thread, innermost first."""
        return [f["function"] for t in self.primary["threads"] if t["crashed"] for f in t["python_stack"]]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The native frames of the crashed thread, innermost first."""
        return [f for t in self.primary["threads"] if t["crashed"] for f in t["native_stack"]]

    @property
    def modules(self) -> list[str]:
        """The modules of its native frames, each named once."""
        return list(dict.fromkeys(frame["module"] for frame in self.frames))


def windows(path: Path) -> str:
    """A path as Windows programs know it."""
    return "Z:" + str(path).replace("/", "\\")


def python(series: str = "3.11") -> str:
    """The path of a Windows Python."""
    return windows(CACHE / f"python{series}" / "python.exe")


def settings(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a run: our code, the wheels, the stand-ins, and a state directory of the test's own."""
    ours = {
        "PYTHONPATH": f"{windows(CACHE / 'site')};{windows(PROJECT)}",
        "TRIAGE_STAND_INS": windows(CACHE / "stand-ins"),
        "WIN_PD_OVERRIDE_LOCAL_APPDATA": windows(folder / "state"),
    }
    return {name: value for name, value in environment().items() if name != "VIRTUAL_ENV"} | ours | more


def wine(words: Sequence[str], folder: Path, stdin: bytes = b"", **more: str) -> tuple[int, str, str]:
    """Run a Windows program; its whole exit code, its output and its errors."""
    writer = folder / "write_code.py"
    writer.write_text(_WRITE_CODE)
    code = folder / "code.txt"
    code.unlink(missing_ok=True)
    done = subprocess.run(
        ["wine", python(), windows(writer), windows(code), *words],
        input=stdin,
        capture_output=True,
        cwd=folder,
        env=settings(folder, **more),
        timeout=PATIENCE,
        check=False,
    )
    output, errors = (text.decode("utf-8", "replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    assert code.exists(), (output, errors)
    return int(code.read_text(), 16), output, errors


def triage_run(
    *words: str, folder: Path, options: Sequence[str] = (), save: bool = True, stdin: bytes = b"", **more: str
) -> Run:
    """`triage run` under wine, its dumps in a folder of the test."""
    report, dumps = folder / "report.json", folder / "dumps"
    dumps.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    saving = ("--save", windows(dumps)) if save else ()
    began = time.monotonic()
    code, output, errors = wine(
        [python(), "-m", "triage", "run", "--format", "json", "--output", windows(report), *saving, *options, *words],
        folder,
        stdin,
        **more,
    )
    content = json.loads(report.read_text("utf-8")) if report.exists() else None
    left = tuple(sorted((dumps if save else folder / "state").rglob("*.dmp"), key=os.path.getmtime))
    return Run(code, output, errors, content, left, time.monotonic() - began)


def step(*how: str, folder: Path, **named: Any) -> Run:
    """A training step of the stand-ins under `triage run`."""
    return triage_run(windows(STEP), *how, folder=folder, **named)
