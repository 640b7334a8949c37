"""Reports and pages on a stream: colours and wrapping for a terminal, plain text for everything else.

Colour follows NO_COLOR, FORCE_COLOR and TERM=dumb; width is the terminal's. rich is imported only to colour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from triage.report import Page, Report
from triage.reports.text import Line, Style, layout

if TYPE_CHECKING:
    from rich.text import Text

_COLOURS: dict[Style, str] = {
    "answer": "bold",
    "share": "bold cyan",
    "label": "dim",
    "for": "green",
    "against": "yellow",
    "command": "cyan",
    "dim": "dim",
    "heading": "bold",
    "text": "",
}


def show(report: Report, stream: TextIO) -> None:
    """Print a report, in colour and one screen long if the stream is a terminal."""
    _print(layout(report, width_of(stream)), stream)


def show_page(page: Page, stream: TextIO) -> None:
    """Print an explanation, in colour and wrapped if the stream is a terminal."""
    from triage.reports.pages import page_lines

    _print(page_lines(page, width_of(stream)), stream)


def width_of(stream: TextIO) -> int | None:
    """The columns of a terminal; None for a pipe or a file, where nothing is wrapped."""
    if not stream.isatty():
        return None
    try:
        columns = int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        try:
            columns = os.get_terminal_size(stream.fileno()).columns or 80
        except (OSError, ValueError):
            columns = 80
    return max(40, columns)


def has_colour(stream: TextIO) -> bool:
    """Whether to colour: NO_COLOR says no, FORCE_COLOR yes, else only a terminal that is not dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


def _print(lines: list[Line], stream: TextIO) -> None:
    if not has_colour(stream):
        stream.write("".join(f"{line}\n" for line in lines))
        return
    from rich.console import Console

    console = Console(file=stream, force_terminal=True, force_interactive=False, soft_wrap=True, highlight=False)
    for line in lines:
        console.print(coloured(line))


def coloured(line: Line) -> Text:
    """A line for rich. Text is never parsed as markup, so `[/job:localhost]` in a log stays what it is."""
    from rich.text import Text

    return Text.assemble(*((piece, _COLOURS[style]) for piece, style in line.pieces), end="")
