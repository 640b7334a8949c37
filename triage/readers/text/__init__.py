"""Log text -> Crash: decode, normalise, then one small extractor for each kind of fact."""

from __future__ import annotations

from triage.crash import Crash, ExitStatus, Input, Log, Process
from triage.readers.interface import Stream
from triage.readers.text import (
    environment,
    exit_lines,
    fault_dumps,
    memory_lines,
    native_traces,
    runtime_messages,
    tensorflow_log,
    tracebacks,
)
from triage.readers.text.lines import read_lines


class TextReader:
    """Reads anything a person can paste."""

    def read(self, name: str, input_id: int, head: bytes, rest: Stream) -> Crash:
        """The facts in a log; what was left out of a very large one is said in `unread`."""
        content = read_lines(head, rest)
        log = Log(input_id, content.lines, content.numbers)
        fault = fault_dumps.extract(log)
        process = Process(
            exit=_exit_of(exit_lines.extract(log), fault.exit),
            threads=(*fault.threads, *native_traces.extract(log)),
        )
        told_os = "windows" if process.exit and process.exit.ntstatus else None
        return Crash(
            inputs=(Input(input_id, "log", name, complete=not content.left_out),),
            processes=(process,) if process.exit or process.threads else (),
            exceptions=tracebacks.extract(log),
            records=tensorflow_log.extract(log),
            messages=runtime_messages.extract(log),
            logs=(log,),
            memory=memory_lines.extract(log),
            environment=environment.extract(log, told_os),
            unread=(f"{content.left_out} in the middle of {name}: too large to keep",) if content.left_out else (),
        )


def _exit_of(lines: list[ExitStatus], fault: ExitStatus | None) -> ExitStatus | None:
    """The status that tells most: the last death in the log, else faulthandler's word, else the last exit code."""
    deaths = [status for status in lines if status.is_death]
    if deaths:
        return deaths[-1]
    return fault or (lines[-1] if lines else None)
