"""What a clue kind must offer, and what is handed to it and asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.findings import Finding
    from triage.clues.writing import Written

# What a clue looks for: the named tuple of its kind.
Sought = tuple[Any, ...]
S = TypeVar("S", bound=Sought)
# A place among the logs: the input's number and the offset in it.
At = tuple[int, int]
BEGINNING: At = (-1, -1)

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


class Complaint(NamedTuple):
    """What lint says of a clue that can be read: where below the clue it stands, what is wrong, what to write."""

    below: tuple[str, ...]
    what: str
    instead: str


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
    def inner(self) -> tuple[Clue, ...]:
        """The clues inside a combinator; a clue of another kind has no such field."""
        clues: tuple[Clue, ...] = getattr(self.sought, "clues", ())
        return clues


class Kind(Generic[S]):
    """A clue kind. Its module has the name under which signatures write it, and ends with `KIND`, the one of it.

    The module's docstring is its line in CONTRIBUTING.md: a sentence `Looks at …`, then examples as YAML, one a line.
    """

    form: type[S]
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

    of_a_thread = False
    """Whether it can be asked of one thread alone."""

    def parse(self, written: Written) -> S:
        """What a signature looks for; raises SignatureError that says what is wrong and where."""
        raise NotImplementedError

    def find(self, sought: S, facts: Facts, after: At) -> Finding:
        """What there is to find; of what stands in a log the first behind `after`."""
        raise NotImplementedError

    def background_of(self, sought: S) -> float:
        """How often this very clue turns up in a crash with another cause."""
        return self.background

    def complaints(self, sought: S) -> Iterator[Complaint]:
        """What lint has to say that reading it does not notice, patterns left out."""
        return iter(())


Kinds = Mapping[str, Kind[Any]]
