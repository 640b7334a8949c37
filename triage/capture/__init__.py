"""A live process -> Crash: run a program as it would run without us, and know why it failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from triage.capture.command import CannotStart, program_for

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
    words: Sequence[str],
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

    def facts() -> Crash:
        import shlex

        from triage.capture.assembling import crash_of

        return crash_of(program, ended, note, shlex.join(("--", *words) if as_given else words))

    return Outcome(code, number, facts)
