"""What is known about one crash: plain, immutable facts, each with the place it was read from.

Readers and capture build these; signatures, diagnosis and reports only look at them. They are named tuples because
forty frozen dataclasses take 30 ms to define, as long as the rest of an analysis.

Several inputs of one incident are merged field by field. The rule is written beside the field, as its annotation; where
there is none, the first input that knows the field is believed.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

# Closed sets of words that several rooms share, so that mypy finds a mistyped one.
Role = Literal["main", "worker", "child"]
# What a number or a name means by itself; `noise` are Windows statuses that end no process.
ExitKind = Literal[
    "", "exit", "signal", "timeout", "crash", "fast-fail", "start-up", "out-of-memory", "ended-by-user", "noise"
]
# How a native frame was found, the most certain first; `omitted` replaces frames that were left out.
Trust = Literal["context", "cfi", "leaf", "frame_pointer", "scan_call", "scan", "reported", "omitted"]
# Who says that it ended: the C runtime (heap, terminate, assertion), a sanitizer, the runtime of another language with
# an uncaught exception, a notebook, launcher or service (notice), or the person who pasted it (remark); `hang`: a tool
# or a person says that it stands still.
MessageKind = Literal["heap", "terminate", "assertion", "sanitizer", "exception", "notice", "remark", "hang"]
Link = Literal["cause", "context", "member"]
Access = Literal["read", "write", "execute"]
InputKind = Literal["log", "core", "minidump", "unreadable"]
OS = Literal["linux", "windows", "macos", "ios"]
# Of a line in TensorFlow's log: information, warning, error, fatal.
Severity = Literal["I", "W", "E", "F"]
# Who made the card that the program computes on.
CardMaker = Literal["nvidia", "amd"]
Grade = Literal["reproduced", "confirmed", "documented", "claimed", "different", "partly", "untested", "refuted"]
Risk = Literal["low", "medium", "high"]
# What a frightening line that ends nothing costs, the worst first; `check`: it depends, and the person should look.
Harm = Literal["check", "no-gpu", "feature-off", "slower", "numbers-differ", "none"]
# What of a crash may or may not be visible.
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

# The language in which a program was written, or whose interpreter or virtual machine runs it.
Language = Literal[
    "python",
    "c++",
    "c",
    "java",
    "dotnet",
    "javascript",
    "r",
    "go",
    "rust",
    "julia",
    "swift",
    "ruby",
    "perl",
    "php",
    "fortran",
    "haskell",
    "ocaml",
    "lua",
    "erlang",
]
# A library that does a program's learning or computing. Keras is whatever it runs on.
Framework = Literal[
    "tensorflow",
    "pytorch",
    "jax",
    "onnxruntime",
    "mxnet",
    "paddle",
    "caffe",
    "darknet",
    "theano",
    "xgboost",
    "lightgbm",
    "opencv",
]
# How it shows which program it was, the strongest first: what was loaded into the process, what it was doing, what it
# raised, that none of its libraries is a framework's, what a framework wrote, what the program imports or was started
# with, and what the text only mentions. A framework whose import failed is on the stack, but not loaded.
ProgramSign = Literal[
    "loaded",
    "native frame",
    "exception",
    "python frame",
    "none loaded",
    "log line",
    "import",
    "mention",
]
# What may be known of the software and the machine besides the packages. CUDA has three versions: the one that is
# there, the one that the framework was built with, and the newest that the driver takes; cuDNN has the first two. The
# container is the kind (Docker, WSL2, Colab) or the image; the memory is the machine's.
FactName = Literal[
    "python",
    "cuda",
    "cuda built",
    "cuda of driver",
    "cudnn",
    "cudnn built",
    "driver",
    "card",
    "capability",
    "cpu",
    "compiler",
    "container",
    "memory",
    "system version",
]
# How a fact is known: the text tells it, we measured it in the process or on its machine, or it is installed here,
# which may be another machine than the one that failed. The best comes first.
Known = Literal["measured", "told", "installed"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
SIGNS: tuple[ProgramSign, ...] = get_args(ProgramSign)

# How the values of one field become one. A rule is given all parts and the field's name, because some fields belong
# together.
Rule = Callable[[Sequence[Any], str], Any]
_Facts = TypeVar("_Facts", bound="tuple[Any, ...]")


def _known(parts: Sequence[Any], name: str) -> list[Any]:
    """The values that are known: zero and False are, an empty text or tuple is not."""
    values = (getattr(part, name) for part in parts)
    return [value for value in values if value is not None and value != "" and value != ()]


def _first(parts: Sequence[Any], name: str) -> Any:
    return next(iter(_known(parts, name)), getattr(parts[0], name))


def _most(parts: Sequence[Any], name: str) -> Any:
    return max(_known(parts, name), default=None)


def _any(parts: Sequence[Any], name: str) -> bool:
    return any(_known(parts, name))


def _all(parts: Sequence[Any], name: str) -> tuple[Any, ...]:
    return tuple(item for value in _known(parts, name) for item in value)


def _each_once(parts: Sequence[Any], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(_all(parts, name)))


def _by_name(parts: Sequence[Any], name: str) -> tuple[Any, ...]:
    """Pairs of a name and a value; of two with the same name the first is believed."""
    kept: dict[Any, Any] = {}
    for key, value in _all(parts, name):
        kept.setdefault(key, value)
    return tuple(kept.items())


def _fullest(parts: Sequence[Any], name: str) -> Any:
    """The one with the most known fields, as a whole: its fields belong together."""
    unknown = (None, "", ())
    return max(_known(parts, name), key=lambda facts: sum(value not in unknown for value in facts), default=None)


def _merged(parts: Sequence[Any], name: str) -> Any:
    return _merge([getattr(part, name) for part in parts])


def _merge(parts: Sequence[_Facts]) -> _Facts:
    """One of these facts from several, each field by its rule."""
    if len(parts) == 1:
        return parts[0]
    return type(parts[0])(**{name: rule(parts, name) for name, rule in merge_rules(type(parts[0])).items()})


@cache
def merge_rules(kind: type) -> Mapping[str, Rule]:
    """The rule for each field of a named tuple."""
    return {name: getattr(hint, "__metadata__", (_first,))[0] for name, hint in kind.__annotations__.items()}


class Place(NamedTuple):
    """Where a fact was read: the input's number and, for text, the line in the original file."""

    input: int = 0
    line: int | None = None


class ExitStatus(NamedTuple):
    """How a process ended, whichever way the number was written."""

    code: int | None = None
    signal: str | None = None
    signal_number: int | None = None
    ntstatus: int | None = None
    name: str = ""
    kind: ExitKind = ""
    subcode: int | None = None
    subcode_name: str | None = None
    meaning: str = ""
    place: Place | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the process ended in any way other than exiting with 0."""
        return bool(self.signal or self.ntstatus or self.code)

    @property
    def is_death(self) -> bool:
        """Whether the process was ended by a signal or a Windows exception, not by its own exit()."""
        return bool(self.signal or self.ntstatus)

    @property
    def label(self) -> str:
        """A short name with the number that people know: `SIGSEGV (exit 139)`, `0xC0000409 (exit -1073740791)`."""
        if self.ntstatus is not None:
            signed = self.ntstatus - (1 << 32) if self.ntstatus >= 1 << 31 else self.ntstatus
            subcode = f", subcode {self.subcode}" if self.subcode is not None else ""
            return f"0x{self.ntstatus:08X} (exit {signed}{subcode})"
        if self.signal_number:
            return f"{self.signal} (exit {128 + self.signal_number})"
        return self.name

    @property
    def typed(self) -> str:
        """The status as a person types it."""
        if self.ntstatus is not None:
            return f"0x{self.ntstatus:08X}"
        return self.signal or str(self.code)


class PythonFrame(NamedTuple):
    """One Python frame; the line may be missing in a damaged paste."""

    file: str
    line: int | None
    function: str


class NativeFrame(NamedTuple):
    """One native frame. `trust` says how it was found; a `reported` frame was printed by the program itself.

    `source` is the file and line, where debug information has them. `own` means that the library belongs neither to the
    system nor to an installed package, but to the person. An `inlined` function is only visible in debug information.
    """

    module: str | None
    function: str | None
    offset: int | None = None
    trust: Trust = "reported"
    source: str | None = None
    own: bool = False
    inlined: bool = False


def base_name(path: str) -> str:
    """The last part of a path of any system, which need not be the system we run on."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or path


class Thread(NamedTuple):
    """A thread's stacks, innermost frame first.

    `seen_modules` are libraries whose addresses were found on its stack. They need not be calls: each may be left over
    from one that had returned long ago. `id` is the system's number of the thread.
    """

    name: str = ""
    crashed: bool = False
    python_stack: tuple[PythonFrame, ...] = ()
    native_stack: tuple[NativeFrame, ...] = ()
    place: Place | None = None
    seen_modules: tuple[str, ...] = ()
    id: int | None = None


class Fault(NamedTuple):
    """What the processor did when the signal came: the instruction, the address it touched, and the registers.

    `stack_used_bytes` of `stack_limit_bytes` distinguish an overflowing stack from a wild pointer. `parameters` are
    those of a Windows exception, `says` is what the address means by itself, `missing_library` a library that could not
    be loaded when it was first called.
    """

    signal: str | None = None
    address: int | None = None
    access: Access | None = None
    instruction: str | None = None
    registers: tuple[tuple[str, int], ...] = ()
    stack_used_bytes: int | None = None
    stack_limit_bytes: int | None = None
    parameters: tuple[int, ...] = ()
    says: str | None = None
    missing_library: str | None = None


class Dump(NamedTuple):
    """What a dump has about its process besides stacks and libraries. Times are in seconds, the first two since 1970.

    `contradictions` are sentences about what does not fit together in it, `unloaded` libraries that had been loaded
    before, `handles` how many of each type were open, `comments` texts that the writer of the dump added.
    """

    taken: int | None = None
    started: int | None = None
    user_seconds: int | None = None
    kernel_seconds: int | None = None
    full_memory: bool = False
    contradictions: tuple[str, ...] = ()
    unloaded: tuple["Library", ...] = ()
    handles: tuple[tuple[str, int], ...] = ()
    comments: tuple[str, ...] = ()


class ProgramReason(NamedTuple):
    """Something that shows what a process was. `text` is the input's own; `shows` is None for `none loaded`."""

    kind: ProgramSign
    shows: Language | Framework | None
    text: str
    place: Place | None = None


class Program(NamedTuple):
    """What the process was: its language and the framework that was in it, None where nothing shows it."""

    language: Language | None = None
    framework: Framework | None = None
    because: tuple[ProgramReason, ...] = ()

    def lacks(self, framework: Framework) -> bool:
        """Whether it is known that this framework was not in the process; a mention of another does not prove it."""
        if self.framework is not None:
            shown = [reason for reason in self.because if reason.shows == self.framework]
            return self.framework != framework and any(reason.kind != "mention" for reason in shown)
        if any(reason.kind == "none loaded" for reason in self.because):
            return True
        return self.language not in (None, "python", "c++", "c")


def program_of(reasons: Iterable[ProgramReason]) -> Program | None:
    """What the reasons show, the strongest kind first; of one kind the first reason is believed."""
    ranked = sorted(reasons, key=lambda reason: SIGNS.index(reason.kind))
    of_language = next((reason for reason in ranked if reason.shows in LANGUAGES), None)
    of_framework = next((reason for reason in ranked if reason.shows not in LANGUAGES), None)
    because = tuple(reason for reason in (of_language, of_framework) if reason is not None)
    if not because:
        return None
    return Program(
        next((language for language in LANGUAGES if of_language and of_language.shows == language), None),
        next((framework for framework in FRAMEWORKS if of_framework and of_framework.shows == framework), None),
        because,
    )


def _strongest(parts: Sequence["Process"], name: str) -> Program | None:
    """By its strongest reason: what was loaded into a process says more than the words of its log."""
    programs = _known(parts, name)
    return programs[0] if len(programs) == 1 else program_of(reason for one in programs for reason in one.because)


def _role(parts: Sequence["Process"], name: str) -> Role:
    """A log and a core say main because they cannot know; any other role is known."""
    return next((part.role for part in parts if part.role != "main"), "main")


def _most_specific(parts: Sequence["Process"], name: str) -> ExitStatus | None:
    """A death says more than an exit code, its subcode more than the bare death, a failure more than success."""

    def specific(status: ExitStatus) -> tuple[bool, bool, bool]:
        return (status.is_death, status.subcode is not None, status.is_failure)

    return max(_known(parts, name), key=specific, default=None)


class Process(NamedTuple):
    """A process of the incident.

    `forked_with` names what was running in the parent when it forked this one, and does not work here: tensorflow, jax.
    `faulting_module` is the library blamed for the crash: the first that is not the system's own machinery.
    """

    pid: int | None = None
    role: Annotated[Role, _role] = "main"
    command: str | None = None
    exit: Annotated[ExitStatus | None, _most_specific] = None
    threads: Annotated[tuple[Thread, ...], _all] = ()
    fault: Annotated[Fault | None, _fullest] = None
    forked_with: str | None = None
    faulting_module: str | None = None
    dump: Annotated[Dump | None, _fullest] = None
    program: Annotated[Program | None, _strongest] = None


class PythonException(NamedTuple):
    """A Python exception as it was printed. `link` says how it follows from the one before, None that it does not.

    `gist` is the sentence of the message that matters. `by_raise` says whether the line that raised it is a `raise`
    statement, None where the text does not show that line.
    """

    type: str
    message: str
    gist: str = ""
    frames: tuple[PythonFrame, ...] = ()
    link: Link | None = None
    place: Place | None = None
    offset: int = 0
    by_raise: bool | None = None

    @property
    def short_type(self) -> str:
        """The class without its module."""
        return self.type.rsplit(".", 1)[-1]


class LogRecord(NamedTuple):
    """A line of TensorFlow's own log; `file` is the source file without its line number."""

    severity: Severity
    file: str
    message: str
    place: Place
    offset: int = 0


class RuntimeMessage(NamedTuple):
    """A sentence of somebody else than Python that says how the program ended; `kind` says who speaks."""

    kind: MessageKind
    text: str
    place: Place
    offset: int = 0


class Imports(NamedTuple):
    """The packages that one piece of a program imports, in order: a session, a script, a command, a crashed stack.

    `ends_there` says that nothing is seen to follow the last of them, neither another statement nor another prompt.
    """

    modules: tuple[str, ...]
    ends_there: bool = False
    place: Place | None = None
    offset: int = 0


def _of_tightest(parts: Sequence["Memory"], name: str) -> Any:
    """From the tightest limit: its size and its source belong together."""
    limits = [part for part in parts if part.limit_bytes is not None]
    return getattr(min(limits, key=lambda part: part.limit_bytes or 0), name) if limits else None


class Memory(NamedTuple):
    """Memory figures in bytes; `limit_source` says where the limit comes from. The last two are the whole machine's."""

    peak_bytes: Annotated[int | None, _most] = None
    limit_bytes: Annotated[int | None, _of_tightest] = None
    limit_source: Annotated[str | None, _of_tightest] = None
    oom_kills: Annotated[int | None, _most] = None
    machine_bytes: int | None = None
    machine_free_bytes: int | None = None


class Resources(NamedTuple):
    """What else can run out, as it was at the failure: threads and processes, shared memory."""

    threads: int | None = None
    thread_limit: int | None = None
    thread_limit_source: str | None = None
    shm_bytes: int | None = None
    shm_free_bytes: int | None = None


class Library(NamedTuple):
    """A native library that was loaded, with its version where it is known."""

    name: str
    version: str | None = None


class Duplicates(NamedTuple):
    """Two or more libraries of which a process should have one: what they are (OpenMP runtimes), and their files."""

    what: str
    files: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """For a person; whole paths only where the file names are the same."""
        count = {2: "two", 3: "three", 4: "four"}.get(len(self.files), str(len(self.files)))
        names = [base_name(file) for file in self.files]
        shown = names if len(set(names)) == len(names) else self.files
        return f"{count} {self.what} are loaded: {' and '.join(shown)}"


class Provider(NamedTuple):
    """An installed distribution that provides a module, according to its metadata."""

    module: str
    distribution: str
    version: str


class Fact(NamedTuple):
    """Something that is known of the software or the machine, how, and where it stands."""

    name: FactName
    value: str
    known: Known
    place: Place | None = None


def _best_known(parts: Sequence["Environment"], name: str) -> tuple[Fact, ...]:
    """One fact of each name: the best known, of several the first. A machine may have several cards."""
    order = get_args(Known)
    kept: dict[tuple[FactName, str], Fact] = {}
    for fact in sorted(_all(parts, name), key=lambda fact: order.index(fact.known)):
        kept.setdefault((fact.name, fact.value if fact.name == "card" else ""), fact)
    return tuple(kept.values())


class Environment(NamedTuple):
    """What is known of the machine. None or empty means unknown, never absent.

    `loaded_twice` are libraries of which a process should have one and has more.
    `hidden_log` says what kept TensorFlow's own log from being printed, `interpreter` is the path of the Python.
    `driver` is the version of NVIDIA's driver, `capability` the compute capability of the first card.
    `card_maker` is told by names, tools and errors; None also where the text speaks of both.
    `os_version` is the build of the system, `architecture` that of the program: x64, x86, arm64, arm.
    `providers` provide the modules that the program did not find, or the packages that these should be part of.
    `implied` are ranges of versions that files and words show of packages; where a version is known, it counts.
    """

    os: OS | None = None
    python: str | None = None
    packages: Annotated[tuple[tuple[str, str], ...], _by_name] = ()
    cpu_flags: Annotated[tuple[str, ...], _each_once] = ()
    gpus: Annotated[tuple[str, ...], _each_once] = ()
    libraries: Annotated[tuple[Library, ...], _each_once] = ()
    libraries_complete: Annotated[bool, _any] = False
    loaded_twice: Annotated[tuple[Duplicates, ...], _each_once] = ()
    interpreter: str | None = None
    hidden_log: str | None = None
    driver: str | None = None
    capability: str | None = None
    card_maker: CardMaker | None = None
    os_version: str | None = None
    architecture: str | None = None
    cpu: str | None = None
    providers: Annotated[tuple[Provider, ...], _each_once] = ()
    implied: Annotated[tuple[tuple[str, str], ...], _each_once] = ()
    facts: Annotated[tuple[Fact, ...], _best_known] = ()

    def fact(self, name: FactName) -> str | None:
        """What is known under this name."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def package(self, name: str) -> str | None:
        """The version of a package, if it is known."""
        return dict(self.packages).get(name)


class LeftOut(NamedTuple):
    """The part of a text that was not read: `bytes` of `of_bytes`, from `first_line` to `last_line`.

    None means unknown: the missing end of a damaged file may have any size.
    """

    bytes: int | None = None
    of_bytes: int | None = None
    first_line: int | None = None
    last_line: int | None = None

    @property
    def label(self) -> str:
        """How much is missing and where: `38.1 of 100.0 MiB (lines 104,858 to 504,699)`."""
        if self.bytes is None or self.of_bytes is None:
            return "the rest"
        unit, name = (1 << 20, "MiB") if self.bytes >= 1 << 20 else (1 << 10, "KiB")
        lines = f"lines {self.first_line:,} to {self.last_line:,}"
        return f"{self.bytes / unit:,.1f} of {self.of_bytes / unit:,.1f} {name} ({lines})"


class Input(NamedTuple):
    """One thing the person handed in. `complete` is False if a part of it was not read; `left_out` says which."""

    id: int
    kind: InputKind
    name: str
    complete: bool = True
    left_out: LeftOut | None = None


class Log:
    """Normalised log text that still knows the original line of every character."""

    __slots__ = ("_lines", "_starts", "input", "numbers", "text")

    def __init__(self, input: int, lines: Sequence[str], numbers: Sequence[int] | None = None) -> None:
        self.input = input
        self.text = "\n".join(lines)
        self.numbers = numbers if numbers is not None else range(1, len(lines) + 1)
        self._lines = lines
        self._starts: array[int] | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it is empty."""
        return not self.text or self.text.isspace()

    def place(self, offset: int) -> Place:
        """The original place of a character offset."""
        if not self.numbers:
            return Place(self.input)
        if self._starts is None:
            self._starts = array("Q", [0, *accumulate(len(line) + 1 for line in self._lines)])
        return Place(self.input, self.numbers[bisect_right(self._starts, offset, hi=len(self._lines)) - 1])

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with the offset at which it starts."""
        offset = 0
        for line in self._lines:
            yield offset, line
            offset += len(line) + 1

    def part(self, start: int, stop: int) -> "Log":
        """The lines that begin between two offsets, as a log of their own."""
        chosen = [
            (line, number) for (at, line), number in zip(self.lines(), self.numbers, strict=True) if start <= at < stop
        ]
        return Log(self.input, [line for line, _ in chosen], array("Q", (number for _, number in chosen)))

    def line(self, offset: int) -> str:
        """The whole line around a character offset."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text[start : end if end >= 0 else len(self.text)]


Lacking = Literal[
    "exit status",
    "native stack",
    "Python stack",
    "native stack and Python stack",
    "fault",
    "faulting instruction",
    "faulting module",
    "fast fail",
    "frames",
    "memory",
    "input",
    "standard output",
    "standard error",
    "loaded libraries",
    "unloaded libraries",
    "program",
    "process",
    "dump",
    "patterns",
    "signature",
    "end",
]
Obstacle = Literal[
    "not-told",
    "no-frames-in-log",
    "none-read",
    "left-out",
    "long-lines",
    "cut-off",
    "damaged",
    "unreadable",
    "another-process",
    "another-build",
    "alive",
    "not-held",
    "not-installed",
    "not-here",
    "not-permitted",
    "not-hooked",
    "not-read",
    "not-written",
    "not-looked-for",
    "wrong-system",
    "gone",
    "killed",
    "no-handler",
    "open-files",
    "timeout",
    "failed",
    "bug",
    "ignored",
]
Remedy = Literal[
    "run-under-triage",
    "run-with-debugger",
    "run-with-full-dump",
    "run-again",
    "give-exit-code",
    "give-the-end",
    "give-executable",
    "give-pe-dir",
    "full-dump",
    "make-a-core",
    "analyze-where-made",
    "analyze-by-itself",
    "copy-again",
    "install",
    "upgrade",
    "raise-limit",
    "allow-tracing",
]


class Gap(NamedTuple):
    """Something that could not be seen: what, why not, and what would show it.

    Code may branch on these three. `subject` is the file, the program or the number that it is about; `detail` is for
    people to read and never parsed.
    """

    what: Lacking
    why: Obstacle
    remedy: Remedy | None = None
    subject: str = ""
    detail: str = ""

    @property
    def label(self) -> str:
        """What is missing, short enough for a row on the screen."""
        if self.what == "input":
            return f"a part of {self.subject}" if self.why in _IN_PART else self.subject
        if self.what == "frames":
            return f"frames in {self.subject}" if self.subject else "frames"
        return _HEADINGS.get(self.what, self.what)

    @property
    def sentence(self) -> str:
        """What is missing and why, for a person."""
        heading = _HEADINGS.get(self.what)
        return f"{heading}: {self.detail}" if heading else self.detail

    def is_about(self, what: Lacking) -> bool:
        """Whether this is what is missing, by itself or with something else."""
        stacks = ("native stack", "Python stack")
        return self.what == what or (self.what == "native stack and Python stack" and what in stacks)


# What is missing, in the words that precede the detail; for anything else the detail is the whole sentence.
_HEADINGS: Mapping[Lacking, str] = {
    "exit status": "exit status",
    "native stack": "native stack",
    "Python stack": "Python stack",
    "native stack and Python stack": "native stack and Python stack",
    "fault": "registers, faulting instruction and fault address",
    "faulting instruction": "faulting instruction",
    "faulting module": "faulting module",
    "fast fail": "the kind of fast fail",
    "memory": "memory",
    "standard output": "standard output",
    "standard error": "standard error",
    "loaded libraries": "loaded libraries",
    "unloaded libraries": "unloaded libraries",
    "process": "the process",
    "signature": "signature skipped",
    "end": "how it ended",
}
_IN_PART = ("left-out", "long-lines", "cut-off", "damaged")


class Command(NamedTuple):
    """A command as data. `piped_to` is a filter for its output; `line` is the only place that quotes for a shell."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    piped_to: tuple[str, ...] = ()

    def line(self, system: str | None = None) -> str:
        """What to type: for cmd where the system is `windows`, for a POSIX shell everywhere else."""
        programs = [words for words in (self.argv, self.piped_to) if words]
        if system == "windows":
            line = " | ".join(" ".join(map(_cmd_word, words)) for words in programs)
            chosen = [f"{name}={value}" for name, value in self.environment]
            return cmd_settings(chosen, line) if chosen else line
        import shlex

        settings = "".join(f"{name}={shlex.quote(value)} " for name, value in self.environment)
        return settings + " | ".join(" ".join(map(_posix_word, words)) for words in programs)


# What cmd takes for itself, unless it is in double quotes.
_CMD_SPECIAL = frozenset("&|<>()^")


def _cmd_word(word: str) -> str:
    """A word as cmd and the program that it starts both read it."""
    from subprocess import list2cmdline

    quoted: str = list2cmdline([word])
    if quoted.startswith('"') or not _CMD_SPECIAL.intersection(word):
        return quoted
    # A backslash before the closing quote would make it a part of the word.
    backslashes = len(word) - len(word.rstrip("\\"))
    return f'"{word}{word[len(word) - backslashes :]}"'


def _posix_word(word: str) -> str:
    """A word as a POSIX shell reads it; `~/` stays the home folder."""
    from shlex import quote

    in_home = len(word) > 2 and word.startswith("~/")
    return f"~/{quote(word[2:])}" if in_home else quote(word)


def cmd_settings(settings: Sequence[str], line: str) -> str:
    """A command of Windows after settings NAME=value, each for this command only where that can be written."""
    if '"' in line or any('"' in setting for setting in settings):
        # Quotes within those of cmd /c end them, at least for PowerShell.
        return "".join(f'set "{setting}" && ' for setting in settings) + line
    # cmd and PowerShell both run this. No space before &&: cmd would make it a part of the value.
    return f'cmd /c "{"".join(f"set {setting}&& " for setting in settings)}{line}"'


def _primary_first(parts: Sequence["Crash"], name: str) -> tuple[Process, ...]:
    """The primary processes of all parts are one and the same; the others follow it."""
    known = [part for part in parts if part.processes]
    if not known:
        return ()
    main = _merge([part.processes[part.primary] for part in known])
    others = (p for part in known for number, p in enumerate(part.processes) if number != part.primary)
    return (main, *others)


# Codes that neither Python nor a shell gives by itself.
_OWN_CODES = range(3, 113)


class Crash(NamedTuple):
    """Everything known about one incident; the only thing that signatures see.

    `others` are further crashes that were found in the same inputs. `rerun` is what followed `triage run` and its
    options, where triage ran the program itself: running it under triage again shows nothing new. It begins with `--`
    for a command that was run as given. `run_options` are the options of that run.
    """

    inputs: Annotated[tuple[Input, ...], _all] = ()
    processes: Annotated[tuple[Process, ...], _primary_first] = ()
    primary: Annotated[int, lambda *_: 0] = 0
    exceptions: Annotated[tuple[PythonException, ...], _all] = ()
    records: Annotated[tuple[LogRecord, ...], _all] = ()
    messages: Annotated[tuple[RuntimeMessage, ...], _all] = ()
    imports: Annotated[tuple[Imports, ...], _all] = ()
    logs: Annotated[tuple[Log, ...], _all] = ()
    memory: Annotated[Memory, _merged] = Memory()
    resources: Annotated[Resources, _fullest] = Resources()
    environment: Annotated[Environment, _merged] = Environment()
    gaps: Annotated[tuple[Gap, ...], _all] = ()
    others: Annotated["tuple[Crash, ...]", _all] = ()
    rerun: Command | None = None
    run_options: tuple[str, ...] = ()

    @property
    def run_with_log(self) -> Command | None:
        """The command that runs the program again in the same way, with TensorFlow's own log."""
        if self.rerun is None:
            return None
        return self.rerun._replace(argv=("triage", "run", *self.run_options, "--framework-log", *self.rerun.argv))

    @property
    def exit(self) -> ExitStatus | None:
        """The exit status of the process that the incident is about."""
        return self.processes[self.primary].exit if self.processes else None

    @property
    def program(self) -> Program | None:
        """Whose crash it is: the language and framework of the process that the incident is about."""
        return self.processes[self.primary].program if self.processes else None

    @property
    def chose_its_code(self) -> bool:
        """Whether it ended with a code of its own choice, as sys.exit(3) does, and nothing is on record that failed.

        Python and shells give 1 and 2 as well; they are a choice where we watched and no exception was raised.
        """
        exit = self.exit
        if exit is None or exit.is_death or self.exceptions or self.threads or self.hung or self.messages:
            return False
        return exit.code in _OWN_CODES or (exit.code in (1, 2) and self.rerun is not None and self._is_python)

    @property
    def _is_python(self) -> bool:
        return self.program is not None and self.program.language == "python"

    @property
    def hung(self) -> bool:
        """Whether the process that the incident is about never came to an end by itself."""
        return self.exit is not None and self.exit.kind == "timeout"

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of the process that the incident is about, the crashed ones first."""
        threads = self.processes[self.primary].threads if self.processes else ()
        return tuple(sorted(threads, key=lambda thread: not thread.crashed))

    def lacks(self, what: Lacking) -> bool:
        """Whether there is already a gap for this."""
        return any(gap.is_about(what) for gap in self.gaps)

    @property
    def partly_read(self) -> tuple[Input, ...]:
        """The texts of which a part was not read: it may hold the decisive line."""
        return tuple(entry for entry in self.inputs if entry.left_out)

    @property
    def is_empty(self) -> bool:
        """Whether the inputs hold nothing at all."""
        has_text = any(not log.is_blank for log in self.logs)
        return not (has_text or self.exit or self.threads or self.exceptions)


def with_exit(crash: Crash, status: ExitStatus) -> Crash:
    """The same crash with the exit status that the person saw, which beats what a log says.

    A process that died of a signal has no exit code of its own: a code given with such a death belongs to the program
    that started it, and the one that died stays the one to explain.
    """
    if status.is_failure and not status.is_death and crash.exit is not None and crash.exit.is_death:
        died = [
            process._replace(role="child") if number == crash.primary and process.role == "main" else process
            for number, process in enumerate(crash.processes)
        ]
        return crash._replace(processes=(Process(exit=status), *died), primary=crash.primary + 1)
    processes = list(crash.processes) or [Process()]
    processes[crash.primary] = processes[crash.primary]._replace(exit=status)
    return crash._replace(processes=tuple(processes))


def merge(crashes: Iterable[Crash]) -> Crash:
    """One incident from several inputs."""
    return _merge(list(crashes) or [Crash()])


def merge_memory(parts: Sequence[Memory]) -> Memory:
    """The figures of several sources: the highest peak, the tightest limit, the most kills."""
    return _merge(parts)


def merge_environment(parts: Sequence[Environment]) -> Environment:
    """The machine as several sources describe it; where two disagree, the first is believed."""
    return _merge(parts)
