"""Looks at how the process ended.

exit: [SIGSEGV, '0xC0000005']
exit: {status: '0xC0000409', subcode: [7, untold]}
exit: timeout  # it hung
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from triage import status
from triage.clues.findings import ABSENT, UNSEEN, Finding, Hit
from triage.clues.interface import At, Complaint, Field, Kind, Request

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written

# A segmentation fault says little, an illegal instruction a lot.
BACKGROUND = {
    "SIGSEGV": 0.25,
    "SIGABRT": 0.2,
    "SIGKILL": 0.06,
    "SIGILL": 0.02,
    "SIGFPE": 0.006,
    "SIGBUS": 0.02,
    "0xC0000409": 0.06,
    "0xC0000005": 0.05,
    "0xC000001D": 0.005,
}
_RARE, _MOST = 0.02, 0.9
# An exit status is the last thing that happens, wherever it is in a paste.
_END = (1 << 30, 0)


class ExitSeen(NamedTuple):
    """One of several exit statuses, by name (SIGSEGV, 0xC0000409, exit 1), perhaps with one of several subcodes.

    A subcode of None asks for a status whose subcode is unknown.
    """

    statuses: tuple[str, ...]
    subcodes: tuple[int | None, ...] = ()


class ExitKind(Kind):
    """How it ended."""

    form = ExitSeen
    background = 0.12
    request = Request("exit status", "say the exit code")
    fields: Mapping[str, Field] = {
        "status": Field("statuses", "How it ended: SIGSEGV, '0xC0000409', 'exit 1' or timeout; one or a list."),
        "subcode": Field("subcodes", "Fast-fail subcodes: numbers, or untold where it is unknown."),
    }
    short = "statuses"
    needs: Mapping[str, Any] = {"required": ["status"]}
    often_unknown = True

    def parse(self, written: "Written") -> ExitSeen:
        if not isinstance(written.value, Mapping):
            return ExitSeen(written.texts())
        fields = written.fields(*self.fields)
        if "status" not in fields:
            raise written.refused("an exit clue names a status", "{status: '0xC0000409', subcode: 7}")
        return ExitSeen(fields["status"].texts(), _subcodes(fields["subcode"]) if "subcode" in fields else ())

    def find(self, sought: ExitSeen, facts: "Facts", after: At) -> Finding:
        ended = facts.crash.exit
        if ended is None:
            hang = next((message for message in facts.crash.messages if message.kind == "hang"), None)
            if hang is None or "timeout" not in sought.statuses:
                return UNSEEN
            return Hit(hang.place, "it is said to stand still", _END, is_exit=True)
        names = {ended.name, ended.signal, f"exit {ended.code}"}
        if ended.ntstatus is not None:
            names.add(f"0x{ended.ntstatus:08X}")
        if not names.intersection(sought.statuses):
            return ABSENT
        if sought.subcodes and ended.subcode not in sought.subcodes:
            return UNSEEN if ended.subcode is None else ABSENT
        return Hit(ended.place, f"the process ended with {ended.label}", _END, is_exit=True)

    def request_in(self, facts: "Facts") -> Request | None:
        # A status is known whose subcode is not: nobody can say that from memory.
        return None if facts.crash.exit is not None else self.request

    def background_of(self, sought: ExitSeen) -> float:
        return min(_MOST, sum(BACKGROUND.get(name, _RARE) for name in sought.statuses))

    def complaints(self, sought: ExitSeen) -> Iterator[Complaint]:
        for name in sought.statuses:
            if not re.fullmatch(r"exit -?\d+|timeout", name) and _canonical(name) != name:
                what = f"unknown exit status '{name}'"
                yield ("exit",), what, "SIGSEGV, '0xC0000409', 'exit 1' or timeout"


def _subcodes(written: "Written") -> tuple[int | None, ...]:
    """Fast-fail subcodes: a number, or a list of numbers and the word untold."""
    values = written.value if isinstance(written.value, list) else [written.value]
    return tuple(None if one == "untold" else written._replace(value=one).whole() for one in values)


def _canonical(name: str) -> str | None:
    """The spelling of an exit status that a clue must use."""
    known = status.parse(name)
    if known is None:
        return None
    return f"0x{known.ntstatus:08X}" if known.ntstatus is not None else known.signal


KIND = ExitKind()
