"""Texts for a person: which of their words are the input's own, how placeholders are filled, how sizes are written."""

from __future__ import annotations

from collections.abc import Mapping

from triage.patterns import compile as pattern

_PLACEHOLDER = r"\{([a-z_]+)\}"


class Phrase(str):
    """A text for a person in which some parts are the input's own words: `quoted`, as pairs of offsets.

    Only those parts can contain a person's name, so redaction must tell them apart.
    """

    __slots__ = ("quoted",)
    quoted: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, *parts: str) -> Phrase:
        """The parts joined; phrases keep what they quote, everything else is our own words."""
        whole, quoted = cls("".join(parts)), []
        at = 0
        for part in parts:
            if isinstance(part, Phrase):
                quoted += [(at + start, at + stop) for start, stop in part.quoted]
            at += len(part)
        whole.quoted = tuple(quoted)
        return whole


def quote(text: str) -> Phrase:
    """Words of the input."""
    phrase = Phrase(text)
    phrase.quoted = ((0, len(text)),)
    return phrase


def quoting(text: str, *theirs: str) -> Phrase:
    """A text of our own in which these words come from the input."""
    parts: list[str] = [text]
    for words in filter(None, theirs):
        for at in range(len(parts) - 1, -1, -1):
            if not isinstance(parts[at], Phrase) and words in parts[at]:
                ours = parts[at].split(words)
                parts[at : at + 1] = [piece for one in ours for piece in (quote(words), one)][1:]
    return Phrase.of(*parts)


def fill(text: str, values: Mapping[str, str]) -> Phrase | None:
    """The text with its {placeholders} filled, or None when one of them has no value."""
    parts: list[str] = []
    at = 0
    for match in pattern(_PLACEHOLDER).finditer(text):
        if match[1] not in values:
            return None
        parts += [text[at : match.start()], values[match[1]]]
        at = match.end()
    return Phrase.of(*parts, text[at:])


def placeholders(text: str) -> set[str]:
    """The names of a text's placeholders."""
    return set(pattern(_PLACEHOLDER).findall(text))


def without_values(text: str) -> str:
    """The text with an ellipsis for each placeholder."""
    return pattern(_PLACEHOLDER).sub(lambda _: "…", text)


def human_bytes(count: float) -> str:
    """A size as people write it, in powers of 1024."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(count) < 1024 or unit == "PiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("unreachable")
