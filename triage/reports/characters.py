"""Characters on a screen: which must not reach it, and how many columns the others take."""

from __future__ import annotations

import unicodedata

_STAND_IN = "\ufffd"
# Controls other than tab and line feed; invisible and reordering characters.
_ACTIVE = {0x7F, *range(0x80, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF}
_TABLE = dict.fromkeys(({*range(32)} - {9, 10}) | _ACTIVE, _STAND_IN)


def harmless(text: str) -> str:
    """The text with every control, format and lone surrogate character replaced by a visible stand-in."""
    return text.translate(_TABLE).encode("utf-8", "replace").decode("utf-8")


def columns(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def wrap(text: str, width: int, hang: int = 0, beside_first: int = 0) -> list[str]:
    """Lines of at most `width` columns, broken at spaces where that is possible.

    All but the first are indented by `hang`; the first leaves room for what stands beside it.
    """
    indent = " " * hang
    lines: list[str] = []
    line = ""
    room = width - beside_first
    for number, word in enumerate(text.split(" ")):
        # Spaces stay as they are written, but none is carried over to the next line.
        space = " " if number and line != indent else ""
        if line.strip() and columns(line) + len(space) + columns(word) > room:
            lines.append(line.rstrip())
            line, space, room = indent, "", width
        while columns(word) > room - columns(line) - len(space):
            head = _fitting(word, max(1, room - columns(line) - len(space)))
            lines.append(line + space + head)
            word, line, space, room = word[len(head) :], indent, "", width
        line += space + word
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def shorten(text: str, width: int) -> str:
    """The text cut to a number of columns, with an ellipsis where something was cut."""
    return text if columns(text) <= width else _fitting(text, width - 1) + "…"


def _fitting(text: str, width: int) -> str:
    taken = 0
    for position, character in enumerate(text):
        taken += _width(character)
        if taken > width:
            return text[: max(1, position)]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
