"""Small programs that really crash: held in the handler of the fatal signal, or dead with a core."""

from __future__ import annotations

import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Each function dies in its own way; the second argument puts it into a thread of that name.
CRASHER = """
import ctypes, mmap, os, sys, tempfile, threading

def run_code(code):
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()

def read():
    ctypes.string_at(8)

def write():
    ctypes.memset(16, 1, 4)

def jump():
    ctypes.CFUNCTYPE(None)(0x1234)()

def abort():
    os.abort()

def divide():
    run_code(bytes.fromhex("31c031d231c9f7f1c3"))

def illegal():
    run_code(bytes.fromhex("0f0b"))

def trap():
    run_code(bytes.fromhex("ccc3"))

def bus():
    file = tempfile.TemporaryFile()
    file.truncate(4096)
    page = mmap.mmap(file.fileno(), 4096)
    file.truncate(0)
    ctypes.string_at(ctypes.addressof(ctypes.c_char.from_buffer(page)))

def native_thread():
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, libc.strlen, ctypes.c_void_p(8))
    threading.Event().wait()

def overflow():
    sys.setrecursionlimit(10**9)

    class Endless:
        def __getattr__(self, name):
            return getattr(self, name)

    Endless().end

def größe():
    read()

def 大きさ():
    größe()

def wait():
    print("waiting", flush=True)
    threading.Event().wait()

dies = globals()[sys.argv[1]]
if len(sys.argv) > 2:
    thread = threading.Thread(target=dies, name=sys.argv[2])
    thread.start()
    thread.join()
else:
    dies()
"""
# As our hook does: the handler of fatal signals is sleep(), and faulthandler runs before it.
_ARMED = """
import ctypes, faulthandler, os
_libc = ctypes.CDLL(None)
for _number in (4, 6, 7, 8, 11):
    _libc.__sysv_signal(_number, _libc.sleep)
faulthandler.enable(file=open(os.environ["DUMP"], "wb", 0))
"""
_PATIENCE = 30
_QUIET = 0.05
ON_X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="it uses x86-64 instructions")


@contextmanager
def held(directory: Path, *arguments: str, python: str = sys.executable, script: str = "dying.py") -> Iterator[int]:
    """A process that has crashed and is stopped in its handler, as `triage run` holds it."""
    dump = directory / "dump"
    process = _start(directory, _ARMED + CRASHER, *arguments, python=python, script=script, DUMP=str(dump))
    try:
        _wait_for(process, lambda: _is_written(dump))
        _stop(process)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def waiting(directory: Path, *thread: str) -> Iterator[int]:
    """A process that hangs, stopped."""
    process = _start(directory, CRASHER, "wait", *thread)
    try:
        assert process.stdout and process.stdout.readline() == b"waiting\n"
        time.sleep(_QUIET)
        _stop(process)
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def core_of(
    directory: Path,
    *arguments: str,
    python: str = sys.executable,
    options: tuple[str, ...] = (),
    script: str = "dying.py",
) -> Path:
    """The core of a process that died; skips where the system sends cores elsewhere."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip(f"cores go to {pattern}")
    directory.mkdir(parents=True, exist_ok=True)
    process = _start(directory, CRASHER, *arguments, python=python, options=options, script=script, core=True)
    process.communicate(timeout=_PATIENCE)
    cores = sorted(directory.glob("core*"))
    if not cores:
        pytest.skip("the system left no core")
    return cores[0]


def _start(
    directory: Path,
    code: str,
    *arguments: str,
    python: str = sys.executable,
    options: tuple[str, ...] = (),
    script: str = "dying.py",
    core: bool = False,
    **more: str,
) -> subprocess.Popen[bytes]:
    path = directory / script
    path.write_text(code, encoding="utf-8")

    def allow_core() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard if core else 0, hard))

    command = [python, *options, str(path), *arguments]
    return subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=allow_core,
    )


def _is_written(dump: Path) -> bool:
    """Whether faulthandler has finished: its file no longer grows."""
    if not dump.exists() or not (size := dump.stat().st_size):
        return False
    time.sleep(_QUIET)
    return dump.stat().st_size == size


def _wait_for(process: subprocess.Popen[bytes], done: object) -> None:
    until = time.monotonic() + _PATIENCE
    assert callable(done)
    while not done():
        assert process.poll() is None, f"it ended with {process.returncode} and was not held"
        assert time.monotonic() < until, "it did not crash"
        time.sleep(0.01)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    _wait_for(process, lambda: state(process.pid)["State"].startswith("T"))


def state(pid: int) -> dict[str, str]:
    """The fields of a process's status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
