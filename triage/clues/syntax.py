"""How clues are written in a signature.

A clue is a mapping with exactly one kind and what it says about the cause: `p` is how often the clue is seen with this
cause, `b` how often with other causes, `says` the sentence for the report, `consequence_of` the causes that explain
this clue where they are present themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from triage.clues.interface import Clue, Kinds, Path, SignatureError

Word = TypeVar("Word", bound=str)
# The fields that a clue may have besides its kind.
COMMON = ("id", "p", "b", "says", "consequence_of")


class Written(NamedTuple):
    """A part of a signature as YAML gives it, with its path there and the kinds that clues inside it may have."""

    value: Any
    path: Path
    kinds: Kinds

    def below(self, key: str | int, value: Any) -> Written:
        """A part of this part."""
        return Written(value, (*self.path, key), self.kinds)

    def refused(self, what: str, instead: str) -> SignatureError:
        """The error that says what is wrong here, and what to write instead."""
        return SignatureError(self.path, what, instead)

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.refused(f"{self.value!r} is not a text", "a pattern or a name in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A text, or a list of them."""
        if not isinstance(self.value, list):
            return (self.text(),)
        return tuple(self.below(number, one).text() for number, one in enumerate(self.value))

    def whole(self) -> int:
        """A whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self.refused(f"{self.value!r} is not a whole number", "a number such as 3")
        return self.value

    def probability(self) -> float:
        """A number between 0 and 1."""
        if not isinstance(self.value, (int, float)) or isinstance(self.value, bool) or not 0 < self.value < 1:
            raise self.refused(f"{self.value!r} is not a probability", "a number between 0 and 1, both left out")
        return float(self.value)

    def fields(self, *allowed: str) -> Fields:
        """The fields of a mapping, which must have at least one and only allowed ones."""
        if not isinstance(self.value, Mapping) or not self.value:
            raise self.refused("this clue is a mapping", "some of " + ", ".join(sorted(allowed)))
        fields = Fields({key: self.below(key, value) for key, value in self.value.items()})
        for key, field in fields.items():
            if key not in allowed:
                raise field.refused(f"unknown field '{key}'", "one of " + ", ".join(sorted(allowed)))
        return fields

    def clues(self, least: int) -> tuple[Clue, ...]:
        """The clues of a combinator."""
        if not isinstance(self.value, list) or len(self.value) < least:
            raise self.refused(f"this clue is a list of at least {least} clues", "[{log: 'PATTERN'}, {exit: SIGSEGV}]")
        return tuple(self.below(number, one).clue(p=0.5) for number, one in enumerate(self.value))

    def clue(self, *, p: float, b: float | None = None) -> Clue:
        """A clue of any kind."""
        data = self.value
        if not isinstance(data, Mapping):
            raise self.refused("a clue is a mapping", "{id: NAME, log: 'PATTERN', p: 0.9}")
        one_of = "one of " + ", ".join(self.kinds)
        for key in data:
            if key not in self.kinds and key not in COMMON:
                raise self.below(key, None).refused(f"unknown clue kind '{key}'", one_of)
        names = [key for key in data if key in self.kinds]
        if len(names) != 1:
            raise self.refused("a clue has exactly one kind", one_of)
        (name,) = names
        kind = self.kinds[name]
        sought = kind.parse(self.below(name, data[name]))
        says = data.get("says")
        if says is not None and not isinstance(says, str):
            raise self.below("says", says).refused(f"{says!r} is not a text", "a sentence")
        usual = kind.background_of(sought) if b is None else b
        explained_by = self.below("consequence_of", data.get("consequence_of", []))
        return Clue(
            id=str(data.get("id", name)),
            kind=name,
            sought=sought,
            p=self.below("p", data.get("p", p)).probability(),
            b=self.below("b", data.get("b", usual)).probability(),
            says=says,
            consequence_of=explained_by.texts(),
        )


class Fields(dict[str, Written]):
    """The fields of a clue; a missing one is None."""

    def text(self, key: str) -> str | None:
        """A text that is not empty."""
        return self[key].text() if key in self else None

    def whole(self, key: str) -> int | None:
        """A whole number."""
        return self[key].whole() if key in self else None

    def yes_or_no(self, key: str) -> bool | None:
        """True or false."""
        if key not in self:
            return None
        value = self[key].value
        if not isinstance(value, bool):
            raise self[key].refused(f"{value!r} is neither true nor false", f"{key}: true")
        return value

    def one_of(self, key: str, words: tuple[Word, ...]) -> Word | None:
        """One of these words."""
        if key not in self:
            return None
        for word in words:
            if word == self[key].value:
                return word
        raise self[key].refused(f"unknown {key} {self[key].value!r}", "one of " + ", ".join(words))

    def asked_for(self, key: str) -> bool:
        """Whether it is written; the opposite cannot be asked for."""
        if key in self and self[key].value is not True:
            raise self[key].refused(f"{key} can only be asked for", f"{key}: true, or leave it out")
        return key in self
