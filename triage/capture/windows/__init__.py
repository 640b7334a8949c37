"""`triage run` on Windows: a debugger in place of signals, dumps in place of held processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.capture.command import Program, is_triage

if TYPE_CHECKING:
    from triage.capture import Options, Outcome
    from triage.crash import Crash

_SAID = {"timeout": 124, "interrupt": 130}


def run(program: Program, options: Options) -> Outcome:
    """Run a program; a healthy run has no crash. Raises CannotStart."""
    from triage.capture import Outcome
    from triage.capture.faults import FaultDirectory
    from triage.capture.windows.dumps import DumpPlaces
    from triage.capture.windows.live.running import Runner
    from triage.capture.windows.watching import signed

    # Without a native stack there is nothing that a debugger is for.
    debug = options.debugger and options.native
    faults = FaultDirectory()
    try:
        places = DumpPlaces(program.shown, options.save)
        runner = Runner(
            program,
            faults,
            places,
            debug=debug,
            full=options.full,
            tf_log=options.tf_log,
            timeout=options.timeout,
        )
        ended = runner.run()
    finally:
        faults.remove()
    code = _SAID.get(ended.stopped_by or "", signed(ended.exit_code))
    if code == 0 and not ended.crashed:
        return Outcome(0, None, None)
    faults.remove_those_of_the_dead()
    if is_triage(program) and not ended.crashed and ended.stopped_by is None:
        return Outcome(code, None, None)
    if not debug and ended.crashed:
        from triage.capture.windows.live.plain import dumps_of_windows

        found, said = dumps_of_windows(program, ended)
        ended = ended._replace(dumps=found)
    else:
        said = tuple(f"the dump is {path}" for path in ended.dumps.values())

    def facts() -> Crash:
        from triage.capture.assemble import crash_of
        from triage.capture.windows.remains import remains_of

        return crash_of(program, remains_of(program, ended))

    return Outcome(code, None, facts, said)
