"""The Report and its parts: what a diagnosis is, however it is printed."""

from typing import Final, Literal, NamedTuple

from triage.crash import Command, Crash, Grade, Harm, Observable, Place, Risk

Verdict = Literal["diagnosed", "uncertain", "unknown", "no-crash"]
DIAGNOSED: Final = "diagnosed"
UNCERTAIN: Final = "uncertain"
UNKNOWN: Final = "unknown"
NO_CRASH: Final = "no-crash"


# What the answer to a question would show: evidence that a clue needs, or the log that was hidden while triage ran it.
EvidenceKind = Literal[Observable, "hidden log"]


# Did anything die? `not-told` is an answer of its own: nothing shows how it ended.
End = Literal["died", "hung", "lived", "not-told"]
# What the answer rests on. Of a death: a status, an uncaught exception, a crashed thread, a fatal line, a kill for
# memory, the last words of a runtime or a sanitizer, words of a launcher or a person. Of a hang: a timeout, words.
# Of life: exit code 0, a line that only a living program prints, nothing but lines that are explained; or that somebody
# stopped a healthy program. Of neither: a line that may tell what went wrong.
Sign = Literal[
    "failing status",
    "exception",
    "crashed thread",
    "fatal line",
    "killed for memory",
    "last words",
    "sanitizer",
    "launcher",
    "person",
    "timeout",
    "hang",
    "exit 0",
    "sign of life",
    "only notices",
    "stopped by hand",
    "word of failure",
    "part not read",
]


class Ground(NamedTuple):
    """One thing that an outcome rests on, and where it was read."""

    sign: Sign
    place: Place | None = None


class Outcome(NamedTuple):
    """Whether anything died, decided once after merging, before any cause is weighed."""

    end: End
    because: tuple[Ground, ...] = ()


class SeenNotice(NamedTuple):
    """A frightening line of the input that ends nothing, explained; equal ones are folded.

    `text` is the first such line (a Phrase), `times` how often it is there. `becomes` is the cause for which the same
    line would be the root.
    """

    id: str
    text: str
    place: Place | None
    times: int
    who: str
    means: str
    harm: Harm
    cost: str
    silence: str
    becomes: str | None = None


class Evidence(NamedTuple):
    """One reason for or against a cause: what was seen, where, and how much it weighs (natural log units).

    The text is a Phrase where it quotes the input.
    """

    text: str
    place: Place | None
    weight: float


class FixStep(NamedTuple):
    """One thing to do, its command if it has one, what it risks, how to check that it helped, and what to do if not.

    `do`, `run` and `verify` are Phrases where they quote the input. `is_general`: nothing of this crash could be
    filled in, so it says what holds for everybody. `is_about_exception`: it says what the exception itself asks for.
    """

    do: str
    run: str | None
    risk: Risk
    verify: str
    if_not: str | None = None
    is_general: bool = False
    is_about_exception: bool = False


class Diagnosis(NamedTuple):
    """One cause with its confidence and its reasons."""

    rank: int
    cause: str
    signature: str
    title: str
    confidence: float
    because: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    fix: tuple[FixStep, ...]
    grade: Grade
    sources: tuple[str, ...]


class RuledOut(NamedTuple):
    """A cause that one would suspect here, and why it is not that (a Phrase where it quotes the input)."""

    cause: str
    because: str


class Question(NamedTuple):
    """What to find out next, the command that finds it out, and which causes the answer separates.

    `answers` is the evidence that it brings.
    """

    ask: str
    run: Command | None
    would_separate: tuple[str, ...]
    answers: EvidenceKind | None = None


class Reliability(NamedTuple):
    """Of `cases` answers as sure as this one, on reports that nobody had read before, `right` were right.

    `measured` is the day and `commit` the version of that measurement.
    """

    least: float
    cases: int
    right: int
    measured: str
    commit: str


class NearMiss(NamedTuple):
    """A signature that came close: which of its clues were seen, and which were absent or could not be looked for."""

    signature: str
    cause: str
    seen: tuple[str, ...]
    missing: tuple[str, ...]


class RefutedClaim(NamedTuple):
    """A false claim that one may have read about such a crash, and in one line why it is not that."""

    claim: int
    document: str | None
    text: str


class Report(NamedTuple):
    """The whole answer for one incident; `topic` is the page of `triage explain` to read next."""

    version: str
    signatures: str
    packs: tuple[str, ...]
    verdict: Verdict
    summary: str
    stack_key: str
    crash: Crash
    diagnoses: tuple[Diagnosis, ...]
    unknown_confidence: float
    ruled_out: tuple[RuledOut, ...]
    not_observable: tuple[str, ...]
    next: tuple[Question, ...]
    topic: str | None = None
    other_crashes: tuple["OtherCrash", ...] = ()
    redactions: tuple[tuple[str, int], ...] = ()
    reliability: Reliability | None = None
    nearest: tuple[NearMiss, ...] = ()
    hearsay: tuple[RefutedClaim, ...] = ()
    outcome: Outcome = Outcome("not-told")
    notices: tuple[SeenNotice, ...] = ()


class OtherCrash(NamedTuple):
    """Another crash in the same inputs, in short."""

    verdict: Verdict
    cause: str | None
    confidence: float
    summary: str
    place: Place | None


class Page(NamedTuple):
    """A page of `triage explain`: a title, sections of (heading, paragraphs), and the next command."""

    title: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    next: Command | None = None
