"""Log text -> Crash: decode, normalise, then one small extractor for each kind of fact."""

from __future__ import annotations

from collections.abc import Iterator

from triage.crash import Crash, ExitStatus, Gap, Input, Log, Process, merge_environment, merge_memory
from triage.readers.interface import Stream
from triage.readers.log import (
    containers,
    environment,
    exit_lines,
    fault_dumps,
    memory_lines,
    native_traces,
    runs,
    runtime_messages,
    tensorflow_log,
    tracebacks,
)
from triage.readers.log.lines import LONGEST_LINE, read_lines
from triage.readers.log.normalising import normalise


class TextReader:
    """Reads anything a person can paste."""

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a log; what was left out of a very large one is said in `gaps`.

        Of several runs the last one that failed is the incident, the others are told beside it.
        """
        content = read_lines(head, rest)
        text = normalise(content.lines, content.numbers)
        entry = Input(input_id, "log", name, complete=content.left_out is None, left_out=content.left_out)
        crashes = [_crash_of(run, entry) for run in runs.split(Log(input_id, text.lines, text.numbers))]
        failed = [crash for crash in crashes if crash.exit and crash.exit.is_failure]
        primary = failed[-1] if len(crashes) > 1 and failed else crashes[-1]
        return primary._replace(
            gaps=(
                *_gaps(entry, content.cut_lines),
                *(Gap("input", "cut-off", None, name, note) for note in text.notes),
            ),
            others=tuple(crash for crash in failed if crash is not primary) if len(crashes) > 1 else (),
        )


def _crash_of(log: Log, entry: Input) -> Crash:
    fault = fault_dumps.extract(log)
    told = containers.extract(log)
    process = Process(
        exit=_exit_of([*exit_lines.extract(log), *(status for one in told for status in one.exits)], fault.exit),
        threads=(*fault.threads, *native_traces.extract(log), *(thread for one in told for thread in one.threads)),
        fault=next((one.fault for one in told if one.fault), None),
    )
    told_os = "windows" if process.exit and process.exit.ntstatus else None
    messages = [*runtime_messages.extract(log), *(message for one in told for message in one.messages)]
    return Crash(
        inputs=(entry,),
        processes=(process,) if process.exit or process.threads else (),
        exceptions=tracebacks.extract(log),
        records=tensorflow_log.extract(log),
        messages=tuple(sorted(messages, key=lambda message: message.offset)),
        logs=(log,),
        memory=merge_memory([memory_lines.extract(log), *(one.memory for one in told)]),
        environment=merge_environment([*(one.environment for one in told), environment.extract(log, told_os)]),
    )


def _gaps(entry: Input, cut_lines: int) -> Iterator[Gap]:
    """What we did not keep; nothing that tells a cause is as long as a line that was cut."""
    if entry.left_out:
        detail = f"{entry.left_out.label} of {entry.name}: too large to keep"
        yield Gap("input", "left-out", "analyze-by-itself", entry.name, detail)
    if cut_lines:
        lines = "one line" if cut_lines == 1 else f"{cut_lines:,} lines"
        detail = f"the middle of {lines} of {entry.name}: longer than {LONGEST_LINE // 1024} KiB"
        yield Gap("input", "long-lines", None, entry.name, detail)


def _exit_of(lines: list[ExitStatus], fault: ExitStatus | None) -> ExitStatus | None:
    """The status that tells most: the last death in the log, else faulthandler's word, else the last exit code."""
    deaths = [status for status in lines if status.is_death]
    if deaths:
        return deaths[-1]
    return fault or (lines[-1] if lines else None)
