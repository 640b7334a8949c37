"""A live process -> Crash: run a program as it would run without us, and know why it failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from triage.capture.command import CannotStart, is_triage, program_for, words_of

if TYPE_CHECKING:
    from triage.crash import Crash

__all__ = ["CannotStart", "Outcome", "run"]


class Outcome(NamedTuple):
    """How a run ended: the exit code for our caller, the signal that killed the child, and what gathers the facts of a
    failure."""

    exit_code: int
    signal: int | None
    facts: Callable[[], Crash] | None


def run(
    words: Sequence[str | PathLike[str]] | str,
    *,
    as_given: bool = False,
    python: str | None = None,
    timeout: float | None = None,
    native: bool = True,
    tf_log: bool = False,
) -> Outcome:
    """Run a script (or, with `as_given`, a command); raises CannotStart. A healthy run has no crash."""
    import os
    import signal

    from triage.capture.faults import FaultDirectory
    from triage.capture.supervisor import Supervisor

    words = words_of(words)
    program = program_for(words, python=python, as_given=as_given)
    faults = FaultDirectory()
    try:
        supervisor = Supervisor(program, faults, native=native, tf_log=tf_log, timeout=timeout)
        ended = supervisor.run()
        note = faults.note(ended.pid)
    finally:
        faults.remove()
    supervisor.leave()
    number = os.WTERMSIG(ended.wait_status) if os.WIFSIGNALED(ended.wait_status) else None
    code = 128 + number if number else os.WEXITSTATUS(ended.wait_status)
    code = {"timeout": 124, "interrupt": 130}.get(ended.stopped_by or "", code)
    if ended.stopped_by == "interrupt":
        number = signal.SIGINT
    if code == 0 and not ended.crashed:
        return Outcome(0, None, None)
    faults.remove_those_of_the_dead()
    if is_triage(program) and not ended.crashed and (number in (None, signal.SIGINT)) and ended.stopped_by is None:
        # It has told everything already.
        return Outcome(code, number, None)

    def facts() -> Crash:
        import shlex

        from triage.capture.assembling import crash_of

        chosen = [("--python", python), ("--timeout", None if timeout is None else f"{timeout:g}")]
        options = [word for name, value in chosen if value is not None for word in (name, value)]
        crash = crash_of(program, ended, note)
        return crash._replace(
            rerun=shlex.join(("--", *words) if as_given else words),
            run_options=shlex.join([*options, *(() if native else ("--no-native",))]),
        )

    return Outcome(code, number, facts)
