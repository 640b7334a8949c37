"""Version ranges as signatures write them: `>=2.16`, `<2`, `>=8.3,<9`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage import digits
from triage.clues.interface import Complaint

_TERM = r"\s*(>=|<=|==|<|>)\s*([\d.]+)\s*"


def in_range(version: str, wanted: str) -> bool:
    """Whether a version is in a range; `==` compares only as many parts as the range has."""
    have = _parts(version)
    if not have:
        return False
    for term in wanted.split(","):
        match = re.fullmatch(_TERM, term)
        if match is None:
            return False
        operator, bound = match[1], _parts(match[2])
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
    return True


def is_possible(*ranges: str) -> bool:
    """Whether there is a version that is in all of these ranges."""
    lows: list[tuple[int, ...]] = []
    highs: list[tuple[int, ...]] = []
    for term in ",".join(filter(None, ranges)).split(","):
        if (match := re.fullmatch(_TERM, term)) is None:
            continue
        operator, bound = match[1], _parts(match[2])
        # Behind the numbers: whether it is the version itself or what comes right after it.
        at, after = (*_padded(bound), 0), (*_padded(bound), 1)
        if operator == "==":
            lows.append(at)
            highs.append((*_padded((*bound[:-1], bound[-1] + 1)), 0))
        elif operator[0] == ">":
            lows.append(at if operator == ">=" else after)
        else:
            highs.append(at if operator == "<" else after)
    return not lows or not highs or max(lows) < min(highs)


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0, 0)[:4]


def range_complaints(*ranges: str | None) -> Iterator[Complaint]:
    """What lint says about texts that are not ranges."""
    for wanted in filter(None, ranges):
        if not all(re.fullmatch(_TERM, term) for term in wanted.split(",")):
            yield (), f"'{wanted}' is not a version range", "'>=2.16' or '>=8.3,<9'"


def order(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared, without trailing zeros."""
    parts = _parts(version)
    while parts and parts[-1] == 0:
        parts = parts[:-1]
    return parts


def _parts(version: str) -> tuple[int, ...]:
    """The numbers of a version; empty if one of them is too long for a release."""
    parts = [digits.whole(part) for part in re.findall(r"\d+", re.split("rc|[-.]?dev", version)[0])[:4]]
    return tuple(part for part in parts if part is not None) if None not in parts else ()
