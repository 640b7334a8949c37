"""Which lines of a console are new: its older ones may have moved up, or out of its memory. No call of Windows."""

from __future__ import annotations

from collections.abc import Sequence


def new_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The lines of `after` that come behind what was there before.

    What is left of the old lines is the longest end of `before` with which `after` begins; the last old line may have
    been written on.
    """
    if not before:
        return list(after)
    *whole, last = before
    for start in range(len(whole) + 1):
        old = whole[start:]
        rest = after[len(old) :]
        if list(after[: len(old)]) == old and rest and rest[0].startswith(last):
            return [rest[0][len(last) :], *rest[1:]] if last else list(rest)
    return list(after)
