"""Version ranges as signatures write them: `>=2.16`, `<2`, `>=8.3,<9`."""

from __future__ import annotations

from collections.abc import Iterator

from triage.clues.interface import Complaint
from triage.ranges import parts_of, terms_of


def in_range(version: str, wanted: str) -> bool:
    """Whether a version is in a range; `==` compares only as many parts as the range has."""
    have = parts_of(version)
    if not have:
        return False
    terms = terms_of(wanted)
    for operator, bound in terms or ():
        width = max(len(have), len(bound))
        left, right = have + (0,) * (width - len(have)), bound + (0,) * (width - len(bound))
        holds = {
            ">=": left >= right,
            "<=": left <= right,
            "<": left < right,
            ">": left > right,
            "==": have[: len(bound)] == bound,
        }[operator]
        if not holds:
            return False
    return terms is not None


def range_complaints(*ranges: str | None) -> Iterator[Complaint]:
    """What lint says about texts that are not ranges."""
    for wanted in filter(None, ranges):
        if terms_of(wanted) is None:
            yield (), f"'{wanted}' is not a version range", "'>=2.16' or '>=8.3,<9'"


def order(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared, without trailing zeros."""
    parts = parts_of(version)
    while parts and parts[-1] == 0:
        parts = parts[:-1]
    return parts
