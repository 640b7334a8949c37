"""What a run on Linux or macOS left: its exit status, the processes that were held, what the system wrote about it."""

from __future__ import annotations

import os
import sys
import time

from triage import status
from triage.capture.assemble import CRASH_SIGNALS, Member, Remains, Text, status_of_stopped
from triage.capture.command import Program
from triage.capture.hook_files import Note
from triage.capture.memory import kills_since, memory_facts, resources_of
from triage.capture.posix.held_process import Held
from triage.capture.posix.supervisor import Ended
from triage.capture.posix.system_records import line_about
from triage.crash import ExitStatus, Memory, Process


def remains_of(program: Program, ended: Ended, note: Note) -> Remains:
    """What is left of a run that failed; `note` is what the hook wrote about the main process."""
    exit_status = exit_status_of(ended)
    held = {one.pid: one for one in (*ended.crashed, *ended.hanging)}
    if its_own := held.pop(ended.pid, None):
        main = _member(its_own, ended, program.shown, exit_status)
    else:
        memory = memory_facts(ended.peak_bytes or None, None, ended.kills_before)
        resources = resources_of(None, ended.refusals_before)
        main = Member(
            Process(ended.pid, command=program.shown, exit=exit_status), note, memory=memory, resources=resources
        )
    crashed = tuple(one.pid for one in ended.crashed)
    others = (
        _member(one, ended, one.command, one.exit if pid in crashed else exit_status) for pid, one in held.items()
    )
    return Remains(
        members=(main, *others),
        crashed=crashed,
        texts=(*(Text(name, content) for name, content in ended.logs), *_of_the_system(ended, exit_status)),
        output_is_read=ended.output_is_read,
    )


def _member(held: Held, ended: Ended, command: str, exit_status: ExitStatus | None) -> Member:
    return Member(
        Process(held.pid, command=command, exit=exit_status, threads=held.threads, fault=held.fault),
        held.note,
        held.dump,
        memory=_memory(held, ended),
        resources=held.resources,
        libraries=held.libraries,
        loaded_twice=held.loaded_twice,
        gaps=held.missing,
    )


def _memory(held: Held, ended: Ended) -> Memory:
    """The figures of the process while it was held, else those that the system keeps of one that has ended."""
    if held.memory.peak_bytes is None:
        peak = ended.peak_bytes or None if held.pid == ended.pid else None
        return memory_facts(peak, None, ended.kills_before)
    return held.memory._replace(oom_kills=kills_since(ended.kills_before))


def exit_status_of(ended: Ended) -> ExitStatus:
    """The exit status of the main process; one that we ended has the reason for a name."""
    if stopped := status_of_stopped(ended.stopped_by, ended.stopped_after):
        return stopped
    if os.WIFSIGNALED(ended.wait_status):
        number = os.WTERMSIG(ended.wait_status)
        return status.from_code(-number)._replace(code=128 + number)
    code = os.WEXITSTATUS(ended.wait_status)
    convention = status.from_code(code)
    if not convention.is_death or (ended.interrupted and convention.signal == "SIGINT"):
        return convention
    # It has exited: nobody but it knows whether the number is a child's death or its own choice.
    meaning = f"it exited with {code}, as a shell does whose last command died of {convention.signal}"
    return ExitStatus(code=code, name=f"exit {code}", kind="exit", meaning=meaning)


def _of_the_system(ended: Ended, exit_status: ExitStatus) -> list[Text]:
    """What the system wrote about the death of the main process."""
    texts = []
    is_held = any(one.pid == ended.pid for one in ended.crashed)
    if not is_held and exit_status.signal in CRASH_SIGNALS and (line := line_about(ended.pid, ended.seconds)):
        texts.append(Text("kernel log", line.encode()))
    if sys.platform == "darwin" and os.WIFSIGNALED(ended.wait_status):
        from triage.capture.posix.system_records import crash_report_of

        report = crash_report_of(ended.pid, time.time() - ended.seconds)
        texts += [Text(*report)] if report else []
    return texts
