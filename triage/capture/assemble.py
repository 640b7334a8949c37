"""What is done alike on every system with what a run left behind: its texts, its machine, and what was not read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import NamedTuple

from triage import digits
from triage.capture.faults import Note, is_ours
from triage.crash import (
    Crash,
    Environment,
    Gap,
    Input,
    Library,
    PythonException,
    PythonFrame,
    Thread,
    merge_environment,
)
from triage.readers import Source, Unreadable, read

# From this level on, the lines that name the cause are not printed.
_HIDES_WARNINGS = 2


class Text(NamedTuple):
    """A text that a run left; `pid` is the process whose fault dump it is, None where it is what was printed."""

    name: str
    content: bytes
    pid: int | None = None


def dump_of(pid: int, content: bytes) -> Text:
    """What faulthandler wrote about a process."""
    return Text(f"faulthandler of {pid}", content, pid)


def read_text(text: Text, number: int) -> Crash:
    """The facts of one text; what cannot be read is told as a gap."""
    try:
        return read(Source(text.name, BytesIO(text.content)), number)
    except Unreadable as error:
        return unreadable(text.name, number, error)


def unreadable(name: str, number: int, error: Unreadable) -> Crash:
    """What is known of an input that could not be read."""
    gap = Gap("input", "unreadable", None, name, str(error))
    return Crash(inputs=(Input(number, "unreadable", name, complete=False),), gaps=(gap,))


def environment_of_run(measured: Environment, told: Environment) -> Environment:
    """The machine as we found it, completed by what the output and the dumps tell of it."""
    both = merge_environment([measured, told])
    # A log may call the same cards and libraries by other names: what we measured is not added up with what it says.
    return both._replace(
        cpu_flags=measured.cpu_flags or told.cpu_flags,
        gpus=measured.gpus or told.gpus,
        libraries=measured.libraries or told.libraries,
    )


def hidden_log(note: Note, libraries: Sequence[Library]) -> str | None:
    """What hid TensorFlow's log; nothing where TensorFlow was not even loaded. No libraries: nobody knows which."""
    level = digits.whole(note.log_level)
    if level is None or level < _HIDES_WARNINGS:
        return None
    if libraries and not any("tensorflow" in library.name for library in libraries):
        return None
    return f"TF_CPP_MIN_LOG_LEVEL={note.log_level}, set by the {note.log_level_set_by}"


def without_our_frames(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    """The threads without the frame of the hook that started them."""
    return tuple(thread._replace(python_stack=_theirs(thread.python_stack)) for thread in threads)


def without_ours(exceptions: Iterable[PythonException]) -> tuple[PythonException, ...]:
    """The exceptions without the frame of the hook that started the program."""
    return tuple(error._replace(frames=_theirs(error.frames)) for error in exceptions)


def _theirs(frames: tuple[PythonFrame, ...]) -> tuple[PythonFrame, ...]:
    return tuple(frame for frame in frames if not is_ours(os.path.normpath(frame.file)))


def output_gaps(*, output_is_read: bool, errors_are_read: bool = True) -> tuple[Gap, ...]:
    """Which of the program's streams went where we could not read them."""
    if not errors_are_read:
        return (Gap("standard error", "not-read", detail="it went to a device and was not read"),)
    if not output_is_read:
        detail = "it went elsewhere than standard error, and was not read"
        return (Gap("standard output", "not-read", detail=detail),)
    return ()


def notes_as_gaps(notes: Iterable[str]) -> tuple[Gap, ...]:
    """What the report must say about how the program was started."""
    return tuple(Gap("program", "not-told", detail=note) for note in notes)
