"""`triage explain`: what a code, signal, exception, library, setting, cause or line of a log means."""

from __future__ import annotations

import os
import shlex
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
    metavar="CODE | SIGNAL | EXCEPTION | LIBRARY | SETTING | CAUSE | LINE",
)
@signatures_option
def command(topic: tuple[str, ...], packs: tuple[str, ...]) -> None:
    """Say what a code, signal, exception, library, setting, cause or line of a log means.

    \b
    triage explain -1073740791
    triage explain 0xC0000409
    triage explain 139
    triage explain SIGSEGV
    triage explain ResourceExhausted
    triage explain cudnn64_8.dll
    triage explain gpu.out-of-memory
    triage explain "Unable to register cuFFT factory"
    """
    from triage.diagnosis.explain import UnknownTopic
    from triage.reports.terminal import show_page

    knowledge = triage.load_knowledge(packs)
    report_problems(knowledge)
    words = " ".join(topic)
    try:
        page = triage.explain(words, knowledge=knowledge)
    except UnknownTopic as unknown:
        say(f"nothing is known about '{unknown.topic}'; {_what_to_try(words, unknown.near)}")
        sys.exit(2)
    show_page(page, sys.stdout)


def _what_to_try(words: str, near: list[str]) -> str:
    """What may help a person for whose words there is no page."""
    if os.path.isfile(words):
        return f"it is a file, so try: triage analyze {shlex.quote(words)}"
    if near:
        return f"did you mean {' or '.join(near)}?"
    if not words.strip():
        return "name a code, a signal, an exception, a library or a line of the log."
    return "give the whole line that has it, or the whole log to 'triage analyze LOG'."
