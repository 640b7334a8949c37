"""One message -> a pattern for the next ones: what differs from run to run becomes a class, the words stay."""

from __future__ import annotations

import keyword
from typing import NamedTuple

from triage import patterns

LONGEST = 140
# Tried in this order at each place; what none of them takes is a character that stays as it is.
_PARTS = (
    r"(?P<hidden><(?:user|token|email)-\d+>)"
    r"|(?P<url>[a-z]{2,8}://[^\s'\",]+)"
    r"|(?P<drive>\b[A-Za-z]:[\\/][^\s'\"<>|:,]*)"
    r"|(?P<path>(?:~|\.{1,2})?/[\w.+@<>-]+(?:/[\w.+@<>-]*)+)"
    r"|(?P<status>\b0x[CE][0-9A-Fa-f]{7}\b)"
    r"|(?P<address>\b0x[0-9A-Fa-f]+)"
    r"|(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{14,})"
    r"|(?P<source>\.(?:cc|cpp|cu|h|py):\d+)"
    r"|(?P<shape>[\[(]\d+(?:, ?\d+)+,?[\])])"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>\d+(?:[.:,]\d+)*)"
    r"|(?P<space>\s+)"
)
_CLASSES = {
    "hidden": r"\S+",
    "url": r"\S+",
    "drive": r"\S+",
    "path": r"\S+",
    "address": "0x[0-9a-fA-F]+",
    "id": "[0-9a-f-]+",
}
_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_NAMED_BY = r"(?:^|[^A-Za-z_])([a-z][a-z_]{2,19})[ :=(\[]{1,2}$"
_MOST_NAMES = 3


class General(NamedTuple):
    """A message without what is one run's own: as a pattern, as a sentence with {groups}, and with gaps for all."""

    pattern: str
    says: str
    gist: str


def generalise(message: str) -> General:
    """What this message and its like have in common; numbers behind a word become groups of that name."""
    text = shorten(message)
    pieces: list[tuple[str, str, str]] = []
    names: set[str] = set()
    done = 0
    for found in patterns.compile(_PARTS).finditer(text):
        pieces.append(_kept(text[done : found.start()]))
        kind = next(name for name, value in found.groupdict().items() if value is not None)
        pieces.append(_piece(kind, str(found[0]), text[: found.start()], names))
        done = found.end()
    pieces.append(_kept(text[done:]))
    return General(*("".join(parts) for parts in zip(*pieces, strict=True)))


def _kept(text: str) -> tuple[str, str, str]:
    """Text that stays; a brace in a sentence would ask for a value."""
    plain = text.replace("{", "(").replace("}", ")")
    return escape(text), plain, plain


def escape(text: str) -> str:
    """The text as a pattern that fits only it."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


def shorten(message: str) -> str:
    """The first line, of a long one the first sentence or as many whole words as are still telling."""
    text = message.strip().split("\n", 1)[0].rstrip()
    if len(text) <= LONGEST:
        return text
    for end in (". ", "; ", ": "):
        at = text.find(end, 40, LONGEST)
        if at > 0:
            return text[:at]
    return text[:LONGEST].rsplit(" ", 1)[0]


def _piece(kind: str, text: str, before: str, names: set[str]) -> tuple[str, str, str]:
    """A part of a message as a pattern, in a sentence with {groups}, and in one with gaps."""
    if kind in _CLASSES:
        return _CLASSES[kind], "…", "…"
    if kind == "source":
        name = text.split(":")[0]
        return escape(name) + r":\d+", name, name
    if kind == "shape":
        pattern, says, gist = _named(before, r"[\d, ]+", names)
        return escape(text[0]) + pattern + escape(text[-1]), text[0] + says + text[-1], text[0] + gist + text[-1]
    if kind == "number":
        return _named(before, r"\d+" if text.isdigit() else r"\d[\d.:,]*", names)
    if kind == "space":
        return " " if text == " " else r"\s+", " ", " "
    return _word(text) if kind == "word" else _kept(text)


def _word(text: str) -> tuple[str, str, str]:
    """A word; the number at the end of conv2d_1 and the like counts instances, a long mix is a name made by chance."""
    digits = sum(character.isdigit() for character in text)
    if len(text) >= 12 and digits >= 4:
        return r"\w+", "…", "…"
    stem, underscore, number = text.rpartition("_")
    return (rf"{stem}_\d+", stem, stem) if underscore and stem and number.isdigit() else (text, text, text)


def _named(before: str, what: str, names: set[str]) -> tuple[str, str, str]:
    match = patterns.compile(_NAMED_BY).search(before)
    name = str(match[1]) if match else ""
    if not name or name in names or len(names) >= _MOST_NAMES or keyword.iskeyword(name):
        return what, "…", "…"
    names.add(name)
    return f"(?P<{name}>{what})", f"{{{name}}}", "…"
