"""The dump is read at once, where the DLLs are, and its frames are stored beside it for whoever reads it elsewhere."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from triage.crash import Crash
from triage.readers import Source, read


def read_at_once(dump: Path, number: int) -> Crash:
    """The facts of a dump, read on the machine that crashed; raises Unreadable. Its frames are stored beside it."""
    from triage.readers.minidump.stored_frames import store

    crash = read(Source.of(str(dump)), number)
    with suppress(OSError):
        store(dump, crash.threads)
    return crash
