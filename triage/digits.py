"""Numbers in untrusted text. A log may have five thousand digits where a line number belongs: that is no number."""

from __future__ import annotations

# Addresses, sizes, counts and line numbers all fit into 64 bits.
_LARGEST = 1 << 64
_LONGEST = 40


def whole(text: str | None, base: int = 10) -> int | None:
    """The number that the digits stand for; None if there are none, or too many."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        number = int(text, base)
    except ValueError:
        return None
    return number if -_LARGEST < number < _LARGEST else None


def decimal(text: str | None) -> float | None:
    """The number before a unit, such as 5.5; None as for `whole`."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if -_LARGEST < number < _LARGEST else None


def scaled(text: str | None, unit: int) -> int | None:
    """A number of units, such as bytes from 5.5 and 1024**3; None as for `whole`."""
    number = decimal(text)
    total = None if number is None else int(number * unit)
    return total if total is not None and -_LARGEST < total < _LARGEST else None
