"""What a clue kind must offer, and what is handed to it and asked of it.

Annotations are not postponed here, nor in the modules of the kinds: a named tuple would compile each of them again when
it is imported, and these are imported by every command.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.findings import Finding
    from triage.clues.writing import Written

# What a clue looks for: the named tuple of its kind.
Sought = tuple[Any, ...]
# A place in a signature.
Path = tuple[str | int, ...]
# A place among the logs: the input's number and the offset in it.
At = tuple[int, int]
BEGINNING: At = (-1, -1)
# What lint says of a clue: where below it that stands, what is wrong, and what to write.
Complaint = tuple[tuple[str, ...], str, str]

# What of a crash can be seen, or not.
Observable = Literal[
    "exit status",
    "log",
    "native stack",
    "python stack",
    "fault",
    "loaded libraries",
    "memory figures",
    "process start",
    "machine",
]
# What a field of a clue holds: one of these, or one of the words of a tuple.
Holds = Literal["text", "texts", "statuses", "subcodes", "whole", "true", "yes or no", "ranges"] | tuple[str, ...]
# How what could not be seen can be got.
Way = Literal["say the exit code", "read the kernel log", "list the packages", "run again", "run again with log"]


class SignatureError(ValueError):
    """A signature that cannot be used: `path` says where in the file, `instead` what to write."""

    def __init__(self, path: Path, what: str, instead: str = "") -> None:
        super().__init__(what)
        self.path, self.what, self.instead = path, what, instead


class Request(NamedTuple):
    """What has to be seen before a clue can be looked for, and how to get it."""

    what: Observable
    way: Way
    of_a_crash: bool = False
    """Whether only a crash has it: where all that happened is a Python exception, nobody is asked for it."""


class Field(NamedTuple):
    """A field of a clue that is written as a mapping: what it holds, and what that means, for editors."""

    holds: Holds
    means: str


class Clue(NamedTuple):
    """One thing to look for, and what finding it says."""

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
    """A clue kind. Its module has the name under which signatures write it, and ends with `KIND`, the one of it.

    The module's docstring is its line in CONTRIBUTING.md: a sentence `Looks at …`, then examples as YAML, one a line.
    """

    form: type[Sought]
    """What its clues look for, as plain data: a named tuple, since the built index is made of their source."""

    background: float
    """How often it turns up in a crash with another cause, where a signature does not say."""

    request: Request | None = None
    """What is missing where it cannot be looked for; None for a combinator, which asks for what is inside it."""

    patterns: tuple[str, ...] = ()
    """The fields of its form that hold a regular expression, or None."""

    fields: Mapping[str, Field] = {}
    """Its fields, where it is written as a mapping. `make schema` tells them to editors."""

    short: Holds | None = None
    """What is written where there is no mapping; None where there always is one."""

    needs: Mapping[str, Any] = {}
    """What a mapping must have besides, as JSON Schema says it."""

    least_inner = 0
    """How many clues a combinator needs; 0 for all other kinds."""

    seldom_told = False
    """Whether inputs are mostly silent about it, so that among several wordings this silence proves nothing."""

    is_setting = False
    """Whether it tells where a failure happened and not what failed: by itself it is no reason for an answer."""

    of_a_thread = False
    """Whether it can be asked of one thread alone."""

    def parse(self, written: "Written") -> Sought:
        """What a signature looks for; raises SignatureError that says what is wrong and where."""
        raise NotImplementedError

    def find(self, sought: Any, facts: "Facts", after: At) -> "Finding":
        """What there is to find; of what stands in a log the first behind `after`."""
        raise NotImplementedError

    def background_of(self, sought: Any) -> float:
        """How often this very clue turns up in a crash with another cause."""
        return self.background

    def complaints(self, sought: Any) -> Iterator[Complaint]:
        """What lint has to say that reading it does not notice, patterns left out."""
        return iter(())


Kinds = Mapping[str, Kind]
