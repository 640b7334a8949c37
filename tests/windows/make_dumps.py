"""Makes the dumps of fixtures/dumps/ again: our collector and our crash programs under wine, set up by `make windows`.

Everything lies in C:\\project and the environment is empty, so that a dump reveals nothing about this machine.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import sys
from pathlib import Path

from set_up import CACHE, PROJECT, environment

TARGET = PROJECT / "fixtures" / "dumps"
KINDS = ("fast-fail-7", "read", "illegal", "delay-load", "stack")
FILES = ("host.exe", "_pywrap_tensorflow_internal.pyd", "cudnn64_8.dll")
_NEEDED = ("PATH", "HOME", "WINEPREFIX", "WINEDEBUG", "WINEARCH", "DISPLAY")
_LARGEST = 250_000


def main() -> None:
    """One dump for each kind, and the files that are in it."""
    inside = CACHE / "prefix" / "drive_c" / "project"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    (TARGET / "pe").mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(CACHE / "stand-ins" / name, inside)
        shutil.copy(CACHE / "stand-ins" / name, TARGET / "pe")
    for name in ("triage", "signatures"):
        shutil.copytree(PROJECT / name, inside / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CACHE / "python3.11", inside / "python")
    shutil.copytree(CACHE / "site", inside / "site")
    settings = {name: value for name, value in environment().items() if name in _NEEDED}
    settings |= {"PYTHONPATH": "C:\\project\\site;C:\\project", "USER": "user", "LOGNAME": "user"}
    for kind in KINDS:
        make(kind, inside, settings)
    shutil.rmtree(inside)


def make(kind: str, inside: Path, settings: dict[str, str]) -> None:
    """The dump of one kind."""
    command = ["wine", r"C:\project\python\python.exe", "-m", "triage", "run", "--save", rf"C:\project\{kind}.dmp"]
    done = subprocess.run(
        [*command, "--", r"C:\project\host.exe", kind],
        cwd=inside,
        env=settings,
        input=b"",
        capture_output=True,
        check=False,
    )
    dump = inside / f"{kind}.dmp"
    if not dump.exists():
        sys.exit(f"{kind} left no dump: {done.stderr.decode('utf-8', 'replace')}")
    target = TARGET / dump.name
    if dump.stat().st_size <= _LARGEST:
        shutil.copy(dump, target)
    else:
        target = target.with_name(dump.name + ".xz")
        target.write_bytes(lzma.compress(dump.read_bytes(), preset=9))
    print(f"{target.name}: {target.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
