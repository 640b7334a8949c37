"""What a clue kind must offer, and the types that it is given and returns.

Neither this module nor those of the kinds postpone annotations: a named tuple would compile each of them again on
import, and every command imports these.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from triage.crash import Observable

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.findings import Finding
    from triage.clues.syntax import Written

# What a clue looks for: the named tuple of its kind.
Sought = tuple[Any, ...]
# Where something is in a signature.
Path = tuple[str | int, ...]
# Where something is in the logs: the input's number and the offset in it.
At = tuple[int, int]
BEGINNING: At = (-1, -1)
# What lint says about a clue: where inside it, what is wrong, and what to write instead.
Complaint = tuple[tuple[str, ...], str, str]

# What a field of a clue holds: one of these, or one of the words of a tuple.
Holds = Literal["text", "texts", "statuses", "subcodes", "whole", "true", "yes or no", "ranges"] | tuple[str, ...]
# How to get what could not be seen.
Way = Literal["say the exit code", "read the kernel log", "list the packages", "run again", "run again with log"]


class SignatureError(ValueError):
    """A signature that cannot be used: `path` says where in the file, `instead` what to write."""

    def __init__(self, path: Path, what: str, instead: str = "") -> None:
        super().__init__(what)
        self.path, self.what, self.instead = path, what, instead


class Request(NamedTuple):
    """What must be visible before a clue can be looked for, and how to get it."""

    what: Observable
    way: Way
    of_a_crash: bool = False
    """Whether only a crash has it: nobody is asked for it if all that happened is a Python exception."""


class Field(NamedTuple):
    """A field of a clue that is written as a mapping: what it holds, and what that means, for editors."""

    holds: Holds
    means: str


class Clue(NamedTuple):
    """One thing to look for, and what it means to find it."""

    id: str
    kind: str
    sought: Sought
    p: float
    b: float
    says: str | None
    consequence_of: tuple[str, ...]

    @property
    def inner(self) -> tuple["Clue", ...]:
        """The clues inside a combinator; a clue of another kind has no such field."""
        clues: tuple[Clue, ...] = getattr(self.sought, "clues", ())
        return clues


class Kind:
    """A clue kind. Its module is named as signatures write it and ends with `KIND`, its only instance.

    The module's docstring is its line in CONTRIBUTING.md: a sentence `Looks at …`, then YAML examples, one per line.
    """

    form: type[Sought]
    """What its clues look for, as plain data: a named tuple, because the built index is Python source."""

    background: float
    """How often it is seen in crashes with other causes, if the signature does not say."""

    request: Request | None = None
    """What is missing where it cannot be looked for; None for a combinator, which needs what its clues need."""

    patterns: tuple[str, ...] = ()
    """The fields of its form that hold a regular expression, or None."""

    fields: Mapping[str, Field] = {}
    """Its fields, where it is written as a mapping. `make schema` makes them known to editors."""

    short: Holds | None = None
    """What may be written instead of a mapping; None if it must be one."""

    needs: Mapping[str, Any] = {}
    """Further conditions on the mapping, as JSON Schema."""

    fills: tuple[str, ...] = ()
    """The placeholders of a fix that its hits may fill, besides the named groups of patterns."""

    least_inner = 0
    """The least number of clues in a combinator; 0 for all other kinds."""

    often_unknown = False
    """Whether most inputs do not show it, so that this proves nothing about other wordings of the same thing."""

    is_setting = False
    """Whether it shows where a failure happened and not what failed: by itself it is no reason for an answer."""

    of_a_thread = False
    """Whether it can be looked for in a single thread."""

    def parse(self, written: "Written") -> Sought:
        """Read what a signature looks for; raises SignatureError that says what is wrong and where."""
        raise NotImplementedError

    def find(self, sought: Any, facts: "Facts", after: At) -> "Finding":
        """Look for it; in a log, for the first match after `after`."""
        raise NotImplementedError

    def request_in(self, facts: "Facts") -> Request | None:
        """What is missing in these facts where a clue of this kind could not be looked for."""
        return self.request

    def background_of(self, sought: Any) -> float:
        """How often this very clue is seen in crashes with other causes."""
        return self.background

    def complaints(self, sought: Any) -> Iterator[Complaint]:
        """What lint finds wrong that parsing does not notice, apart from patterns."""
        return iter(())


Kinds = Mapping[str, Kind]
