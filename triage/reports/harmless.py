"""Text from an input made safe to show: nothing in it may move a cursor, colour a screen or reorder a line."""

from __future__ import annotations

_STAND_IN = "\ufffd"
# Controls but for tab and line feed, invisible and reordering characters, halves of surrogate pairs.
_ACTIVE = {0x7F, *range(0x80, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
_TABLE = dict.fromkeys(({*range(32)} - {9, 10}) | _ACTIVE, _STAND_IN)


def harmless(text: str) -> str:
    """The text with every control, format and lone surrogate character replaced by a visible stand-in."""
    return text.translate(_TABLE).encode("utf-8", "replace").decode("utf-8")
