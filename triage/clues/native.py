r"""Looks at frames of the crashed thread, of every thread where it hung.

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
    from triage.clues.writing import Written


class NativeSeen(NamedTuple):
    """A native frame by function and module; `within` counts frames from the innermost one.

    `repeated` asks that one function stands so many times in the stack, `own` that its library is the person's own.
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
        "within": Field("whole", "Only among so many frames from the innermost one."),
        "repeated": Field("whole", "One function stands so many times in the stack."),
        "own": Field("true", "The frame is of the person's own code."),
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
        stacks = [thread for thread in facts.telling_threads if thread.native_stack]
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
    """The first frame, or the first that stands there so many times."""
    return next((frame for frame in frames if frames.count(frame) >= (times or 1)), None)


KIND = NativeKind()
