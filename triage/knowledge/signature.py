"""The signature model: one way in which a cause shows, as its YAML file has it."""

from collections.abc import Container, Mapping
from typing import Any, Literal, NamedTuple, get_args

from triage import crash
from triage.clues import parse_clue
from triage.clues.interface import Clue, SignatureError
from triage.clues.versions import in_range, range_complaints
from triage.crash import LANGUAGES, CardMaker, Framework, Grade, Language, Risk
from triage.ranges import is_possible

GRADES: tuple[Grade, ...] = get_args(Grade)
RISKS: tuple[Risk, ...] = get_args(Risk)
SYSTEMS = ("linux", "windows", "macos")
# `any`: whoever's program it is, the clues themselves show that it happened.
ANY: Literal["any"] = "any"
FRAMEWORKS: tuple[Framework | Literal["any"], ...] = (*crash.FRAMEWORKS, ANY)
# What an answer says: why it failed, or only which program reports the error.
Tells = Literal["why", "whose"]
TELLS: tuple[Tells, ...] = get_args(Tells)
# Causes that are a framework's own defect or interface: where they show is seldom telling by itself.
_OF_FRAMEWORKS = ("native.tf-bug", "native.check-failed", "native.custom-op-", "api.", "shape.", "dtype.")
RUN_FIELDS = (*SYSTEMS, "default", "otherwise")
FIX_FIELDS = ("do", "for", "unless", "otherwise", "run", "risk", "verify", "if_not", "look_first")
AUDIENCE_FIELDS = ("framework", "versions", "os", "card", "processor", "own_code", "seen", "language")
CARDS: tuple[CardMaker, ...] = get_args(CardMaker)
Processor = Literal["x86", "arm"]
PROCESSORS: tuple[Processor, ...] = get_args(Processor)
REQUIRED = ("title", "cause", "grade", "clues", "fix", "sources", "tests")
FIELDS = (*REQUIRED, "applies", "tells", "against", "confirm", "note")


class Person(NamedTuple):
    """What is known of the person with the crash; None where it is not.

    `within` is a range in which the version is, where the text shows no more than that. Where nothing shows the card
    and the processor, they are what most people have.
    """

    framework: Framework | None
    version: str | None
    os: str | None
    own_code: bool | None
    card: CardMaker = "nvidia"
    processor: Processor = "x86"
    language: Language | None = None
    within: str | None = None


class Audience(NamedTuple):
    """For whom a step holds: everything named must fit this person.

    `versions` is a range of the framework's version; `own_code` whether the person's own code was where it failed;
    `seen` a clue of the same signature, or a wording of one, that was found.
    """

    frameworks: tuple[Framework, ...] = ()
    versions: str | None = None
    os: tuple[str, ...] = ()
    own_code: bool | None = None
    seen: str | None = None
    card: CardMaker | None = None
    processor: Processor | None = None
    languages: tuple[Language, ...] = ()

    def holds_for(self, person: Person, seen: Container[str]) -> bool:
        """Whether a step is for this person; `seen` are the ids of the clues that were found.

        An unknown version or system rules nothing out; a framework must be shown, because most programs have none, and
        so must a language, because most are in Python.
        """
        if self.languages and person.language not in self.languages:
            return False
        if self.frameworks and person.framework not in self.frameworks:
            return False
        if self.versions and person.version is not None and not in_range(person.version, self.versions):
            return False
        if self.versions and person.version is None and person.within and not is_possible(person.within, self.versions):
            return False
        if self.os and person.os and person.os not in self.os:
            return False
        if self.own_code is not None and person.own_code is not None and self.own_code != person.own_code:
            return False
        if self.card not in (None, person.card) or self.processor not in (None, person.processor):
            return False
        return self.seen is None or self.seen in seen


EVERYBODY = Audience()


class Fix(NamedTuple):
    """A step as written. `do` may hold {placeholders}; `otherwise` is the text for when they cannot be filled.

    `run` has a command per system, `default` for systems without their own, and `otherwise` without placeholders for
    when they cannot be filled. `if_not` says what it means if the step did not help. `look_first` is the reason why
    nothing can be done before somebody has looked, for a first step that only looks. Those of `unless` get another step
    in its place.
    """

    do: str
    otherwise: str | None
    run: Mapping[str, str]
    risk: Risk
    verify: str
    if_not: str | None = None
    audience: Audience = EVERYBODY
    look_first: str | None = None
    unless: tuple[Audience, ...] = ()

    def holds_for(self, person: Person, seen: Container[str]) -> bool:
        """Whether this person is to be told this step; `seen` are the ids of the clues that were found."""
        if any(one.holds_for(person, seen) for one in self.unless):
            return False
        return self.audience.holds_for(person, seen)


class ExampleLog(NamedTuple):
    """A log that the signature is tested on, with its exit status and the cause expected there.

    `live`: not a log but a crasher, for clues that only a live run shows.
    """

    log: str
    exit: str | None
    cause: str | None
    live: bool = False


class Signature(NamedTuple):
    """One way in which a cause shows.

    `framework` is whose it is; None is the machine's or the installation's, which all frameworks share. `tells` is what
    an answer by it says: why the program failed, or only whose error it is.
    """

    id: str
    pack: str
    title: str
    cause: str
    grade: Grade
    os: tuple[str, ...]
    framework: Framework | Literal["any"] | None
    tells: Tells
    clues: tuple[Clue, ...]
    against: tuple[Clue, ...]
    fix: tuple[Fix, ...]
    confirm: tuple[str, ...]
    sources: tuple[Mapping[str, Any], ...]
    note: str | None
    matches: tuple[ExampleLog, ...]
    differs: tuple[ExampleLog, ...]


def parse_signature(id: str, pack: str, data: Any) -> Signature:
    """A signature from its YAML form; raises SignatureError that says what is wrong, where, and what to write."""
    if not isinstance(data, Mapping):
        raise SignatureError((), "a signature is a mapping", "title, cause, grade, clues, fix, sources, tests")
    for key in data:
        if key not in FIELDS:
            raise SignatureError((key,), f"unknown field '{key}'", "one of " + ", ".join(sorted(FIELDS)))
    for key in REQUIRED:
        if not data.get(key):
            raise SignatureError((), f"'{key}' is missing", f"add {key}: …")
    if data["grade"] not in GRADES:
        raise SignatureError(("grade",), f"unknown grade {data['grade']!r}", "one of " + ", ".join(GRADES))
    if data["grade"] == "refuted" and not data.get("note"):
        raise SignatureError(("grade",), "a refuted claim says why", "note: what really happens")
    tests = data["tests"] if isinstance(data["tests"], Mapping) else {}
    lists = {key: data.get(key) or [] for key in ("clues", "against", "fix", "sources", "confirm")}
    lists |= {f"tests: {key}": tests.get(key) or [] for key in ("match", "differ")}
    for key, value in lists.items():
        if not isinstance(value, list):
            path = tuple(key.split(": "))
            raise SignatureError(path, f"'{path[-1]}' is a list", "one entry a line, each behind a dash")
    for number, source in enumerate(data["sources"]):
        if not isinstance(source, Mapping):
            raise SignatureError(("sources", number), "a source is a mapping", "{issue: OWNER/REPOSITORY#1}")
    return Signature(
        id=id,
        pack=pack,
        title=str(data["title"]),
        cause=str(data["cause"]),
        grade=data["grade"],
        os=_os(data.get("applies") or {}),
        framework=_framework(data.get("applies") or {}),
        tells=_tells(data.get("tells", "why")),
        clues=tuple(parse_clue(one, ("clues", i), p=0.8) for i, one in enumerate(data["clues"])),
        against=tuple(
            parse_clue(one, ("against", i), p=0.05, b=0.5) for i, one in enumerate(data.get("against") or ())
        ),
        fix=tuple(_fix(one, ("fix", i)) for i, one in enumerate(data["fix"])),
        confirm=tuple(data.get("confirm") or ()),
        sources=tuple(data["sources"]),
        note=data.get("note"),
        matches=tuple(_test(one, ("tests", "match", i)) for i, one in enumerate(tests.get("match") or ())),
        differs=tuple(_test(one, ("tests", "differ", i)) for i, one in enumerate(tests.get("differ") or ())),
    )


def _os(applies: Any) -> tuple[str, ...]:
    if not isinstance(applies, Mapping) or set(applies) - {"os", "device", "framework"}:
        instead = "{os: [linux, windows], device: cpu, framework: tensorflow}"
        raise SignatureError(("applies",), "'applies' holds os, device and framework", instead)
    systems = applies.get("os", [])
    return tuple(systems) if isinstance(systems, list) else (str(systems),)


def _framework(applies: Mapping[str, Any]) -> Framework | Literal["any"] | None:
    name = applies.get("framework")
    if name is not None and name not in FRAMEWORKS:
        raise SignatureError(("applies", "framework"), f"unknown framework {name!r}", "one of " + ", ".join(FRAMEWORKS))
    return next((known for known in FRAMEWORKS if known == name), None)


def _tells(data: Any) -> Tells:
    for known in TELLS:
        if data == known:
            return known
    raise SignatureError(("tells",), f"unknown word {data!r}", "tells: " + " or ".join(TELLS))


def is_of_frameworks(cause: str) -> bool:
    """Whether a cause is a framework's own defect or interface, so that each of its signatures says whose."""
    return cause.startswith(_OF_FRAMEWORKS)


def _fix(data: Any, path: tuple[str | int, ...]) -> Fix:
    if not isinstance(data, Mapping) or not data.get("do"):
        raise SignatureError(path, "a fix says what to do", "{do: …, risk: low, verify: …}")
    for key in data:
        if key not in FIX_FIELDS:
            raise SignatureError((*path, key), f"unknown field '{key}'", ", ".join(FIX_FIELDS))
    if not data.get("verify"):
        raise SignatureError(path, "a fix without 'verify'", "verify: how the person sees that it helped")
    if data.get("risk", "low") not in RISKS:
        raise SignatureError((*path, "risk"), f"unknown risk {data['risk']!r}", "one of " + ", ".join(RISKS))
    return Fix(
        do=str(data["do"]),
        otherwise=data.get("otherwise"),
        run=_run(data.get("run"), (*path, "run")),
        risk=data.get("risk", "low"),
        verify=str(data["verify"]),
        if_not=data.get("if_not"),
        audience=_audience(data.get("for"), (*path, "for")),
        look_first=data.get("look_first"),
        unless=_unless(data.get("unless"), (*path, "unless")),
    )


def _audience(data: Any, path: tuple[str | int, ...]) -> Audience:
    if data is None:
        return EVERYBODY
    if not isinstance(data, Mapping) or not data or set(data) - set(AUDIENCE_FIELDS):
        instead = "{framework: pytorch, versions: '>=2.0', os: [linux], own_code: true, seen: CLUE}"
        what = "'for' says for whom a step holds" if path[-1] == "for" else "'unless' says for whom it does not"
        raise SignatureError(path, what, instead)
    names, systems = _several(data.get("framework")), _several(data.get("os"))
    spoken = _several(data.get("language"))
    frameworks = tuple(known for known in crash.FRAMEWORKS if known in names)
    if unknown := [name for name in names if name not in crash.FRAMEWORKS]:
        known = ", ".join(crash.FRAMEWORKS)
        raise SignatureError((*path, "framework"), f"unknown framework {unknown[0]!r}", f"one of {known}")
    if unknown := [name for name in spoken if name not in LANGUAGES]:
        raise SignatureError((*path, "language"), f"unknown language {unknown[0]!r}", "one of " + ", ".join(LANGUAGES))
    if unknown := [name for name in systems if name not in SYSTEMS]:
        raise SignatureError((*path, "os"), f"unknown system {unknown[0]!r}", "one of " + ", ".join(SYSTEMS))
    versions = data.get("versions")
    if versions is not None and len(frameworks) != 1:
        raise SignatureError((*path, "versions"), "versions of which framework?", "name one framework beside them")
    if complaint := next(range_complaints(versions if versions is None else str(versions)), None):
        raise SignatureError((*path, "versions"), complaint[1], complaint[2])
    card, processor = data.get("card"), data.get("processor")
    if card is not None and card not in CARDS:
        raise SignatureError((*path, "card"), f"unknown maker of cards {card!r}", "one of " + ", ".join(CARDS))
    if processor is not None and processor not in PROCESSORS:
        known = ", ".join(PROCESSORS)
        raise SignatureError((*path, "processor"), f"unknown processor {processor!r}", f"one of {known}")
    own_code = data.get("own_code")
    if own_code not in (None, True, False):
        raise SignatureError((*path, "own_code"), "'own_code' is true or false", "own_code: true")
    seen = data.get("seen")
    return Audience(
        frameworks,
        None if versions is None else str(versions),
        systems,
        own_code,
        None if seen is None else str(seen),
        card,
        processor,
        tuple(known for known in LANGUAGES if known in spoken),
    )


def _unless(data: Any, path: tuple[str | int, ...]) -> tuple[Audience, ...]:
    """Those who are not to be told a step: some people, or a list of such."""
    if isinstance(data, list):
        return tuple(_audience(one, (*path, number)) for number, one in enumerate(data))
    return () if data is None else (_audience(data, path),)


def _several(data: Any) -> tuple[str, ...]:
    """One name, or a list of them."""
    return tuple(str(one) for one in data) if isinstance(data, list) else () if data is None else (str(data),)


def _run(data: Any, path: tuple[str | int, ...]) -> Mapping[str, str]:
    """One command for every system, or a command for each."""
    if not data:
        return {}
    if isinstance(data, str):
        return {"default": data}
    named = data if isinstance(data, Mapping) else {}
    if not named or set(named) - set(RUN_FIELDS) or not all(isinstance(text, str) for text in named.values()):
        raise SignatureError(path, "'run' is a command, or one for each system", "{linux: …, windows: …, default: …}")
    return dict(named)


def _test(data: Any, path: tuple[str | int, ...]) -> ExampleLog:
    if isinstance(data, str):
        return ExampleLog(data, None, None)
    if isinstance(data, Mapping) and set(data) == {"crasher"} and isinstance(data["crasher"], str):
        return ExampleLog(data["crasher"], None, None, live=True)
    if not isinstance(data, Mapping) or not data.get("log") or set(data) - {"log", "exit", "cause"}:
        raise SignatureError(path, "a test names a log", "{log: fixtures/logs/NAME.log, exit: 139, cause: …}")
    return ExampleLog(data["log"], None if data.get("exit") is None else str(data["exit"]), data.get("cause"))
