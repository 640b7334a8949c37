"""An explanation page as lines of text."""

from __future__ import annotations

import textwrap

from triage.report import Page
from triage.reports.harmless import harmless
from triage.reports.text import Line

_WIDEST = 100


def render_page(page: Page) -> str:
    """The page as plain text."""
    return "\n".join(str(line) for line in page_lines(page, None)) + "\n"


def page_lines(page: Page, width: int | None) -> list[Line]:
    """The page's lines: the title, each section under its heading, the next command last."""
    lines = [Line(((harmless(page.title), "answer"),))]
    for heading, paragraphs in page.sections:
        lines += [Line(()), Line(((f" {heading}", "heading"),))]
        for paragraph in paragraphs:
            text = harmless(" ".join(paragraph.split()))
            wrapped = [text] if width is None else textwrap.wrap(text, min(width, _WIDEST) - 2, break_on_hyphens=False)
            lines += [Line((("  ", "text"), (piece, "text"))) for piece in wrapped]
    if page.next:
        lines += [Line(()), Line(((" more  ", "label"), (page.next, "command")))]
    return lines
