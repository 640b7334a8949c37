"""The native stack that TensorFlow prints itself when a CHECK fails (absl's symbolised trace)."""

from __future__ import annotations

from triage.crash import Log, NativeFrame, Place, Thread
from triage.patterns import compile as pattern

_FRAME = r"^\s*@\s+0x[0-9a-fA-F]+\s+(.+)$"
_LONGEST_LINE = 16 * 1024


def extract(log: Log) -> tuple[Thread, ...]:
    """One crashed thread for each printed trace, innermost frame first."""
    if "@ " not in log.text:
        return ()
    threads: list[Thread] = []
    frames: list[NativeFrame] = []
    began: Place | None = None
    for offset, line in log.lines():
        match = pattern(_FRAME).match(line) if "@" in line and len(line) <= _LONGEST_LINE else None
        if match:
            began = began or log.place(offset)
            function = match[1].strip()
            frames.append(NativeFrame(None, None if function == "(unknown)" else function))
        elif frames:
            threads.append(Thread("", True, native_stack=tuple(frames), place=began))
            frames, began = [], None
    if frames:
        threads.append(Thread("", True, native_stack=tuple(frames), place=began))
    return tuple(threads)
