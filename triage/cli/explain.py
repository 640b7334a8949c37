"""`triage explain`: what a code, signal, exception, cause, signature or frightening line means."""

from __future__ import annotations

import sys

import click

import triage
from triage.cli.options import report_problems, signatures_option
from triage.cli.stdio import say


# A code such as -11 looks like an option to click.
@click.command("explain", context_settings={"ignore_unknown_options": True})
@click.argument(
    "topic",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="CODE | SIGNAL | EXCEPTION | CAUSE | SIGNATURE | LINE",
)
@signatures_option
def command(topic: tuple[str, ...], packs: tuple[str, ...]) -> None:
    """Say what a code, signal, exception, cause, signature or frightening line of a log means.

    \b
    triage explain -1073740791
    triage explain 0xC0000409
    triage explain 139
    triage explain SIGSEGV
    triage explain ResourceExhausted
    triage explain gpu.out-of-memory
    triage explain "Unable to register cuFFT factory"
    """
    from triage.diagnosis.explain import UnknownTopic
    from triage.reports.terminal import show_page

    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    try:
        page = triage.explain(" ".join(topic), knowledge=knowledge)
    except UnknownTopic as unknown:
        hint = (
            f"did you mean {' or '.join(unknown.near)}?" if unknown.near else "try 'triage signatures list --causes'."
        )
        say(f"nothing is known about '{unknown.topic}'; {hint}")
        sys.exit(2)
    show_page(page, sys.stdout)
