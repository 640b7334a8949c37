"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from triage.cli.stdio import say
from triage.reports import FORMATS

if TYPE_CHECKING:
    from triage.knowledge.database import Knowledge

F = TypeVar("F", bound=Callable[..., Any])


class Choice(click.Choice[str]):
    """A choice that suggests the value that was probably meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        import difflib

        near = difflib.get_close_matches(str(value), [str(choice) for choice in self.choices], n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return f"{value!r} is not one of {', '.join(map(str, self.choices))}.{hint}"


def signatures_option(function: F) -> F:
    """--signatures DIR, which may be repeated."""
    return click.option(
        "--signatures",
        "packs",
        multiple=True,
        metavar="DIR",
        help="A private signature pack, used on top of ours (also: TRIAGE_SIGNATURES).",
    )(function)


def report_options(function: F) -> F:
    """The options of every command that prints a report: --format, --output, --top, --no-redact, --signatures."""
    options = (
        click.option(
            "--format",
            "format_name",
            type=Choice(list(FORMATS)),
            default="text",
            show_default=True,
            help="The format of the report.",
        ),
        click.option("--output", metavar="FILE", help="Write the report to FILE, readable only by you."),
        click.option(
            "--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="How many causes to list."
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
    """Name what is broken in private packs; the rest is used."""
    for problem in knowledge.problems:
        say(f"signature skipped: {problem}")
