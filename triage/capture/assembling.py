"""Everything that a run left behind -> one Crash."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

from triage import patterns, status
from triage.capture.assemble import (
    Text,
    dump_of,
    environment_of_run,
    hidden_log,
    notes_as_gaps,
    output_gaps,
    read_text,
    without_our_frames,
    without_ours,
)
from triage.capture.command import Program
from triage.capture.faults import Note
from triage.capture.holding import Held
from triage.capture.kernel_log import line_about
from triage.capture.memory import kills_since, memory_facts
from triage.capture.resources import resources_of
from triage.capture.stopping import status_of_stopped
from triage.capture.supervisor import Ended
from triage.crash import Crash, ExitStatus, Gap, Memory, Process, PythonFrame, Role, Thread, merge

_CRASHED = {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}
# What a shell, subprocess, a pool of workers and a dying Python print: the process's number, or fixed words.
_BY_ITS_PARENT = (
    r"line \d+:\s+\d+ |^\[\d+\]\s*[-+]?\s+\d+ |\(?pid(?:\(s\))?[ =:]*\d+|"
    r" died with <Signals\.|returned non-zero exit status|^Fatal Python error: "
)
_LAST_LINES = 50


def crash_of(program: Program, ended: Ended, note: Note) -> Crash:
    """The facts of a run that failed; `note` is what the hook wrote about the main process."""
    from triage.capture.installed import modules_not_found
    from triage.capture.machine import environment_of

    texts = _texts(ended) if ended.logs or ended.crashed else []
    told = merge(read_text(text, number) for number, text in enumerate(texts))
    processes = _processes(program, ended, told, [text.pid for text in texts])
    primary = _primary(processes, ended)
    held = _held(ended, processes[primary].pid)
    facts = held or next(iter(ended.hanging), None)
    environment = environment_of(
        (facts and facts.note.python) or note.python or program.python,
        facts.libraries if facts else (),
        not_found=modules_not_found(told.exceptions),
    )
    return told._replace(
        exceptions=without_ours(told.exceptions),
        processes=processes,
        primary=primary,
        memory=_memory(facts, ended),
        resources=facts.resources if facts else resources_of(None, ended.refusals_before),
        environment=environment_of_run(
            environment._replace(
                libraries_complete=bool(facts and facts.libraries),
                loaded_twice=facts.loaded_twice if facts else (),
                hidden_log=hidden_log(facts.note, facts.libraries) if facts else hidden_log(note, ()),
            ),
            told.environment,
        ),
        gaps=(*told.gaps, *notes_as_gaps(program.notes), *_missing(processes[primary], held, ended, note)),
    )


def _memory(facts: Held | None, ended: Ended) -> Memory:
    """The figures of the process while it was held, else those that the system keeps of one that has ended."""
    if facts is None or facts.memory.peak_bytes is None:
        known = facts is None or facts.pid == ended.pid
        return memory_facts(ended.peak_bytes or None if known else None, None, ended.kills_before)
    return facts.memory._replace(oom_kills=kills_since(ended.kills_before))


def wait_status_of(ended: Ended) -> ExitStatus:
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


def _texts(ended: Ended) -> list[Text]:
    """What there is to read: the output, faulthandler's stacks, and what the system wrote about the death."""
    texts = [Text(name, content) for name, content in ended.logs]
    texts += [dump_of(held.pid, held.dump) for held in ended.crashed if held.dump]
    if _died_unseen(ended) and (line := line_about(ended.pid, ended.seconds)):
        texts.append(Text("kernel log", line.encode()))
    if sys.platform == "darwin" and os.WIFSIGNALED(ended.wait_status):
        from triage.capture.crash_reports import crash_report_of

        report = crash_report_of(ended.pid, time.time() - ended.seconds)
        texts += [Text(*report)] if report else []
    return texts


def _died_unseen(ended: Ended) -> bool:
    """Whether the main process died of a fault that none of our handlers caught."""
    held = any(one.pid == ended.pid for one in ended.crashed)
    return not held and wait_status_of(ended).signal in _CRASHED


def _processes(program: Program, ended: Ended, told: Crash, of_whom: Sequence[int | None]) -> tuple[Process, ...]:
    """The main process first, then those that crashed or hung, then one that only the output tells of."""
    main = Process(ended.pid, "main", program.shown, wait_status_of(ended))
    found = {ended.pid: main}
    dumps = told.processes[told.primary].threads if told.processes else ()
    for held in (*ended.crashed, *ended.hanging):
        threads = _threads(held, _dump_of(held, of_whom, dumps)) if held in ended.crashed else held.threads
        threads = without_our_frames(threads)
        if held.pid == ended.pid:
            found[held.pid] = main._replace(threads=threads, fault=held.fault, forked_with=held.note.forked_with)
        else:
            role: Role = "worker" if _is_worker(held) else "child"
            found[held.pid] = Process(
                held.pid,
                role,
                held.command,
                held.exit if held in ended.crashed else main.exit,
                threads,
                held.fault,
                held.note.forked_with,
            )
    if not ended.crashed and told.exit and _is_of_a_child(told.exit, told, main.exit):
        found[-1] = Process(None, "child", None, told.exit, dumps)
    elif not any(process.threads for process in found.values()):
        found[ended.pid] = found[ended.pid]._replace(
            threads=dumps, fault=told.processes[told.primary].fault if told.processes else None
        )
    return tuple(found.values())


def _is_of_a_child(said: ExitStatus, told: Crash, main: ExitStatus | None) -> bool:
    """Whether the output tells of a child's death, and does not only mention one.

    A parent hands the status on as its own, or names the child that it waited for, near the end of what it prints.
    """
    if said.signal_number is None or said.place is None or (main and main.is_death):
        return False
    if main and main.code == 128 + said.signal_number:
        return True
    log = next((log for log in told.logs if log.input == said.place.input), None)
    if log is None or said.place.line not in log.numbers:
        return False
    index = log.numbers.index(said.place.line)
    line = next(text for number, (_, text) in enumerate(log.lines()) if number == index)
    return len(log.numbers) - index <= _LAST_LINES and patterns.compile(_BY_ITS_PARENT).search(line) is not None


def _dump_of(held: Held, of_whom: Sequence[int | None], dumps: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The threads of its own fault dump; where its script kept that for itself, those that only the output tells of.

    `of_whom` has for each input the process whose fault dump it is.
    """
    wanted = held.pid if held.dump else None
    return tuple(thread for thread in dumps if (of_whom[thread.place.input] if thread.place else None) == wanted)


def _threads(held: Held, dumps: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """The collected stacks; where they lack the Python side, or all of it, faulthandler's own."""
    if not held.threads:
        return dumps
    crashed = next((thread for thread in dumps if thread.crashed and thread.python_stack), None)
    if crashed is None:
        return held.threads
    return tuple(_completed(thread, crashed.python_stack) if thread.crashed else thread for thread in held.threads)


def _completed(thread: Thread, dumped: tuple[PythonFrame, ...]) -> Thread:
    """The dump's Python stack where the collector has none, and its lines where that has names only."""
    if not thread.python_stack:
        return thread._replace(python_stack=dumped)
    if len(dumped) != len(thread.python_stack):
        return thread
    pairs = zip(thread.python_stack, dumped, strict=True)
    return thread._replace(python_stack=tuple(f if f.line else f._replace(line=d.line) for f, d in pairs))


def _is_worker(held: Held) -> bool:
    """A worker is a Python that multiprocessing or a fork made; anything else that was started is a child."""
    return "multiprocessing" in held.command or "loky" in held.command or held.note.python is not None


def _primary(processes: Sequence[Process], ended: Ended) -> int:
    """The process that crashed first is what the incident is about, else one that the output tells of, else main."""
    first = next((held.pid for held in ended.crashed), None)
    if ended.stopped_by and first is None:
        # Of a hanging tree the worker that can't go on is the root, and the others wait for it.
        first = next((held.pid for held in ended.hanging if held.note.forked_with), ended.pid)
    for index, process in enumerate(processes):
        if (first is not None and process.pid == first) or (first is None and process.pid is None):
            return index
    return 0


def _held(ended: Ended, pid: int | None) -> Held | None:
    return next((held for held in (*ended.crashed, *ended.hanging) if held.pid == pid), None)


def _missing(process: Process, held: Held | None, ended: Ended, note: Note) -> list[Gap]:
    """What could not be seen of this run, and why."""
    missing = list(held.missing) if held else []
    died_of = process.exit.signal if process.exit else None
    if held is None and died_of in _CRASHED:
        if process.pid == ended.pid and note.hooked and not note.has_file:
            detail = "the limit on open files is too low for a file of ours (raise it: ulimit -n 1024)"
            missing.append(Gap("native stack", "open-files", "raise-limit", detail=detail))
        elif process.pid == ended.pid and note.hooked:
            detail = (
                "the process died before its handler could run; its stack was used up, it has handlers of its own, "
                "or it closed our file"
            )
            missing.append(Gap("native stack", "no-handler", detail=detail))
        else:
            detail = (
                "our hook did not run in this process (python -I, -E or -S, an emptied environment, no Python at "
                "all, or no room for its files in /dev/shm and TMPDIR)"
            )
            missing.append(Gap("native stack", "not-hooked", detail=detail))
    elif died_of == signal.Signals.SIGKILL.name:
        missing.append(Gap("native stack", "killed", detail="a process that is killed leaves none"))
    return [*missing, *output_gaps(output_is_read=ended.output_is_read)]
