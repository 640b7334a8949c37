"""An explanation page as lines of text."""

from __future__ import annotations

from triage.report import Page
from triage.reports.harmless import harmless
from triage.reports.text import Line
from triage.reports.wrapping import wrap

_WIDEST = 100


def render_page(page: Page) -> str:
    """The page as plain text."""
    return "\n".join(str(line) for line in page_lines(page, None)) + "\n"


def page_lines(page: Page, width: int | None) -> list[Line]:
    """The page's lines: the title, each section under its heading, the next command last."""
    lines = _wrapped(page.title, "answer", width)
    for heading, paragraphs in page.sections:
        lines += [Line(()), *_wrapped(heading, "heading", width, indent=1)]
        for paragraph in paragraphs:
            lines += _wrapped(" ".join(paragraph.split()), "text", width and min(width, _WIDEST), indent=2)
    if page.next:
        lines += [Line(()), Line(((" more  ", "label"), (page.next, "command")))]
    return lines


def _wrapped(text: str, role: str, width: int | None, indent: int = 0) -> list[Line]:
    pieces = [harmless(text)] if width is None else wrap(harmless(text), width - indent)
    return [Line(((" " * indent + piece, role),)) for piece in pieces]
