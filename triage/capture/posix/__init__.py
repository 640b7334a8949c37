"""`triage run` on Linux and macOS: signals, and crashed processes that are held until they are read."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from triage.capture.command import Program, is_triage
from triage.capture.hook_files import FaultDirectory
from triage.capture.posix.supervisor import Supervisor
from triage.capture.supervision import STOPPED_CODES

if TYPE_CHECKING:
    from triage.capture import Options, Outcome
    from triage.crash import Crash


def run(program: Program, options: Options) -> Outcome:
    """Run a program; a healthy run has no crash. Raises CannotStart."""
    from triage.capture import Outcome

    faults = FaultDirectory()
    try:
        supervisor = Supervisor(
            program, faults, native=options.native, framework_log=options.framework_log, timeout=options.timeout
        )
        ended = supervisor.run()
        note = faults.note(ended.pid)
    finally:
        faults.remove()
    supervisor.leave()
    number = os.WTERMSIG(ended.wait_status) if os.WIFSIGNALED(ended.wait_status) else None
    code = 128 + number if number else os.WEXITSTATUS(ended.wait_status)
    if ended.stopped_by:
        code = STOPPED_CODES[ended.stopped_by]
    if ended.stopped_by == "interrupt":
        number = signal.SIGINT
    if code == 0 and not ended.crashed:
        return Outcome(0, None, None)
    faults.remove_those_of_the_dead()
    if is_triage(program) and not ended.crashed and (number in (None, signal.SIGINT)) and ended.stopped_by is None:
        # That triage has reported already.
        return Outcome(code, number, None)

    def facts() -> Crash:
        from triage.capture.assemble import crash_of
        from triage.capture.posix.remains import remains_of

        return crash_of(program, remains_of(program, ended, note))

    return Outcome(code, number, facts)
