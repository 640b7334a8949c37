r"""Looks at Python frames of the crashed thread or the exception.

python: {file: 'ctypes/__init__\.py', within: 2}
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, fits
from triage.clues.interface import At, Field, Kind, Request
from triage.clues.native import often_enough
from triage.frames import is_own
from triage.phrases import Phrase, quote

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class PythonSeen(NamedTuple):
    """A Python frame of the crashed thread or of the exception, with the same fields as a native one."""

    file: str | None
    function: str | None
    within: int | None
    repeated: int | None = None
    own: bool = False


class PythonKind(Kind):
    """Where in the program it was."""

    form = PythonSeen
    background = 0.02
    request = Request("python stack", "run again")
    patterns = ("file", "function")
    fields: Mapping[str, Field] = {
        "file": Field("text", "A pattern over the file of the frame."),
        "function": Field("text", "A pattern over the frame's function."),
        "within": Field("whole", "Only among this many frames, counted from the innermost one."),
        "repeated": Field("whole", "One function is this many times in the stack."),
        "own": Field("true", "The frame belongs to the person's own code."),
    }
    of_a_thread = True

    def parse(self, written: "Written") -> PythonSeen:
        fields = written.fields(*self.fields)
        return PythonSeen(
            fields.text("file"),
            fields.text("function"),
            fields.whole("within"),
            fields.whole("repeated"),
            fields.asked_for("own"),
        )

    def find(self, sought: PythonSeen, facts: "Facts", after: At) -> Finding:
        stacks = [(thread.place, thread.python_stack) for thread in facts.relevant_threads]
        stacks += [(error.place, error.frames) for error in facts.crash.exceptions]
        seen = [(place, frames) for place, frames in stacks if frames]
        for place, frames in seen:
            fitting = [
                f"{frame.file}:{frame.line} in {frame.function}"
                for frame in frames[: sought.within]
                if fits(sought.file, frame.file.replace("\\", "/"))
                and fits(sought.function, frame.function)
                and (is_own(frame) or not sought.own)
            ]
            if name := often_enough(fitting, sought.repeated):
                return Hit(place, Phrase.of("Python frame ", quote(name)))
        return ABSENT if seen else UNSEEN


KIND = PythonKind()
