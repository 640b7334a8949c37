"""The dump is read at once, where the DLLs are, and its frames are stored beside it for whoever reads it elsewhere."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from triage.capture.windows.dumps import frames_of
from triage.crash import Crash, Thread

SCHEMA = "triage.frames/1"


def read_at_once(dump: Path, number: int) -> Crash:
    """The facts of a dump, read on the machine that crashed; raises Unreadable. Its frames are stored beside it."""
    from triage.readers import Source, read

    crash = read(Source.of(str(dump)), number)
    with suppress(OSError):
        _store(dump, crash.threads)
    return crash


def _store(dump: Path, threads: tuple[Thread, ...]) -> None:
    told = [thread for thread in threads if thread.native_stack]
    if not told:
        return
    frames = [
        {
            "thread": thread.name,
            "crashed": thread.crashed,
            "frames": [
                {"module": frame.module, "function": frame.function, "offset": frame.offset, "trust": frame.trust}
                for frame in thread.native_stack
            ],
        }
        for thread in told
    ]
    target = frames_of(dump)
    part = target.with_name(target.name + ".part")
    part.write_text(json.dumps({"schema": SCHEMA, "dump": dump.name, "threads": frames}, indent=1), "utf-8")
    os.replace(part, target)
