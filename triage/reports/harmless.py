"""Text from an input made safe to show: nothing in it may move a cursor, colour a screen or reorder a line."""

from __future__ import annotations

import re

_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text with every control, format and lone surrogate character replaced by a visible stand-in."""
    return _ACTIVE.sub("\ufffd", text)
