"""One short text that two crashes of the same kind share: the distinctive frames of the stack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from triage.crash import Crash, NativeFrame, Thread, base_name
from triage.frames import distinctive, library_name, name_of

_FRAMES = 3


def stack_key(crash: Crash) -> str:
    """The key of the crashed thread's stack, native frames first; empty only when there is no stack at all."""
    stacks = [thread for thread in crash.threads if thread.native_stack or thread.python_stack]
    for thread in sorted(stacks, key=lambda thread: (not thread.crashed, not thread.native_stack)):
        return _key(thread)
    for error in reversed(crash.exceptions):
        if error.frames:
            return " < ".join(f"{base_name(f.file)}:{f.function}" for f in error.frames[:_FRAMES])
    return ""


def _key(thread: Thread) -> str:
    if thread.native_stack:
        # A recursion is one frame that repeats, however deep it went.
        return " < ".join([name for name, _ in groupby(_names(distinctive(thread.native_stack)))][:_FRAMES])
    return " < ".join(f"{base_name(f.file)}:{f.function}" for f in thread.python_stack[:_FRAMES])


def _names(frames: Sequence[NativeFrame]) -> list[str]:
    """The names; of a library that is stripped its name alone, where others tell enough: gdb prints no offset."""
    if not any(frame.function for frame in frames):
        return [name_of(frame) for frame in frames]
    return [name_of(frame) if frame.function else library_name(frame) for frame in frames]
