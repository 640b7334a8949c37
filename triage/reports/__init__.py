"""Report -> text, JSON or Markdown; each format is a module with one `render`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from triage.report import Report

FORMATS = {"text": "triage.reports.text", "json": "triage.reports.json_report", "markdown": "triage.reports.markdown"}


class Renderer(Protocol):
    """Turns a report into text that ends with a line feed."""

    def __call__(self, report: Report) -> str: ...


def renderer(name: str) -> Renderer:
    """The renderer of a format; only that format is imported."""
    render: Renderer = import_module(FORMATS[name]).render
    return render
