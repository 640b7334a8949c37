"""Claims that people read about crashes and that do not hold: when to mention one, and what to say instead."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from triage.clues import parse_clue
from triage.clues.interface import Clue, SignatureError

_LONGEST = 140


class Claim(NamedTuple):
    """A claim of `documents.yaml` that the report mentions where a crash shows `when`.

    It is left out where the crash shows `unless` too, or where one of `except_for` (causes or families) is likely.
    """

    number: int
    document: str | None
    when: Clue
    unless: Clue | None
    except_for: tuple[str, ...]
    instead: str


def parse_claim(number: int, data: Mapping[str, Any]) -> Claim | None:
    """A claim from its YAML form, None where reports never mention it; raises SignatureError."""
    path = ("claims", number)
    if "heard_when" not in data:
        return None
    instead = data.get("instead")
    if not isinstance(instead, str) or "\n" in instead or not 0 < len(instead) <= _LONGEST:
        what = "no line for the people who have read the claim"
        raise SignatureError((*path, "instead"), what, f"instead: up to {_LONGEST} characters")
    except_for = data.get("except_for") or []
    if not isinstance(except_for, list) or not all(isinstance(cause, str) for cause in except_for):
        raise SignatureError((*path, "except_for"), "'except_for' is a list of causes", "except_for: [shape, install]")
    unless = parse_clue(data["unless"], (*path, "unless"), p=0.5) if "unless" in data else None
    when = parse_clue(data["heard_when"], (*path, "heard_when"), p=0.5)
    return Claim(number, data.get("document"), when, unless, tuple(except_for), instead)
