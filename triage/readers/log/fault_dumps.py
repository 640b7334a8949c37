"""faulthandler's dump: which signal, and every thread's Python stack."""

from __future__ import annotations

from typing import NamedTuple

from triage import digits, status
from triage.crash import ExitStatus, Log, Place, PythonFrame, Thread
from triage.patterns import compile as pattern

_FATAL = r"Fatal Python error: (?:.*: )?(.+)$"
_THREAD = r"^\s*(Current thread|Thread) (0x[0-9a-fA-F]+)(?: \[(.*?)\])? .*\(most recent call first\)"
_FRAME = r'^\s*File "(.*)", line (\d+|\?\?\?) in (.+)$'
_WORDS = r"Segmentation fault|Aborted|Floating[ -]point exception|Illegal instruction|Bus error"
_LONGEST_LINE = 4096


class FaultDump(NamedTuple):
    """What faulthandler told: the signal as a status, and the threads."""

    exit: ExitStatus | None
    threads: tuple[Thread, ...]


def fatal_signal(line: str, place: Place | None = None) -> ExitStatus | None:
    """The signal that a dump's first line names, as a status."""
    fatal = pattern(_FATAL).search(line)
    words = pattern(_WORDS).search(fatal[1]) if fatal else None
    return status.from_words(words[0], place=place) if words else None


def extract(log: Log) -> FaultDump:
    """The fatal error and the thread stacks of a faulthandler dump, if the log has one."""
    if "most recent call first" not in log.text and "Fatal Python error" not in log.text:
        return FaultDump(None, ())
    exit_status: ExitStatus | None = None
    threads: list[Thread] = []
    frames: list[PythonFrame] | None = None
    open_thread: tuple[str, bool, Place] | None = None

    def close() -> None:
        nonlocal open_thread, frames
        if open_thread is not None:
            name, crashed, place = open_thread
            threads.append(Thread(name, crashed, tuple(frames or ()), place=place))
        open_thread = frames = None

    for offset, line in log.lines():
        if len(line) > _LONGEST_LINE:
            close()
        elif "Fatal Python error: " in line:
            exit_status = fatal_signal(line, log.place(offset)) or exit_status
        elif head := pattern(_THREAD).match(line):
            close()
            open_thread = (head[3] or head[2], head[1] == "Current thread", log.place(offset))
            frames = []
        elif frames is not None:
            if frame := pattern(_FRAME).match(line):
                frames.append(PythonFrame(frame[1], digits.whole(frame[2]), frame[3]))
            elif line.strip() not in ("", "...", "<no Python frame>", "Garbage-collecting"):
                close()
    close()
    return FaultDump(exit_status, tuple(threads))
