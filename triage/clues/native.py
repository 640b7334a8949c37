r"""Looks at native frames of the crashed thread, or of every thread if the program hung.

native: {function: 'Mkl\w+Op', within: 12}
native: {own: true, within: 2}  # a library of the person's own
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, fits
from triage.clues.interface import At, Field, Kind, Request
from triage.frames import name_of

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class NativeSeen(NamedTuple):
    """A native frame by function and module; `within` counts frames from the innermost one.

    `repeated` is how often one function must be in the stack, `own` asks for a library of the person's own.
    """

    function: str | None
    module: str | None
    within: int | None
    repeated: int | None = None
    own: bool = False


class NativeKind(Kind):
    """Where in native code it was."""

    form = NativeSeen
    background = 0.01
    request = Request("native stack", "run again", of_a_crash=True)
    patterns = ("function", "module")
    fields: Mapping[str, Field] = {
        "function": Field("text", "A pattern over the frame's function."),
        "module": Field("text", "A pattern over the library of the frame."),
        "within": Field("whole", "Only among this many frames, counted from the innermost one."),
        "repeated": Field("whole", "One function is this many times in the stack."),
        "own": Field("true", "The frame belongs to the person's own code."),
    }
    short = "text"
    of_a_thread = True

    def parse(self, written: "Written") -> NativeSeen:
        if isinstance(written.value, str):
            return NativeSeen(written.text(), None, None)
        fields = written.fields(*self.fields)
        return NativeSeen(
            fields.text("function"),
            fields.text("module"),
            fields.whole("within"),
            fields.whole("repeated"),
            fields.asked_for("own"),
        )

    def find(self, sought: NativeSeen, facts: "Facts", after: At) -> Finding:
        stacks = [thread for thread in facts.relevant_threads if thread.native_stack]
        for thread in stacks:
            fitting = [
                name_of(frame)
                for frame in thread.native_stack[: sought.within]
                if fits(sought.function, frame.function)
                and fits(sought.module, frame.module)
                and (frame.own or not sought.own)
            ]
            if name := often_enough(fitting, sought.repeated):
                return Hit(thread.place, f"native frame {name}")
        return ABSENT if stacks else UNSEEN


def often_enough(frames: list[str], times: int | None) -> str | None:
    """The first frame, or the first that is there this many times."""
    return next((frame for frame in frames if frames.count(frame) >= (times or 1)), None)


KIND = NativeKind()
