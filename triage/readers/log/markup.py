"""Markdown fences and HTML that a chat, an issue tracker or a mail put around a log."""

from __future__ import annotations

import re
from array import array

_FENCE = re.compile(r"\s*(?:```|~~~)[\w+-]*\s*")
# Tags that wrap a log, never anything that could stand in a log by itself (`<module>`, `<lambda>`).
_TAG = re.compile(
    r"</?(?:pre|code|br|p|div|span|details|summary|b|i|strong|em|font|tt|blockquote)(?:\s[^<>]{0,200})?/?>"
)
_ENTITIES = ("&lt;", "&gt;", "&amp;", "&quot;", "&#", "&nbsp;", "&apos;")


def remove(lines: list[str], numbers: array[int]) -> tuple[list[str], array[int]]:
    """The lines without fences and tags, with entities read as the characters they stand for."""
    text_has = "\n".join(lines)
    if "```" in text_has or "~~~" in text_has:
        kept = [position for position, line in enumerate(lines) if not _FENCE.fullmatch(line)]
        lines, numbers = [lines[p] for p in kept], array("Q", (numbers[p] for p in kept))
    if any(tag in text_has for tag in ("</", "<br", "<pre", "<code")):
        lines = [_TAG.sub("", line) if "<" in line else line for line in lines]
    if any(entity in text_has for entity in _ENTITIES):
        lines = [_unescaped(line) if "&" in line else line for line in lines]
    return lines, numbers


def _unescaped(line: str) -> str:
    import html

    try:
        return html.unescape(line).replace("\xa0", " ")
    except ValueError:  # a character with a number of thousands of digits, which is none
        return line
