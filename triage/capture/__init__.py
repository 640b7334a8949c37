"""A live process -> Crash: run a program as it would run without us, and gather the facts if it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from triage.capture.command import CannotStart, program_for, words_of

if TYPE_CHECKING:
    from triage.crash import Crash

__all__ = ["CannotStart", "Options", "Outcome", "run"]


class Outcome(NamedTuple):
    """How a run ended: the exit code for our caller, the signal that killed the child, a function that gathers the
    facts of a failure, and notices for the person, such as where the dump is."""

    exit_code: int
    signal: int | None
    facts: Callable[[], Crash] | None
    notices: tuple[str, ...] = ()


class Options(NamedTuple):
    """How to run. `save`, `debugger` and `full` are about dumps and matter on Windows only."""

    timeout: float | None = None
    native: bool = True
    framework_log: bool = False
    save: str | None = None
    debugger: bool = True
    full: bool = False


def run(
    words: Sequence[str | PathLike[str]] | str,
    *,
    as_given: bool = False,
    python: str | None = None,
    options: Options = Options(),  # noqa: B008
) -> Outcome:
    """Run a script (or, with `as_given`, a command); raises CannotStart. A healthy run has no crash."""
    import sys

    words = words_of(words)
    program = program_for(words, python=python, as_given=as_given)
    if sys.platform == "win32":
        from triage.capture.windows import run as run_it
    else:
        from triage.capture.posix import run as run_it
    outcome = run_it(program, options)
    if outcome.facts is None:
        return outcome
    gather = outcome.facts

    def facts() -> Crash:
        from triage.crash import Command

        rerun = Command(("--", *words) if as_given else words)
        return gather()._replace(rerun=rerun, run_options=_chosen(python, options))

    return outcome._replace(facts=facts)


def _chosen(python: str | None, options: Options) -> tuple[str, ...]:
    """The options of the command line that a run was given."""
    timeout = None if options.timeout is None else f"{options.timeout:g}"
    valued = (("--python", python), ("--timeout", timeout), ("--save", options.save))
    flags = (("--no-native", not options.native), ("--no-debugger", not options.debugger), ("--full", options.full))
    words = [word for name, value in valued if value is not None for word in (name, value)]
    return (*words, *(name for name, given in flags if given))
