"""Post-mortem crash triage for Python and TensorFlow programs.

The library does what the command line does: `run()` starts a program and reports on a failure, `analyze()` turns what
a crash left behind into a Report, `explain()` says what a code, an error, a library or a line of a log means. Modules
are imported where they are used, because start-up time matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from triage.capture.command import CannotStart
    from triage.crash import Crash
    from triage.knowledge.database import Knowledge
    from triage.readers import Source
    from triage.report import Page, Report

__version__ = "0.1.0"
__all__ = [
    "CannotStart",
    "NotAnExitCode",
    "Ran",
    "__version__",
    "analyze",
    "explain",
    "incidents",
    "load_knowledge",
    "redact",
    "run",
    "sources",
]


class NotAnExitCode(ValueError):
    """What was given is not an exit code; the message says what to try."""


class Ran(NamedTuple):
    """How a run ended: the exit code to leave with, the signal that killed the program, and the report if it failed.

    `problems` are messages about private signatures that could not be used, or about a report that failed; `said` are
    other messages, such as where the dump of the crash is.
    """

    exit_code: int
    signal: int | None
    report: Report | None
    problems: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def __getattr__(name: str) -> object:
    """Look up CannotStart when it is needed: importing the runner takes time."""
    if name == "CannotStart":
        from triage.capture.command import CannotStart

        return CannotStart
    raise AttributeError(f"module 'triage' has no attribute {name!r}")


def run(
    command: Sequence[str | PathLike[str]] | str,
    *,
    as_given: bool = False,
    python: str | None = None,
    timeout: float | None = None,
    native: bool = True,
    framework_log: bool = False,
    tf_log: bool = False,
    save: str | PathLike[str] | None = None,
    debugger: bool = True,
    full: bool = False,
    signatures: Sequence[str | PathLike[str]] = (),
    top: int = 5,
    redact: bool = True,
) -> Ran:
    """Run a script with its arguments (or, with `as_given`, any command) and diagnose it if it fails.

    The program uses our standard streams; Ctrl-C and other signals are passed on to it only if this is called in the
    main thread. A string instead of a list is the name of a script. Raises CannotStart if the program cannot be
    started; its message says what to try. `framework_log` shows what TensorFlow, PyTorch and JAX hide; `tf_log` is its
    older name. `save`, `debugger` and `full` are about the dump that a crash leaves on
    Windows: where it goes, whether triage attaches as a debugger to write it, and whether it holds all memory.
    """
    from os import fspath

    from triage import capture, defects

    options = capture.Options(
        timeout, native, framework_log or tf_log, None if save is None else fspath(save), debugger, full
    )
    outcome = capture.run(command, as_given=as_given, python=python, options=options)
    if outcome.facts is None:
        return Ran(outcome.exit_code, outcome.signal, None, said=outcome.notices)
    try:
        from triage.diagnosis import diagnose
        from triage.redaction import redacted

        knowledge = load_knowledge(signatures)
        report = diagnose(outcome.facts(), knowledge, version=__version__, top=top)
        report = redacted(report) if redact else report
    except Exception as error:  # the program's exit code matters more than a bug in triage
        problem = f"the report failed: {defects.sentence(error)}"
        return Ran(outcome.exit_code, outcome.signal, None, (problem,), outcome.notices)
    problems = tuple(f"signature skipped: {problem}" for problem in knowledge.problems)
    return Ran(outcome.exit_code, outcome.signal, report, problems, outcome.notices)


def load_knowledge(signatures: Sequence[str | PathLike[str]] = ()) -> Knowledge:
    """Our signatures, with private packs (and those in TRIAGE_SIGNATURES) on top of them."""
    from triage.knowledge.database import load
    from triage.knowledge.pack import private_directories

    return load(private_directories(tuple(str(directory) for directory in signatures)))


def analyze(
    *inputs: str | PathLike[str] | bytes | BinaryIO,
    exit_code: int | str | None = None,
    signatures: Sequence[str | PathLike[str]] = (),
    top: int = 5,
    redact: bool = True,
    knowledge: Knowledge | None = None,
    executable: str | PathLike[str] | None = None,
    pe_directories: Sequence[str | PathLike[str]] = (),
) -> Report:
    """Diagnose ONE incident from all its inputs: paths, '-' for standard input, bytes or open binary files.

    `executable` is the program that dumped core, if triage cannot find it; `pe_directories` are folders with the DLLs
    of a program that left a minidump, which are needed to walk its stack.
    An input that cannot be read is named in `report.crash.inputs` (kind `unreadable`) and in `not_observable`; the
    others are still analysed. Raises NotAnExitCode.
    """
    from triage import defects
    from triage.crash import Crash, merge, with_exit
    from triage.diagnosis import diagnose
    from triage.readers import Source, Unreadable, of_one_process, read
    from triage.redaction import redacted
    from triage.status import parse

    status = None if exit_code is None else parse(str(exit_code))
    if exit_code is not None and status is None:
        raise NotAnExitCode(f"{exit_code!r} is not an exit code; try 139, -11, SIGSEGV, -1073740791 or 0xC0000409")
    made_by = None if executable is None else str(executable)
    directories = [str(directory) for directory in pe_directories]
    parts = []
    for number, given in enumerate(inputs):
        source = Source.of(given)
        try:
            parts.append(read(source, number, made_by, directories))
        except Unreadable as error:
            parts.append(_unread(number, source, str(error)))
        except Exception as error:  # the other inputs of the incident can still be read
            if len(inputs) == 1:
                raise
            parts.append(_unread(number, source, f"{source.label} could not be read: {defects.sentence(error)}"))
    crash = merge(of_one_process(parts)) if parts else Crash()
    if status is not None:
        crash = with_exit(crash, status)
        if status.ntstatus is not None:
            crash = crash._replace(environment=crash.environment._replace(os="windows"))
    report = diagnose(crash, knowledge or load_knowledge(signatures), version=__version__, top=top)
    return redacted(report) if redact else report


def _unread(number: int, source: Source, why: str) -> Crash:
    from triage.crash import Crash, Gap, Input

    return Crash(
        inputs=(Input(number, "unreadable", source.label, complete=False),),
        gaps=(Gap("input", "unreadable", None, source.label, why),),
    )


def redact(report: Report) -> Report:
    """The report with user names, home paths, addresses and tokens replaced, and with their number."""
    from triage.redaction import redacted

    return redacted(report)


def explain(
    topic: int | str, signatures: Sequence[str | PathLike[str]] = (), knowledge: Knowledge | None = None
) -> Page:
    """What a code, error, library, setting, cause or line of a log means; raises UnknownTopic with similar names."""
    from triage.diagnosis.explain import explain as page_for

    return page_for(str(topic), knowledge or load_knowledge(signatures))


def sources(knowledge: Knowledge | None = None) -> Page:
    """What the signatures are based on, document by document."""
    from triage.diagnosis.explain import sources_page

    return sources_page(knowledge or load_knowledge())


def incidents(inputs: Sequence[str], *, each: bool = False) -> tuple[list[tuple[str, ...]], list[str]]:
    """The inputs of every incident, and messages about directories that could not be used.

    All inputs belong to one incident, unless `each` is set or one of them is a directory: then every file is its own.
    """
    from os.path import isdir

    from triage.readers import Unreadable
    from triage.readers.source import files_in

    directories = [name for name in inputs if name != "-" and isdir(name)]
    if not each and not directories:
        return [tuple(inputs)], []
    found: list[tuple[str, ...]] = []
    refused: list[str] = []
    for name in inputs:
        if name not in directories:
            found.append((name,))
            continue
        try:
            found += [(file,) for file in files_in(name)]
        except Unreadable as error:
            refused.append(str(error))
    return found, refused
