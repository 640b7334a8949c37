"""Options that several commands share."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from triage.cli.streams import say
from triage.reports import FORMATS, renderer

if TYPE_CHECKING:
    from triage.knowledge.database import Knowledge
    from triage.report import Report

F = TypeVar("F", bound=Callable[..., Any])


class Choice(click.Choice[str]):
    """A choice that says which value was perhaps meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        import difflib

        near = difflib.get_close_matches(str(value), [str(choice) for choice in self.choices], n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return f"{value!r} is not one of {', '.join(map(str, self.choices))}.{hint}"


def signatures_option(function: F) -> F:
    """--signatures DIR, several times."""
    return click.option(
        "--signatures",
        "packs",
        multiple=True,
        metavar="DIR",
        help="A private signature pack laid over ours (also: TRIAGE_SIGNATURES).",
    )(function)


def report_options(function: F) -> F:
    """What every command that prints a report understands: --format, --output, --top, --no-redact, --signatures."""
    options = (
        click.option(
            "--format",
            "format_name",
            type=Choice(list(FORMATS)),
            default="text",
            show_default=True,
            help="How to print.",
        ),
        click.option("--output", metavar="FILE", help="Write the report to FILE, which only you may read then."),
        click.option(
            "--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="How many causes to tell."
        ),
        click.option(
            "--no-redact", is_flag=True, help="Keep user names, home paths, addresses and tokens in the report."
        ),
        signatures_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def report_problems(knowledge: Knowledge) -> None:
    """Name what is broken in private packs; the rest works."""
    for problem in knowledge.problems:
        say(f"signature skipped: {problem}")


def print_report(report: Report, format_name: str, stream: TextIO) -> None:
    """One report in a format; text has colours where the stream is a terminal."""
    if format_name == "text":
        from triage.reports.terminal import show

        show(report, stream)
    else:
        stream.write(renderer(format_name)(report))


def cannot_be_written(output: str, error: OSError) -> str:
    """The sentence for an --output that fails."""
    return f"{output} could not be written ({error.strerror or error}); choose another --output."


def write_report(report: Report, format_name: str, output: str | None) -> None:
    """The report of a run to a file or to standard error; where the file can't be written it is not lost.

    The run may have read or made the file itself: a module, its data, its results. So only an older report of ours
    gives way to the new one.
    """
    if output is not None:
        from triage.cli.report_file import is_somebody_elses, report_file

        try:
            if is_somebody_elses(output):
                raise FileExistsError(errno.EEXIST, "it is there and is no report of triage")
            with report_file(output) as stream:
                print_report(report, format_name, stream)
            return
        except OSError as error:
            say(f"{cannot_be_written(output, error)} The report follows.")
    try:
        # Apart from what the program printed last, which may be half a line.
        sys.stderr.write("\n")
        print_report(report, format_name, sys.stderr)
        sys.stderr.flush()
    except OSError:
        # The terminal is gone; whoever started us still gets the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
