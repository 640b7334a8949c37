"""Report -> text, JSON or Markdown; each format is a module with one `render`."""

from __future__ import annotations

from importlib import import_module

from triage.reports.interface import Renderer

FORMATS = {"text": "triage.reports.text", "json": "triage.reports.json_report", "markdown": "triage.reports.markdown"}


def renderer(name: str) -> Renderer:
    """The renderer for a format's name; only that one is imported."""
    render: Renderer = import_module(FORMATS[name]).render
    return render
