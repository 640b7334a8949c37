"""What people read about a crash and what is not so: claims that say when they are heard, and what holds instead."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from triage.clues import parse_clue
from triage.clues.interface import Clue, SignatureError

LONGEST = 140


class Hearsay(NamedTuple):
    """A claim that a person would find for a crash that shows `when`; nothing is said where `unless` shows too, or
    where one of the causes (or families of causes) in `except_for` is likely."""

    claim: int
    document: str | None
    when: Clue
    unless: Clue | None
    except_for: tuple[str, ...]
    instead: str


def parse_hearsay(number: int, claim: Mapping[str, Any]) -> Hearsay | None:
    """What a claim says to people who have heard it, None where it says nothing; raises SignatureError."""
    path = ("claims", number)
    if "heard_when" not in claim:
        return None
    instead = claim.get("instead")
    if not isinstance(instead, str) or "\n" in instead or not 0 < len(instead) <= LONGEST:
        raise SignatureError((*path, "instead"), "no line for who has heard it", f"instead: up to {LONGEST} characters")
    except_for = claim.get("except_for") or []
    if not isinstance(except_for, list) or not all(isinstance(cause, str) for cause in except_for):
        raise SignatureError((*path, "except_for"), "'except_for' is a list of causes", "except_for: [shape, install]")
    unless = parse_clue(claim["unless"], (*path, "unless"), p=0.5) if "unless" in claim else None
    when = parse_clue(claim["heard_when"], (*path, "heard_when"), p=0.5)
    return Hearsay(number, claim.get("document"), when, unless, tuple(except_for), instead)
