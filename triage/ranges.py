"""Ranges of versions, as signatures and facts write them: `>=2.16`, `<2`, `>=8.3,<9`."""

from __future__ import annotations

import re

from triage import digits

_TERM = r"\s*(>=|<=|==|<|>)\s*([\d.]+)\s*"


def parts_of(version: str) -> tuple[int, ...]:
    """The numbers of a version; empty if one of them is too long for a release."""
    parts = [digits.whole(part) for part in re.findall(r"\d+", re.split("rc|[-.]?dev", version)[0])[:4]]
    return tuple(part for part in parts if part is not None) if None not in parts else ()


def terms_of(wanted: str) -> list[tuple[str, tuple[int, ...]]] | None:
    """Each operator of a range with its bound; None for a text that is no range."""
    terms = [re.fullmatch(_TERM, term) for term in wanted.split(",")]
    return [(match[1], parts_of(match[2])) for match in terms if match] if all(terms) else None


def is_possible(*ranges: str) -> bool:
    """Whether there is a version that is in all of these ranges."""
    lows: list[tuple[int, ...]] = []
    highs: list[tuple[int, ...]] = []
    for operator, bound in (term for one in ranges for term in terms_of(one) or () if term[1]):
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
