"""The page of a cause, and of a family of causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from triage import status as statuses
from triage.clues.exit import ExitSeen
from triage.clues.interface import Clue
from triage.crash import Command
from triage.knowledge.database import Cause, Knowledge
from triage.knowledge.signature import GRADES, Signature
from triage.report import Page

Sections = list[tuple[str, tuple[str, ...]]]

_GRADE_SAYS = {
    "reproduced": "a script in fixtures/crashers makes it happen",
    "confirmed": "somebody who had it was cured",
    "documented": "read in public reports and manuals, not tried here",
    "claimed": "somebody says so, nobody has shown it",
    "different": "it fails, but otherwise than claimed",
    "partly": "it holds in part",
    "untested": "it could not be tried",
    "refuted": "tried, and it does not hold",
}
_WITHOUT_STATUS = {"hang": "no end: it hangs", "timeout": "no end: it hangs"}
_SOURCE_WORDS = {"issue": "reports", "reproducer": "scripts", "document": "claims in"}


def cause_page(cause: Cause, knowledge: Knowledge) -> Page:
    """What happens inside, how it shows and ends, how to be sure, the fix, the neighbours, and on what grounds."""
    page = cause.page
    own = [s for s in knowledge.signatures.values() if s.cause == cause.slug]
    sections: Sections = [
        ("what happens inside", _listed(page.get("inside"))),
        ("how it shows", _listed(page.get("shows"))),
        ("how it ends", _endings(page, own)),
        ("how to be sure", _listed(page.get("sure"))),
        ("fix", _numbered(page.get("fix"))),
        ("mistaken for", tuple(f"{slug}: {why}" for slug, why in (page.get("mistaken_for") or {}).items())),
        ("how well it is proven", _proof(own)),
        ("signatures", tuple(f"{s.id} ({s.grade}): {s.title}" for s in own)),
        ("documented in", (*documents(page), *_sources(own))),
    ]
    best = min(own, key=lambda s: GRADES.index(s.grade), default=None)
    more = ("signatures", "show", best.id) if best else ("run", "--tf-log", "train.py")
    title = f"{cause.slug}  {cause.title}"
    return Page(title, tuple(section for section in sections if section[1]), Command(("triage", *more)))


def families(knowledge: Knowledge) -> dict[str, list[Cause]]:
    """The families of causes (`gpu`, `host`, ...), in each the commonest cause first."""
    found: dict[str, list[Cause]] = {}
    for cause in sorted(knowledge.causes.values(), key=lambda cause: -cause.prior):
        family, dot, _ = cause.slug.partition(".")
        if dot:
            found.setdefault(family, []).append(cause)
    return found


def family_page(family: str, causes: list[Cause]) -> Page:
    """Every cause of a family, the commonest first."""
    lines = tuple(f"{cause.slug}: {cause.title}" for cause in causes)
    more = Command(("triage", "explain", causes[0].slug))
    return Page(f"{family}  {len(causes)} causes", (("the commonest first", lines),), more)


def documents(page: Mapping[str, Any]) -> tuple[str, ...]:
    """The public documents that a page names."""
    return tuple(f"{entry['title']}: {entry['where']}" for entry in page.get("documented") or ())


def _listed(text: str | list[str] | None) -> tuple[str, ...]:
    """A text as it is, several with a dash each."""
    if isinstance(text, list):
        return tuple(f"- {one}" for one in text)
    return (text,) if text else ()


def _numbered(text: str | list[str] | None) -> tuple[str, ...]:
    if isinstance(text, list):
        return tuple(f"{number}. {one}" for number, one in enumerate(text, 1))
    return (text,) if text else ()


def _endings(page: Mapping[str, Any], own: list[Signature]) -> tuple[str, ...]:
    """The exit statuses that the page names, else those that the cause's signatures look for."""
    names = page.get("exits") or list(dict.fromkeys(name for s in own for clue in s.clues for name in _expected(clue)))
    told = [_WITHOUT_STATUS.get(name) or _label(name) for name in names]
    return ("; ".join(told),) if told else ()


def _label(name: str) -> str:
    status = statuses.parse(name.removeprefix("exit "))
    return status.label if status and status.is_death else name


def _expected(clue: Clue) -> Iterator[str]:
    """The exit statuses a clue looks for, also those inside a combinator."""
    if isinstance(clue.sought, ExitSeen):
        yield from clue.sought.statuses
    for inner in clue.inner:
        yield from _expected(inner)


def _proof(own: list[Signature]) -> tuple[str, ...]:
    """How many signatures have which grade, the best first."""
    counts = Counter(s.grade for s in own)
    return tuple(
        f"{grade}: {counts[grade]} of {len(own)} signature{'s' * (len(own) > 1)} ({_GRADE_SAYS[grade]})"
        for grade in GRADES
        if counts[grade]
    )


def _sources(own: list[Signature]) -> tuple[str, ...]:
    """What the signatures rest on, one line for each kind of source."""
    kinds: dict[str, dict[str, None]] = {}
    for signature in own:
        for source in signature.sources:
            kind, name = next(iter(source.items()))
            claim = f" ({source['claim']})" if "claim" in source else ""
            kinds.setdefault(kind, {})[f"{name}{claim}"] = None
    return tuple(f"{_SOURCE_WORDS.get(kind, kind)}: {', '.join(names)}" for kind, names in kinds.items())
