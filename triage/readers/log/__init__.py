"""Log text -> Crash: decode, restore the layout, then read each kind of fact in a module of its own."""

from __future__ import annotations

from collections.abc import Iterator

from triage.crash import OS, Crash, ExitStatus, Gap, Input, Log, Memory, Process, merge_environment, merge_memory
from triage.readers.interface import Stream
from triage.readers.log import (
    containers,
    ends,
    environment,
    imports,
    layout,
    program,
    remarks,
    tensorflow_log,
    tracebacks,
)
from triage.readers.log.lines import LONGEST_LINE, read_lines


class LogReader:
    """Reads anything a person can paste."""

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a log; what was left out of a very large one is in `gaps`.

        Of several runs the last one that failed is the incident; the other failures go to `others`.
        """
        content = read_lines(head, rest)
        text = layout.restore(content.lines, content.numbers)
        entry = Input(input_id, "log", name, complete=content.left_out is None, left_out=content.left_out)
        crashes = [_crash_of(run, entry) for run in ends.runs(Log(input_id, text.lines, text.numbers))]
        failed = [crash for crash in crashes if crash.exit and crash.exit.is_failure]
        primary = failed[-1] if len(crashes) > 1 and failed else crashes[-1]
        return primary._replace(
            gaps=(
                *_gaps(entry, content.cut_lines),
                *(Gap("input", "cut-off", None, name, note) for note in text.notes),
            ),
            others=tuple(crash for crash in failed if crash is not primary) if len(crashes) > 1 else (),
        )


def _crash_of(run: ends.Run, entry: Input) -> Crash:
    log = run.log
    dump = ends.fault_dump(log)
    reported = containers.extract(log)
    process = Process(
        exit=_exit_of([*run.exits, *(status for facts in reported for status in facts.exits)], dump.exit),
        threads=(
            *dump.threads,
            *tensorflow_log.check_stacks(log),
            *(thread for facts in reported for thread in facts.threads),
        ),
        fault=next((facts.fault for facts in reported if facts.fault), None),
    )
    exceptions = tracebacks.extract(log)
    if not any(thread.python_stack for thread in process.threads) and not any(error.frames for error in exceptions):
        process = process._replace(threads=(*process.threads, *tracebacks.cut_off(log)))
    process = process._replace(program=program.program_in(log, process.threads, exceptions))
    proven_os: OS | None = "windows" if process.exit and process.exit.ntstatus else None
    messages = [
        *ends.runtime_messages(log),
        *(message for facts in reported for message in facts.messages),
        *remarks.extract(log),
    ]
    memory = [tensorflow_log.allocator_limit(log), Memory(oom_kills=ends.oom_kills(log))]
    return Crash(
        inputs=(entry,),
        processes=(process,) if process.exit or process.threads or process.program else (),
        exceptions=exceptions,
        records=tensorflow_log.records(log),
        messages=tuple(sorted(messages, key=lambda message: message.offset)),
        imports=imports.extract(log, process.threads),
        logs=(log,),
        memory=merge_memory([*memory, *(facts.memory for facts in reported)]),
        environment=merge_environment(
            [*(facts.environment for facts in reported), environment.extract(log, proven_os)]
        ),
    )


def _gaps(entry: Input, cut_lines: int) -> Iterator[Gap]:
    """What of the input was not kept."""
    if entry.left_out:
        detail = f"{entry.left_out.label} of {entry.name}: too large to keep"
        yield Gap("input", "left-out", "analyze-by-itself", entry.name, detail)
    if cut_lines:
        lines = "one line" if cut_lines == 1 else f"{cut_lines:,} lines"
        detail = f"the middle of {lines} of {entry.name}: longer than {LONGEST_LINE // 1024} KiB"
        yield Gap("input", "long-lines", None, entry.name, detail)


def _exit_of(statuses: list[ExitStatus], dumped: ExitStatus | None) -> ExitStatus | None:
    """The status that explains most: the last death in the log, else faulthandler's signal, else the last exit code."""
    deaths = [status for status in statuses if status.is_death]
    if deaths:
        return deaths[-1]
    return dumped or (statuses[-1] if statuses else None)
