"""Lines that a console of fixed width broke in the middle of a word, made whole again."""

from __future__ import annotations

from array import array
from itertools import pairwise

# Widths that consoles have; one less where the last column stays free.
_WIDTHS = frozenset({79, 80, 99, 100, 119, 120, 131, 132, 159, 160})
_SAMPLE = 4000
# Lines that start like this start something new, however full the line before is.
_STARTS = ("Traceback (", "  File ", "    ", "\t", "#", ">>> ", "During handling", "[", "(")


def join(lines: list[str], numbers: array[int]) -> tuple[list[str], array[int]]:
    """The lines with those joined that a console broke; unchanged where nothing says that one did."""
    width = _width(lines[:_SAMPLE])
    if width is None:
        return lines, numbers
    whole: list[str] = []
    kept = array("Q")
    glue: str | None = None
    for line, number in zip(lines, numbers, strict=True):
        if glue is not None and line and not line.startswith(_STARTS):
            whole[-1] += glue + line
        else:
            whole.append(line)
            kept.append(number)
        # A space in the last column is gone from the end of the line, and belongs between the two.
        glue = {width: "", width - 1: " "}.get(len(line))
    return whole, kept


def _width(lines: list[str]) -> int | None:
    """The console's width: the longest lines all have it, none is longer, and the text runs on behind most of them."""
    longest = max(map(len, lines), default=0)
    if longest not in _WIDTHS:
        return None
    full = [(line, follower) for line, follower in pairwise([*lines, ""]) if len(line) in (longest, longest - 1)]
    run_on = sum(bool(follower) and not follower.startswith(_STARTS) for _, follower in full)
    if len(full) == 1:
        # One full line may be chance; an exception's message that goes on in the middle of a sentence is none.
        return longest if _in_mid_sentence(*full[0]) else None
    return longest if 3 * run_on >= 2 * len(full) else None


def _in_mid_sentence(line: str, follower: str) -> bool:
    goes_on = follower.lstrip(" ")[:1]
    return (
        "Error: " in line
        and line[-1] not in ".:;"
        and not follower.startswith(_STARTS)
        and (goes_on.islower() or goes_on.isdigit())
    )
