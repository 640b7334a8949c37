"""Python and native stacks of every thread, through pystack in a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from triage.crash import PythonFrame
from triage.stacks.stacks import RawFrame, RawThread

_UNKNOWN = ("", "???")
_START = "import sys; sys.path[:] = {path!r}; from triage.stacks.pystack_child import main; main(sys.argv[1:])"


class Mixed(NamedTuple):
    """What pystack told; `failure` is its kind and `detail` its text when it could not."""

    threads: tuple[RawThread, ...] = ()
    python: str | None = None
    # how many frames were left out of a thread's native stack and of its Python stack
    left_out: tuple[tuple[int, int, int], ...] = ()
    failure: str | None = None
    detail: str = ""


def of_process(pid: int, seconds: float) -> Mixed:
    """The stacks of a living process, which is left as it was found."""
    return _ask(["process", str(pid)], seconds)


def of_core(core: str, executable: str, seconds: float, folder: str | None = None) -> Mixed:
    """The stacks in a core; `folder` is where names without a folder are looked for."""
    return _ask(["core", os.path.abspath(core), os.path.abspath(executable)], seconds, folder)


def _ask(arguments: list[str], seconds: float, folder: str | None = None) -> Mixed:
    # -I: neither the person's PYTHONPATH nor a sitecustomize has a say in this process; our own path is handed on.
    code = _START.format(path=[os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=max(seconds, 0.1),
            start_new_session=True,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return Mixed(failure="timeout")
    except OSError as error:
        return Mixed(failure="start", detail=str(error))
    return _read(done.stdout) if done.returncode == 0 else Mixed(failure="crash", detail=f"status {done.returncode}")


def _read(answer: bytes) -> Mixed:
    try:
        told = json.loads(answer)
        if "error" in told:
            return Mixed(failure=told["error"], detail=told["text"])
        threads = [_thread(thread) for thread in told["threads"]]
        version = next((thread["version"] for thread in told["threads"] if thread["version"]), None)
        left_out = [(t["tid"], t["native"]["left_out"], t["python"]["left_out"]) for t in told["threads"]]
    except (ValueError, KeyError, TypeError) as error:
        return Mixed(failure="answer", detail=str(error))
    python = ".".join(map(str, version)) if version else None
    return Mixed(tuple(threads), python, tuple(entry for entry in left_out if entry[1] or entry[2]))


def _thread(told: dict[str, Any]) -> RawThread:
    python = tuple(PythonFrame(file, line or None, function) for file, line, function in told["python"]["frames"])
    native = tuple(
        RawFrame(address, _known(symbol), _known(library), _known(file) if line else None, line or None)
        for address, symbol, library, file, line in told["native"]["frames"]
    )
    return RawThread(told["tid"], told["name"], python, native)


def _known(text: str) -> str | None:
    return None if text in _UNKNOWN else text
