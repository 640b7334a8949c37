"""`triage analyze`: files in, report out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

import triage
from triage import defects
from triage.cli.options import report_options, report_problems
from triage.cli.output import (
    cannot_be_written,
    is_older_report,
    is_same,
    print_report,
    refuse_what_is_read,
    refuse_what_lies_in,
    report_file,
)
from triage.cli.stdio import NOT_PRINTED, say
from triage.report import DIAGNOSED, NO_CRASH, Report
from triage.reports.characters import harmless

_UNREADABLE, _NOT_ENOUGH, _ANSWERED = 3, 1, 0


class _CannotBeOpened(click.ClickException):
    """An --output that cannot take a report: wrong usage, because click's own 1 means 'not enough evidence' here."""

    exit_code = 2


class _CannotBeWritten(click.ClickException):
    """An --output that failed while the report was being written, as standard output can."""

    exit_code = NOT_PRINTED


@click.command("analyze")
@click.argument("inputs", nargs=-1, metavar="[FILE | DIR | -]...")
@click.option(
    "--exit-code", metavar="N", help="The exit code that you saw: 139, -11, SIGSEGV, -1073740791, 0xC0000409."
)
@click.option("--executable", metavar="PATH", help="The program that dumped core, if triage cannot find it.")
@click.option(
    "--pe-dir",
    "pe_directories",
    multiple=True,
    metavar="DIR",
    help="A folder with the DLLs of the program, to walk the stack of a minidump (may be repeated).",
)
@click.option("--each", is_flag=True, help="Treat every FILE as an incident of its own, as in a DIR.")
@report_options
def command(
    inputs: tuple[str, ...],
    exit_code: str | None,
    executable: str | None,
    pe_directories: tuple[str, ...],
    each: bool,
    format_name: str,
    output: str | None,
    top: int,
    no_redact: bool,
    packs: tuple[str, ...],
) -> None:
    """Say why a process died, from the log, core or dump that it left behind.

    All FILEs belong to ONE incident and are read together; a DIR, or --each, gives one report per file. Without a FILE,
    or with -, standard input is read.

    Exit status: 0 an answer (diagnosed, no-crash), 1 not enough evidence, 2 wrong usage, 3 an input that could not
    be read, 70 a bug in triage, 74 the report could not be written.
    """
    for directory in pe_directories:
        if not os.path.isdir(directory):
            raise click.BadParameter(f"There is no directory '{directory}'.", param_hint="--pe-dir")
    inputs = inputs or _without_files(exit_code)
    if inputs.count("-") > 1:
        raise click.UsageError("'-' (standard input) can be given only once.")
    output = None if output == "-" else output
    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    incidents, refused = triage.incidents(inputs, each=each)
    for sentence in refused:
        say(sentence)
    if output is not None:
        incidents = _beside(output, incidents, inputs)
        _refuse_what_is_read(output, incidents, executable, (*pe_directories, *knowledge.directories))
    status = _UNREADABLE if refused else _ANSWERED
    if "-" in inputs and _at_a_terminal():
        say("paste the log, then press Ctrl-D (Windows: Ctrl-Z, Enter).")
    several = len(incidents) > 1
    with _destination(output) as stream:
        for files in incidents:
            try:
                report = triage.analyze(
                    *files,
                    exit_code=exit_code,
                    top=top,
                    redact=False,
                    knowledge=knowledge,
                    executable=executable,
                    pe_directories=pe_directories,
                )
            except triage.NotAnExitCode as error:
                raise click.BadParameter(f"{error}.", param_hint="--exit-code") from None
            except Exception as error:
                status = max(status, _defect(error, files, several=several))
                continue
            unread = [entry for entry in report.crash.inputs if entry.kind == "unreadable"]
            for gap in report.crash.gaps:
                if gap.why == "unreadable":
                    say(gap.detail)
            status = max(status, _status(report, bool(unread)))
            if unread and len(unread) == len(files):
                continue
            try:
                _print(report if no_redact else triage.redact(report), format_name, stream, several=several)
            except OSError:
                raise  # the output failed, and it is the same for all of them
            except Exception as error:
                status = max(status, _defect(error, files, several=several))
    sys.exit(status)


def _defect(error: Exception, files: tuple[str, ...], *, several: bool) -> int:
    """Name the file on which triage itself failed; the other files still get their reports."""
    names = harmless(", ".join(files))
    say(f"{names}: {defects.sentence(error)}.")
    return _UNREADABLE if several else defects.EXIT_CODE


def _beside(output: str, incidents: list[tuple[str, ...]], inputs: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The incidents without our own earlier report, where --output is in the folder that is read."""
    if not is_older_report(output):
        return incidents
    others = [files for files in incidents if files[0] in inputs or not is_same(output, files[0])]
    return others or incidents


def _refuse_what_is_read(
    output: str, incidents: list[tuple[str, ...]], executable: str | None, folders: tuple[str, ...]
) -> None:
    files = [0 if name == "-" else name for names in incidents for name in names]
    refuse_what_is_read(output, "one of the files to analyze", files)
    refuse_what_is_read(output, "the program that dumped core", [executable] if executable else [])
    refuse_what_lies_in(output, "in a folder that triage reads", folders)


@contextmanager
def _destination(output: str | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    failure: type[click.ClickException] = _CannotBeOpened
    try:
        with report_file(output) as stream:
            failure = _CannotBeWritten
            yield stream
    except OSError as error:
        raise failure(cannot_be_written(output, error)) from None


def _print(report: Report, format_name: str, stream: TextIO, *, several: bool) -> None:
    """Print one report; if there are several, text reports get the name of their file as a heading."""
    if several and format_name == "text":
        stream.write(f"== {harmless(', '.join(entry.name for entry in report.crash.inputs))}\n")
    print_report(report, format_name, stream)
    if several and format_name != "json":
        stream.write("\n")


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _without_files(exit_code: str | None) -> tuple[str, ...]:
    """What to read if no file is named: standard input, unless a person at a terminal gave only an exit code."""
    return () if exit_code is not None and _at_a_terminal() else ("-",)


def _status(report: Report, unread: bool) -> int:
    if unread:
        return _UNREADABLE
    return _ANSWERED if report.verdict in (DIAGNOSED, NO_CRASH) else _NOT_ENOUGH
