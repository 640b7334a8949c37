"""The one module that calls pystack. It runs in a process of its own: a native parser must not take triage down.

`main` writes one JSON object to standard output: `threads`, or `error` and `text`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

# A runaway recursion has a hundred thousand frames; both of its ends tell all there is.
_INNERMOST, OUTERMOST = 1200, 100
_MEMORY = 4 << 30
# Only what is touched of it takes memory.
_STACKS = (1 << 30, 1 << 28, 1 << 25, 0)


def main(arguments: list[str]) -> None:
    """Print the stacks of `process PID` or of `core FILE EXECUTABLE`."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not get between the JSON
    _stay_small()
    _with_a_deep_stack(lambda: _answer(arguments, answer))


def _answer(arguments: list[str], descriptor: int) -> None:
    """Write the answer and leave at once: to free a chain of ten thousand frames could crash what already worked."""
    try:
        told: dict[str, Any] = {"threads": _told(arguments)}
    except Exception as error:
        told = {"error": type(error).__name__, "text": str(error)}
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as answer:
        json.dump(told, answer)
    os._exit(0)


def _with_a_deep_stack(work: Callable[[], None]) -> None:
    """pystack recurses once a frame: a stack that has just overflowed would overflow its own."""
    for size in _STACKS:
        try:
            threading.stack_size(size)
            worker = threading.Thread(target=work)
            worker.start()
        except (RuntimeError, ValueError):  # not so much address space here
            continue
        worker.join()
        return


def _stay_small() -> None:
    """A damaged core can ask for any amount of memory; and a crash of the parser needs no core of its own."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _told(arguments: list[str]) -> list[dict[str, Any]]:
    from triage.stacks.code_names import listen, repaired

    log = listen()
    threads = _threads(arguments)
    versions = [tuple(thread.python_version) if thread.python_version else None for thread in threads]
    stacks = [[[f.code.filename, f.code.location.lineno, f.code.scope] for f in thread.frames] for thread in threads]
    stacks = repaired([stack[::-1] for stack in stacks], versions, log, _memory(arguments))
    return [_thread(thread, stack) for thread, stack in zip(threads, stacks, strict=True)]


def _threads(arguments: list[str]) -> list[Any]:
    from pystack.engine import NativeReportingMode, get_process_threads, get_process_threads_for_core

    # ALL: a crash in a thread that Python never heard of is a crash too. Values of variables are never asked for.
    if arguments[0] == "process":
        return get_process_threads(int(arguments[1]), native_mode=NativeReportingMode.ALL, locals=False)
    core, executable = arguments[1:3]
    return get_process_threads_for_core(core, executable, native_mode=NativeReportingMode.ALL, locals=False)


def _memory(arguments: list[str]) -> Callable[[int, int], bytes]:
    """Reads what stands at an address, as far as it can be had; nothing is opened before it is asked for."""

    def of_process(address: int, size: int) -> bytes:
        try:
            with open(f"/proc/{arguments[1]}/mem", "rb", buffering=0) as memory:
                return os.pread(memory.fileno(), size, address)
        except (OSError, OverflowError):
            return b""

    def of_core(address: int, size: int) -> bytes:
        from triage.stacks.core_file import NotACore, read_core

        try:
            cores.extend([] if cores else [read_core(arguments[1])])
            return bytes(cores[0].memory(address, size))
        except (OSError, NotACore):
            return b""

    cores: list[Any] = []
    return of_process if arguments[0] == "process" else of_core


def _thread(thread: Any, python: list[Any]) -> dict[str, Any]:
    native = [[f.address, f.symbol, f.library, f.path, f.linenumber] for f in thread.native_frames]
    return {
        "tid": thread.tid,
        "name": thread.name or "",
        "version": list(thread.python_version or ()),
        "python": _ends(python),
        "native": _ends(native[::-1]),
    }


def _ends(frames: list[Any]) -> dict[str, Any]:
    """The frames, innermost first; of very many both ends, and how many are left out between them."""
    left_out = len(frames) - _INNERMOST - OUTERMOST
    if left_out <= 0:
        return {"frames": frames, "left_out": 0}
    return {"frames": frames[:_INNERMOST] + frames[-OUTERMOST:], "left_out": left_out}


if __name__ == "__main__":
    main(sys.argv[1:])
