"""`triage analyze`: files in, report out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

import triage
from triage.cli.options import cannot_be_written, print_report, report_options, report_problems
from triage.report import DIAGNOSED, NO_CRASH, Report
from triage.reports.harmless import harmless

_UNREADABLE, _NOT_ENOUGH, _ANSWERED = 3, 1, 0


class _CannotWrite(click.ClickException):
    """An output that cannot be written is wrong usage: click's own 1 would read as 'not enough evidence'."""

    exit_code = 2


@click.command("analyze")
@click.argument("inputs", nargs=-1, metavar="[FILE | DIR | -]...")
@click.option("--exit-code", metavar="N", help="The exit code you saw: 139, -11, SIGSEGV, -1073740791, 0xC0000409.")
@click.option("--executable", metavar="PATH", help="The program that left a core, where it is not found by itself.")
@click.option(
    "--pe-dir",
    "pe_directories",
    multiple=True,
    metavar="DIR",
    help="Where the DLLs of a program that left a minidump lie, to walk its stack (several times).",
)
@click.option("--each", is_flag=True, help="Every FILE is an incident of its own (a DIR always is).")
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
    """Say why a process died, from what it left behind.

    All FILEs are of ONE incident and are read together; a DIR, or --each, gives one report a file. Without a FILE, or
    with -, standard input is read.

    Exit status: 0 an answer (diagnosed, no-crash), 1 not enough evidence, 2 wrong usage, 3 an input that could not
    be read.
    """
    for directory in pe_directories:
        if not os.path.isdir(directory):
            raise click.BadParameter(f"There is no directory '{directory}'.", param_hint="--pe-dir")
    inputs = inputs or _without_files(exit_code)
    if inputs.count("-") > 1:
        raise click.UsageError("'-' (standard input) can be given once only.")
    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    incidents, refused = triage.incidents(inputs, each=each)
    for sentence in refused:
        click.echo(f"triage: {sentence}", err=True)
    status = _UNREADABLE if refused else _ANSWERED
    if "-" in inputs and _at_a_terminal():
        click.echo("triage: paste the log, then press Ctrl-D (Windows: Ctrl-Z, Enter).", err=True)
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
            unread = [entry for entry in report.crash.inputs if entry.kind == "unreadable"]
            for sentence in report.crash.unread if unread else ():
                click.echo(f"triage: {sentence}", err=True)
            status = max(status, _status(report, bool(unread)))
            if unread and len(unread) == len(files):
                continue
            _print(report if no_redact else triage.redact(report), format_name, stream, several=len(incidents) > 1)
    sys.exit(status)


@contextmanager
def _destination(output: str | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    try:
        with open(output, "w", encoding="utf-8") as stream:
            yield stream
    except OSError as error:
        raise _CannotWrite(cannot_be_written(output, error)) from None


def _print(report: Report, format_name: str, stream: TextIO, *, several: bool) -> None:
    """One report; where there are several, each is a line of JSON or stands under its name."""
    if several and format_name == "text":
        stream.write(f"== {harmless(', '.join(entry.name for entry in report.crash.inputs))}\n")
    print_report(report, format_name, stream)
    if several and format_name != "json":
        stream.write("\n")


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _without_files(exit_code: str | None) -> tuple[str, ...]:
    """What is read when no file is named: standard input, unless a person at a terminal gave only a code."""
    return () if exit_code is not None and _at_a_terminal() else ("-",)


def _status(report: Report, unread: bool) -> int:
    if unread:
        return _UNREADABLE
    return _ANSWERED if report.verdict in (DIAGNOSED, NO_CRASH) else _NOT_ENOUGH
