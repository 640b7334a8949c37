"""What a format must do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from triage.report import Report


class Renderer(Protocol):
    """Turns a report into text that ends with a line feed."""

    def __call__(self, report: Report) -> str: ...
