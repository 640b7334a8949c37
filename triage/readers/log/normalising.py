"""The text as the program wrote it: without what mail, chat, consoles and log collectors put around it.

Each step looks at a sample first and does nothing where its mark is missing. Lines keep their original numbers.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from triage.readers.log import cuts, hard_wraps, markup, order, prefixes


class Normalised(NamedTuple):
    """The lines, their original numbers, and sentences about what is missing at either end."""

    lines: list[str]
    numbers: array[int]
    notes: tuple[str, ...]


def normalise(lines: list[str], numbers: array[int]) -> Normalised:
    """Markup off, prefixes off, oldest line first, one process after the other, hard-wrapped lines whole again."""
    lines, numbers = markup.remove(lines, numbers)
    stripped = prefixes.strip(lines)
    positions = order.oldest_first(lines, stripped)
    lines = [stripped.lines[position] for position in positions]
    numbers = array("Q", (numbers[position] for position in positions))
    lines, numbers = hard_wraps.join(lines, numbers)
    return Normalised(lines, numbers, cuts.notes(lines))
