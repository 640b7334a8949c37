"""An explanation page as lines of text."""

from __future__ import annotations

import re

from triage.report import Page
from triage.reports.characters import harmless, wrap
from triage.reports.text import Line, Style

_WIDEST = 100
# How an entry of a list begins: with a number, a dash, or a name and a colon.
_ENTRY = re.compile(r"(\d+\. |- )|\S+(?: \([a-z]+\))?: ")


def render_page(page: Page) -> str:
    """The page as plain text."""
    return "\n".join(str(line) for line in page_lines(page, None)) + "\n"


def page_lines(page: Page, width: int | None) -> list[Line]:
    """The page's lines: the title, each section under its heading, the next command last."""
    lines = _wrapped(page.title, "answer", width)
    for heading, paragraphs in page.sections:
        lines += [Line(()), *_wrapped(heading, "heading", width, indent=1)]
        for paragraph in paragraphs:
            text = " ".join(paragraph.split())
            lines += _wrapped(text, "text", width and min(width, _WIDEST), indent=2, hang=_hang(text))
    if page.next:
        lines += [Line(()), Line(((" more  ", "label"), (page.next.line(), "command")))]
    return lines


def _hang(text: str) -> int:
    """How far the second and further lines of a list entry are indented."""
    entry = _ENTRY.match(text)
    return len(entry[1] or "  ") if entry else 0


def _wrapped(text: str, style: Style, width: int | None, indent: int = 0, hang: int = 0) -> list[Line]:
    pieces = [harmless(text)] if width is None else wrap(harmless(text), width - indent, hang)
    return [Line(((" " * indent + piece, style),)) for piece in pieces]
