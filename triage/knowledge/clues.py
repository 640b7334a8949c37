"""The kinds of clue a signature may name, as plain data. How each is looked for is in diagnosis/matching.py.

A clue in YAML is a mapping with exactly one kind (`log`, `exception`, `exit`, `native`, `python`, `fault`, `module`,
`memory`, `environment`, `process`, `any`, `sequence`) and what it says about the cause: `p` how often the clue is seen
with this cause, `b` how often it is seen in crashes with other causes, `says` the sentence for the report,
`consequence_of` the causes that explain this clue when they are there themselves.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple


class SignatureError(ValueError):
    """A signature that cannot be used: `path` says where in the file, `instead` what to write."""

    def __init__(self, path: tuple[str | int, ...], what: str, instead: str = "") -> None:
        super().__init__(what)
        self.path, self.what, self.instead = path, what, instead


class LogSeen(NamedTuple):
    """A pattern over the normalised log."""

    pattern: str


class ExceptionSeen(NamedTuple):
    """A Python exception by type and message."""

    type: str | None
    message: str | None


class ExitSeen(NamedTuple):
    """One of several exit statuses, by name (SIGSEGV, 0xC0000409, exit 1), perhaps with one of several subcodes.

    A subcode of None asks for a status whose subcode nobody told.
    """

    statuses: tuple[str, ...]
    subcodes: tuple[int | None, ...] = ()


class NativeSeen(NamedTuple):
    """A native frame by function and module; `within` counts frames from the innermost one.

    `repeated` asks that one function stands so many times in the stack, `own` that its library is the person's own.
    """

    function: str | None
    module: str | None
    within: int | None
    repeated: int | None = None
    own: bool = False


class PythonSeen(NamedTuple):
    """A Python frame of the crashed thread or of the exception, with the same fields as a native one."""

    file: str | None
    function: str | None
    within: int | None
    repeated: int | None = None
    own: bool = False


class FaultSeen(NamedTuple):
    """What the processor did when it stopped; every field that is given must hold.

    `address` and `access` are words of the lists below, `instruction` is a pattern, `needs_missing_flag` asks for an
    instruction that the processor does not list, `stack_full` for a stack that is used up (or, if False, is not).
    `says` is a pattern over what a dump's reader makes of it, `missing_library` one over the library that could not be
    loaded at its first call; its named groups are for the fix.
    """

    address: str | None = None
    access: str | None = None
    instruction: str | None = None
    needs_missing_flag: bool | None = None
    stack_full: bool | None = None
    says: str | None = None
    missing_library: str | None = None


class ModuleSeen(NamedTuple):
    """A native library that is there (in a range of versions) or, where the list is whole, is not there.

    `twice` asks that a process has two of what `name` matches.
    """

    name: str
    absent: bool
    version: str | None
    twice: bool = False


class MemorySeen(NamedTuple):
    """A named condition over the figures of memory, shared memory or threads."""

    condition: str


class EnvironmentSeen(NamedTuple):
    """Facts about the machine that must all hold; those that were not told make the clue unseen."""

    os: tuple[str, ...]
    python: str | None
    packages: tuple[tuple[str, str], ...]
    lacks_cpu_flag: str | None
    gpu: str | None


class ProcessSeen(NamedTuple):
    """How a process came to be: forked from one in which something, such as tensorflow, had started.

    `absent` asks that no process of the incident was forked so.
    """

    forked_with: str
    absent: bool = False


class AnyOf(NamedTuple):
    """Wordings of one thing: the first that is seen counts, the others do not count against it."""

    clues: tuple["Clue", ...]


class InSequence(NamedTuple):
    """Clues that must be seen one after the other."""

    clues: tuple["Clue", ...]


class OfOneThread(NamedTuple):
    """Clues that must hold of one and the same thread: its stacks, and how its process was made."""

    clues: tuple["Clue", ...]


COMBINATORS = (AnyOf, InSequence, OfOneThread)

Sought = (
    LogSeen
    | ExceptionSeen
    | ExitSeen
    | NativeSeen
    | PythonSeen
    | FaultSeen
    | ModuleSeen
    | MemorySeen
    | EnvironmentSeen
    | ProcessSeen
    | AnyOf
    | InSequence
    | OfOneThread
)

MEMORY_CONDITIONS = (
    "peak_below_half",
    "peak_below_limit",
    "peak_at_limit",
    "oom_killed",
    "not_oom_killed",
    "shm_full",
    "threads_at_limit",
    "threads_below_limit",
    "address_space_limited",
)
# Where a fault's address may lie: a null pointer or a field of one, an element of a null array, what no process can
# have, the end of the stack, or anywhere so long as it is known.
FAULT_ADDRESSES = ("null", "near-null", "noncanonical", "stack-guard", "any")
FAULT_ACCESSES = ("read", "write", "execute")
# How often a clue of each kind turns up in a crash with another cause, where the signature does not say.
BACKGROUND = {
    "log": 0.004,
    "exception": 0.01,
    "exit": 0.12,
    "native": 0.01,
    "python": 0.02,
    "fault": 0.03,
    "module": 0.05,
    "memory": 0.05,
    "environment": 0.3,
    "process": 0.03,
    "any": 0.004,
    "sequence": 0.003,
    "thread": 0.003,
}
# The same for exit statuses: a segmentation fault says little, an illegal instruction a lot.
EXIT_BACKGROUND = {
    "SIGSEGV": 0.25,
    "SIGABRT": 0.2,
    "SIGKILL": 0.06,
    "SIGILL": 0.02,
    "SIGFPE": 0.006,
    "SIGBUS": 0.02,
    "0xC0000409": 0.05,
    "0xC0000005": 0.05,
    "0xC000001D": 0.005,
}
KINDS = tuple(BACKGROUND)
# The fields of each kind that is written as a mapping.
FIELDS = {
    "exception": ("type", "message"),
    "exit": ("status", "subcode"),
    "native": ("function", "module", "within", "repeated", "own"),
    "python": ("file", "function", "within", "repeated", "own"),
    "fault": FaultSeen._fields,
    "module": ("present", "absent", "version", "twice"),
    "environment": ("os", "python", "package", "lacks_cpu_flag", "gpu"),
    "process": ("forked_with", "not_forked_with"),
}
# The fields that a clue of any kind may have beside it.
COMMON_FIELDS = ("id", "p", "b", "says", "consequence_of")
# The kinds that can be asked of one thread, and how many clues a combinator needs.
OF_A_THREAD = ("native", "python", "process", "any")
LEAST_INNER = {"any": 1, "sequence": 2, "thread": 2}


class Clue(NamedTuple):
    """One thing to look for, and what finding it says."""

    id: str
    kind: str
    sought: Sought
    p: float
    b: float
    says: str | None
    consequence_of: tuple[str, ...]


def parse_clue(data: Any, path: tuple[str | int, ...], *, p: float, b: float | None = None) -> Clue:
    """A clue from its YAML form; raises SignatureError that says what is wrong and where."""
    if not isinstance(data, Mapping):
        raise SignatureError(path, "a clue is a mapping", "{id: NAME, log: 'PATTERN', p: 0.9}")
    kinds = [key for key in data if key in BACKGROUND]
    unknown = [key for key in data if key not in BACKGROUND and key not in COMMON_FIELDS]
    if unknown:
        raise SignatureError((*path, unknown[0]), f"unknown clue kind '{unknown[0]}'", "one of " + ", ".join(KINDS))
    if len(kinds) != 1:
        raise SignatureError(path, "a clue has exactly one kind", "one of " + ", ".join(KINDS))
    kind = kinds[0]
    sought = PARSERS[kind](data[kind], (*path, kind))
    says = data.get("says")
    if says is not None and not isinstance(says, str):
        raise SignatureError((*path, "says"), f"{says!r} is not a text", "a sentence")
    return Clue(
        id=str(data.get("id", kind)),
        kind=kind,
        sought=sought,
        p=_probability(data.get("p", p), (*path, "p")),
        b=_probability(data.get("b", _background(kind, sought) if b is None else b), (*path, "b")),
        says=says,
        consequence_of=_texts(data["consequence_of"], (*path, "consequence_of")) if "consequence_of" in data else (),
    )


def patterns_of(clue: Clue) -> Iterator[tuple[str, str]]:
    """Every pattern in a clue and the clues inside it, as (kind, pattern)."""
    sought = clue.sought
    if isinstance(sought, COMBINATORS):
        for inner in sought.clues:
            yield from patterns_of(inner)
    elif isinstance(sought, LogSeen):
        yield "log", sought.pattern
    elif isinstance(sought, ExceptionSeen):
        yield from (("exception", pattern) for pattern in (sought.type, sought.message) if pattern)
    elif isinstance(sought, NativeSeen):
        yield from (("native", pattern) for pattern in (sought.function, sought.module) if pattern)
    elif isinstance(sought, PythonSeen):
        yield from (("python", pattern) for pattern in (sought.file, sought.function) if pattern)
    elif isinstance(sought, FaultSeen):
        told = (sought.instruction, sought.says, sought.missing_library)
        yield from (("fault", pattern) for pattern in told if pattern)
    elif isinstance(sought, ModuleSeen):
        yield "module", sought.name


def _background(kind: str, sought: Sought) -> float:
    if isinstance(sought, ExitSeen):
        return min(0.9, sum(EXIT_BACKGROUND.get(status, 0.02) for status in sought.statuses))
    return BACKGROUND[kind]


def _probability(value: Any, path: tuple[str | int, ...]) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < 1:
        raise SignatureError(path, f"{value!r} is not a probability", "a number between 0 and 1, both left out")
    return float(value)


def _text(value: Any, path: tuple[str | int, ...]) -> str:
    if not isinstance(value, str) or not value:
        raise SignatureError(path, f"{value!r} is not a text", "a pattern or a name in quotes")
    return value


def _fields(value: Any, kind: str, path: tuple[str | int, ...]) -> Mapping[str, Any]:
    allowed = FIELDS[kind]
    if not isinstance(value, Mapping) or not value:
        raise SignatureError(path, "this clue is a mapping", "some of " + ", ".join(sorted(allowed)))
    for key in value:
        if key not in allowed:
            raise SignatureError((*path, key), f"unknown field '{key}'", "one of " + ", ".join(sorted(allowed)))
    return value


def _optional(fields: Mapping[str, Any], key: str, path: tuple[str | int, ...]) -> str | None:
    return _text(fields[key], (*path, key)) if key in fields else None


def _whole(fields: Mapping[str, Any], key: str, path: tuple[str | int, ...]) -> int | None:
    if key not in fields:
        return None
    if not isinstance(fields[key], int) or isinstance(fields[key], bool) or fields[key] < 0:
        raise SignatureError((*path, key), f"{fields[key]!r} is not a whole number", "a number such as 3")
    return int(fields[key])


def _yes_or_no(fields: Mapping[str, Any], key: str, path: tuple[str | int, ...]) -> bool | None:
    if key in fields and not isinstance(fields[key], bool):
        raise SignatureError((*path, key), f"{fields[key]!r} is neither true nor false", f"{key}: true")
    return fields.get(key)


def _one_of(fields: Mapping[str, Any], key: str, words: tuple[str, ...], path: tuple[str | int, ...]) -> str | None:
    if key in fields and fields[key] not in words:
        raise SignatureError((*path, key), f"unknown {key} {fields[key]!r}", "one of " + ", ".join(words))
    return fields.get(key)


def _texts(value: Any, path: tuple[str | int, ...]) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(_text(one, (*path, i) if isinstance(value, list) else path) for i, one in enumerate(values))


def _log(value: Any, path: tuple[str | int, ...]) -> LogSeen:
    return LogSeen(_text(value, path))


def _exception(value: Any, path: tuple[str | int, ...]) -> ExceptionSeen:
    if isinstance(value, str):
        return ExceptionSeen(_text(value, path), None)
    fields = _fields(value, "exception", path)
    return ExceptionSeen(_optional(fields, "type", path), _optional(fields, "message", path))


def _exit(value: Any, path: tuple[str | int, ...]) -> ExitSeen:
    if not isinstance(value, Mapping):
        return ExitSeen(_texts(value, path))
    fields = _fields(value, "exit", path)
    if "status" not in fields:
        raise SignatureError(path, "an exit clue names a status", "{status: '0xC0000409', subcode: 7}")
    return ExitSeen(_texts(fields["status"], (*path, "status")), _subcodes(fields.get("subcode", []), path))


def _subcodes(value: Any, path: tuple[str | int, ...]) -> tuple[int | None, ...]:
    """Fast-fail subcodes: a number, or a list of numbers and the word untold."""
    found = value if isinstance(value, list) else [value]
    return tuple(None if one == "untold" else _whole({"subcode": one}, "subcode", path) for one in found)


def _ask_for_own(fields: Mapping[str, Any], path: tuple[str | int, ...]) -> None:
    if fields.get("own", True) is not True:
        raise SignatureError((*path, "own"), "own can only be asked for", "own: true, or leave it out")


def _native(value: Any, path: tuple[str | int, ...]) -> NativeSeen:
    if isinstance(value, str):
        return NativeSeen(_text(value, path), None, None, None)
    fields = _fields(value, "native", path)
    _ask_for_own(fields, path)
    return NativeSeen(
        _optional(fields, "function", path),
        _optional(fields, "module", path),
        _whole(fields, "within", path),
        _whole(fields, "repeated", path),
        own="own" in fields,
    )


def _python(value: Any, path: tuple[str | int, ...]) -> PythonSeen:
    fields = _fields(value, "python", path)
    _ask_for_own(fields, path)
    return PythonSeen(
        _optional(fields, "file", path),
        _optional(fields, "function", path),
        _whole(fields, "within", path),
        _whole(fields, "repeated", path),
        own="own" in fields,
    )


def _fault(value: Any, path: tuple[str | int, ...]) -> FaultSeen:
    fields = _fields(value, "fault", path)
    # YAML reads a bare null as nothing, and here it is a word that everybody would write bare.
    fields = {**fields, "address": "null"} if "address" in fields and fields["address"] is None else fields
    return FaultSeen(
        _one_of(fields, "address", FAULT_ADDRESSES, path),
        _one_of(fields, "access", FAULT_ACCESSES, path),
        _optional(fields, "instruction", path),
        _yes_or_no(fields, "needs_missing_flag", path),
        _yes_or_no(fields, "stack_full", path),
        _optional(fields, "says", path),
        _optional(fields, "missing_library", path),
    )


def _module(value: Any, path: tuple[str | int, ...]) -> ModuleSeen:
    if isinstance(value, str):
        return ModuleSeen(_text(value, path), False, None)
    fields = _fields(value, "module", path)
    if set(fields) == {"twice"}:
        return ModuleSeen(_text(fields["twice"], (*path, "twice")), False, None, twice=True)
    if ("present" in fields) == ("absent" in fields) or "twice" in fields:
        raise SignatureError(path, "a module is either present or absent", "{present: cudnn, version: '>=8.3'}")
    name = _optional(fields, "present", path) or _optional(fields, "absent", path) or ""
    return ModuleSeen(name, "absent" in fields, _optional(fields, "version", path))


def _memory(value: Any, path: tuple[str | int, ...]) -> MemorySeen:
    if value not in MEMORY_CONDITIONS:
        raise SignatureError(path, f"unknown memory condition {value!r}", "one of " + ", ".join(MEMORY_CONDITIONS))
    return MemorySeen(value)


def _environment(value: Any, path: tuple[str | int, ...]) -> EnvironmentSeen:
    fields = _fields(value, "environment", path)
    packages = fields.get("package", {})
    if not isinstance(packages, Mapping):
        raise SignatureError((*path, "package"), "packages are a mapping", "{tensorflow: '>=2.16'}")
    return EnvironmentSeen(
        os=_texts(fields["os"], (*path, "os")) if "os" in fields else (),
        python=_optional(fields, "python", path),
        packages=tuple((str(k), _text(v, (*path, "package", k))) for k, v in packages.items()),
        lacks_cpu_flag=_optional(fields, "lacks_cpu_flag", path),
        gpu=_optional(fields, "gpu", path),
    )


def _process(value: Any, path: tuple[str | int, ...]) -> ProcessSeen:
    fields = _fields(value, "process", path)
    if len(fields) != 1:
        raise SignatureError(path, "a process was forked with something, or was not", "{forked_with: tensorflow}")
    (name, what), *_ = fields.items()
    return ProcessSeen(_text(what, (*path, name)), absent=name == "not_forked_with")


def _inner(value: Any, path: tuple[str | int, ...], kind: str) -> tuple[Clue, ...]:
    least = LEAST_INNER[kind]
    if not isinstance(value, list) or len(value) < least:
        raise SignatureError(
            path, f"this clue is a list of at least {least} clues", "[{log: 'PATTERN'}, {exit: SIGSEGV}]"
        )
    return tuple(parse_clue(one, (*path, i), p=0.5) for i, one in enumerate(value))


def _any(value: Any, path: tuple[str | int, ...]) -> AnyOf:
    return AnyOf(_inner(value, path, "any"))


def _sequence(value: Any, path: tuple[str | int, ...]) -> InSequence:
    return InSequence(_inner(value, path, "sequence"))


def _thread(value: Any, path: tuple[str | int, ...]) -> OfOneThread:
    clues = _inner(value, path, "thread")
    for number, clue in enumerate(clues):
        if clue.kind not in OF_A_THREAD:
            one_of = "one of " + ", ".join(OF_A_THREAD)
            raise SignatureError((*path, number), f"a thread has no clue of the kind '{clue.kind}'", one_of)
    return OfOneThread(clues)


PARSERS: dict[str, Callable[[Any, tuple[str | int, ...]], Sought]] = {
    "log": _log,
    "exception": _exception,
    "exit": _exit,
    "native": _native,
    "python": _python,
    "fault": _fault,
    "module": _module,
    "memory": _memory,
    "environment": _environment,
    "process": _process,
    "any": _any,
    "sequence": _sequence,
    "thread": _thread,
}
