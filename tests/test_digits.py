"""Numbers in untrusted text: read if they can be one, otherwise None and nothing worse."""

from __future__ import annotations

import pytest

from triage import digits


@pytest.mark.parametrize(
    ("text", "base", "number"),
    [
        ("42", 10, 42),
        ("-11", 10, -11),
        ("7fffdeadbeef", 16, 0x7FFFDEADBEEF),
        ("0x1f", 16, 31),
        ("0x1f", 0, 31),
        ("18446744073709551615", 10, 2**64 - 1),
        ("18446744073709551616", 10, None),
        ("9" * 5000, 10, None),
        ("f" * 5000, 16, None),
        ("²", 10, None),
        ("010", 0, None),
        ("???", 10, None),
        ("", 10, None),
        (None, 10, None),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_whole_number_fits_into_64_bits_or_is_none(text, base, number):
    assert digits.whole(text, base) == number


@pytest.mark.parametrize(
    ("text", "unit", "total"),
    [
        ("5.5", 1024, 5632),
        ("23", 1, 23),
        ("9" * 400, 1, None),
        ("9" * 18, 1024**5, None),
        ("1e400", 1, None),
        ("nan", 1, None),
        ("1.2.3", 1, None),
        (".", 1, None),
        (None, 1, None),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_number_of_units_is_a_size_or_none(text, unit, total):
    assert digits.scaled(text, unit) == total
