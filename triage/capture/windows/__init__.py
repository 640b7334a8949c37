"""`triage run` on Windows: a debugger in place of signals, dumps in place of held processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triage.capture.command import Program, is_triage
from triage.capture.hook_files import FaultDirectory, Note
from triage.capture.supervision import STOPPED_CODES, StopReason
from triage.capture.windows.debug_events import Watched, is_death, signed

if TYPE_CHECKING:
    from triage.capture import Options, Outcome
    from triage.crash import Crash


class Ended(NamedTuple):
    """How a run ended: the processes that were seen, their dumps, and what was read of them before they were gone.

    By pid: `faults` has what faulthandler wrote about exceptions, `hanging` what its watchdog wrote at the timeout,
    `peaks` the most memory that a process had at once.
    """

    pid: int
    exit_code: int
    processes: tuple[Watched, ...]
    dumps: dict[int, Path]
    notes: dict[int, Note]
    faults: dict[int, bytes]
    hanging: dict[int, bytes]
    peaks: dict[int, int]
    stopped_by: StopReason | None
    stopped_after: float
    debugged: bool
    logs: tuple[tuple[str, bytes], ...]
    errors_are_read: bool
    output_is_read: bool
    problems: tuple[str, ...]

    @property
    def crashed(self) -> tuple[Watched, ...]:
        """The processes that ended by an exception; without a debugger, those whose exit code says so.

        One that we ended ourselves has not come to its own end, and may look as if what it survived had killed it.
        """
        if self.stopped_by:
            return tuple(process for process in self.processes if process.crash or is_death(process.exit_code))
        return tuple(process for process in self.processes if process.crashed)


def run(program: Program, options: Options) -> Outcome:
    """Run a program; a healthy run has no crash. Raises CannotStart."""
    if sys.platform != "win32":
        raise NotImplementedError
    from triage.capture import Outcome
    from triage.capture.windows import supervisor
    from triage.capture.windows.dump_files import DumpPlaces, local_dumps_of

    # Without a native stack a debugger has no purpose.
    debug = options.debugger and options.native
    faults = FaultDirectory()
    try:
        places = DumpPlaces(program.shown, options.save)
        ended = supervisor.Supervisor(
            program,
            faults,
            places,
            debug=debug,
            full=options.full,
            framework_log=options.framework_log,
            timeout=options.timeout,
        ).run()
    finally:
        faults.remove()
    code = STOPPED_CODES[ended.stopped_by] if ended.stopped_by else signed(ended.exit_code)
    if code == 0 and not ended.crashed:
        return Outcome(0, None, None)
    faults.remove_those_of_the_dead()
    if is_triage(program) and not ended.crashed and ended.stopped_by is None:
        return Outcome(code, None, None)
    if not debug and ended.crashed:
        dumps, notices = local_dumps_of(Path(program.path).name, (ended.pid, *ended.notes))
        ended = ended._replace(dumps=dumps)
    else:
        notices = tuple(f"the dump is {path}" for path in ended.dumps.values())

    def facts() -> Crash:
        from triage.capture.assemble import crash_of
        from triage.capture.windows.remains import remains_of

        return crash_of(program, remains_of(program, ended))

    return Outcome(code, None, facts, notices)
