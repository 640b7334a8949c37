"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from triage.knowledge.loading import Knowledge

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


def report_problems(knowledge: Knowledge) -> None:
    """Name what is broken in private packs; the rest works."""
    for problem in knowledge.problems:
        click.echo(f"triage: signature skipped: {problem}", err=True)
