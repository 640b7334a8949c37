"""Python and native stacks of every thread, from pystack in a child process."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from typing import Any, Literal, NamedTuple

from triage.crash import PythonFrame
from triage.stacks.native_stack import RawFrame, RawThread
from triage.stacks.untrusted_paths import RefusedFile

PystackFailure = Literal[
    "not-installed",
    "not-permitted",
    "open-files",
    "timeout",
    # its process could not be started, died, or printed something else
    "broken",
    "no-python",
    # it was not asked: the program is not known, a file may not be opened, or the core was made by hand
    "no-executable",
    "refused-file",
    "crafted-core",
]
_NOT_INSTALLED = ("ModuleNotFoundError", "ImportError")
_NOT_PERMITTED = ("operation not permitted", "permission denied")
_OPEN_FILES = "too many open files"
_UNKNOWN = ("", "???")
_START = "import sys; sys.path[:] = {path!r}; from triage.stacks.pystack_child import main; main(sys.argv[1:])"


class PystackAnswer(NamedTuple):
    """The stacks that pystack found, or why it found none; `detail` is what pystack or the system said."""

    threads: tuple[RawThread, ...] = ()
    python: str | None = None
    # by thread: how many frames were left out of its native stack and of its Python stack
    left_out: tuple[tuple[int, int, int], ...] = ()
    failure: PystackFailure | None = None
    detail: str = ""
    # a file that pystack would open, and must not
    refused: RefusedFile | None = None


def of_process(pid: int, seconds: float) -> PystackAnswer:
    """The stacks of a live process, which is left as it was found."""
    return _ask(["process", str(pid)], seconds)


def of_core(core: str, executable: str, seconds: float, folder: str | None = None) -> PystackAnswer:
    """The stacks in a core; names without a folder are looked up in `folder`."""
    return _ask(["core", os.path.abspath(core), os.path.abspath(executable)], seconds, folder)


def _ask(arguments: list[str], seconds: float, folder: str | None = None) -> PystackAnswer:
    # -I keeps the person's PYTHONPATH and sitecustomize out of this process; our own path is passed on.
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
        return PystackAnswer(failure="timeout")
    except OSError as error:
        kind: PystackFailure = "open-files" if error.errno in (errno.EMFILE, errno.ENFILE) else "broken"
        return PystackAnswer(failure=kind, detail=str(error))
    if done.returncode:
        return PystackAnswer(failure="broken", detail=f"status {done.returncode}")
    return read_answer(done.stdout)


def read_answer(answer: bytes) -> PystackAnswer:
    """What the child printed."""
    try:
        read = json.loads(answer)
        if "error" in read:
            return PystackAnswer(failure=_failure(read["error"], read["text"]), detail=read["text"])
        threads = [_thread(thread) for thread in read["threads"]]
        version = next((thread["version"] for thread in read["threads"] if thread["version"]), None)
        left_out = [(t["tid"], t["native"]["left_out"], t["python"]["left_out"]) for t in read["threads"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return PystackAnswer(failure="broken", detail=str(error))
    python = ".".join(map(str, version)) if version else None
    return PystackAnswer(tuple(threads), python, tuple(entry for entry in left_out if entry[1] or entry[2]))


def _failure(error: str, text: str) -> PystackFailure:
    """The kind of an exception in the child; pystack has one class for many kinds, so its text decides."""
    if _OPEN_FILES in text.lower():
        return "open-files"
    if error in _NOT_INSTALLED:
        return "not-installed"
    return "not-permitted" if any(words in text.lower() for words in _NOT_PERMITTED) else "no-python"


def _thread(read: dict[str, Any]) -> RawThread:
    python = tuple(PythonFrame(file, line or None, function) for file, line, function in read["python"]["frames"])
    native = tuple(
        RawFrame(address, _known(symbol), _known(library), _known(file) if line else None, line or None)
        for address, symbol, library, file, line in read["native"]["frames"]
    )
    return RawThread(read["tid"], read["name"], python, native)


def _known(text: str) -> str | None:
    return None if text in _UNKNOWN else text
