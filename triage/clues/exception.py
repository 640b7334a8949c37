"""Looks at Python exceptions.

exception: {type: 'MemoryError$', message: 'Unable to allocate'}
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from triage import patterns
from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit, caught
from triage.clues.interface import At, Field, Kind
from triage.clues.log import LOG_REQUEST
from triage.phrases import quote

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written


class ExceptionSeen(NamedTuple):
    """A Python exception by type and message."""

    type: str | None
    message: str | None


class ExceptionKind(Kind):
    """What was raised."""

    form = ExceptionSeen
    background = 0.01
    request = LOG_REQUEST
    patterns = ("type", "message")
    fields: Mapping[str, Field] = {
        "type": Field("text", "A pattern over the exception's type, with its module."),
        "message": Field("text", "A pattern over the exception's message."),
    }
    short = "text"

    def parse(self, written: "Written") -> ExceptionSeen:
        if isinstance(written.value, str):
            return ExceptionSeen(written.text(), None)
        fields = written.fields(*self.fields)
        return ExceptionSeen(fields.text("type"), fields.text("message"))

    def find(self, sought: ExceptionSeen, facts: "Facts", after: At) -> Finding:
        for error in facts.crash.exceptions:
            at = (error.place.input if error.place else 0, error.offset)
            if at <= after or (sought.type and not patterns.compile(sought.type).search(error.type)):
                continue
            values: dict[str, str] = {}
            if sought.message:
                match = patterns.compile(sought.message).search(error.message)
                if match is None:
                    continue
                values = caught(match)
            message = error.message.splitlines()[0] if error.message else ""
            return Hit(error.place, quote(f"{error.short_type}: {message}"), at, values)
        return ABSENT if facts.log_is_whole else UNSEEN


KIND = ExceptionKind()
