"""`triage analyze`: files in, report out."""

from __future__ import annotations

import sys

import click

import triage
from triage.cli.options import Choice, report_problems, signatures_option
from triage.report import DIAGNOSED, NO_CRASH, Report
from triage.reports import FORMATS, renderer

_UNREADABLE, _NOT_ENOUGH, _ANSWERED = 3, 1, 0


@click.command("analyze")
@click.argument("inputs", nargs=-1, metavar="[FILE | DIR | -]...")
@click.option("--exit-code", metavar="N", help="The exit code you saw: 139, -11, SIGSEGV, -1073740791, 0xC0000409.")
@click.option(
    "--format", "format_name", type=Choice(list(FORMATS)), default="text", show_default=True, help="How to print."
)
@click.option("--output", metavar="FILE", help="Write the report to FILE instead of standard output.")
@click.option("--each", is_flag=True, help="Every FILE is an incident of its own (a DIR always is).")
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="How many causes to tell."
)
@click.option("--no-redact", is_flag=True, help="Keep user names, home paths, addresses and tokens in the report.")
@signatures_option
def command(
    inputs: tuple[str, ...],
    exit_code: str | None,
    format_name: str,
    output: str | None,
    each: bool,
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
    inputs = inputs or _without_files(exit_code)
    if inputs.count("-") > 1:
        raise click.UsageError("'-' (standard input) can be given once only.")
    if "-" in inputs and sys.stdin.isatty():
        click.echo("triage: paste the log, then press Ctrl-D (Windows: Ctrl-Z, Enter).", err=True)
    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    incidents, refused = triage.incidents(inputs, each=each)
    for sentence in refused:
        click.echo(f"triage: {sentence}", err=True)
    status = _UNREADABLE if refused else _ANSWERED
    texts = []
    for files in incidents:
        try:
            report = triage.analyze(*files, exit_code=exit_code, top=top, redact=not no_redact, knowledge=knowledge)
        except triage.NotAnExitCode as error:
            raise click.BadParameter(f"{error}.", param_hint="--exit-code") from None
        unread = [entry for entry in report.crash.inputs if entry.kind == "unreadable"]
        for sentence in report.crash.unread if unread else ():
            click.echo(f"triage: {sentence}", err=True)
        status = max(status, _status(report, bool(unread)))
        if unread and len(unread) == len(files):
            continue
        if len(incidents) > 1 and format_name == "text":
            texts.append(f"== {', '.join(entry.name for entry in report.crash.inputs)}\n")
        if format_name == "text" and output is None and len(incidents) == 1:
            from triage.reports.terminal import show

            show(report, sys.stdout)
        else:
            texts.append(renderer(format_name)(report) + ("\n" if len(incidents) > 1 and format_name != "json" else ""))
    if texts:
        _write("".join(texts), output)
    sys.exit(status)


def _without_files(exit_code: str | None) -> tuple[str, ...]:
    """What is read when no file is named: standard input, unless a person at a terminal gave only a code."""
    return () if exit_code is not None and sys.stdin.isatty() else ("-",)


def _status(report: Report, unread: bool) -> int:
    if unread:
        return _UNREADABLE
    return _ANSWERED if report.verdict in (DIAGNOSED, NO_CRASH) else _NOT_ENOUGH


def _write(text: str, output: str | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise click.ClickException(
            f"{output} could not be written ({error.strerror}); choose another --output."
        ) from None
