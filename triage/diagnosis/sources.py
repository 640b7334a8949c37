"""What the knowledge rests on, document by document: which claims hold, which do not, which could not be tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from triage.crash import Command
from triage.diagnosis.evidence import source_name
from triage.knowledge.database import Knowledge
from triage.report import Page

_VERDICTS = {
    "reproduced": "holds",
    "partly": "holds in part",
    "different": "fails, but otherwise than claimed",
    "refuted": "does not hold",
    "untested": "could not be tested",
}


def sources_page(knowledge: Knowledge) -> Page:
    """Every document's claims by verdict with what stands behind each, then the sources outside documents."""
    cited: dict[int, list[str]] = defaultdict(list)
    others: list[str] = []
    for signature in sorted(knowledge.signatures.values(), key=lambda s: s.id):
        for source in signature.sources:
            if "claim" in source:
                cited[source["claim"]].append(signature.id)
            else:
                others.append(f"{signature.id}: {source_name(source)}")
    claims = knowledge.documents.get("claims") or {}
    sections: list[tuple[str, tuple[str, ...]]] = []
    documents = [
        (name, f"{name}  {about['title']}") for name, about in knowledge.documents.get("documents", {}).items()
    ]
    for document, heading in (*documents, (None, "heard everywhere")):
        own = {number: claim for number, claim in claims.items() if claim["document"] == document}
        for grade, verdict in _VERDICTS.items():
            entries = [_entry(number, claim, cited[number]) for number, claim in own.items() if claim["grade"] == grade]
            if entries:
                sections.append((f"{heading}: {verdict}", tuple(entries)))
    sections.append(("outside these documents", tuple(others)))
    counts = {grade: sum(claim["grade"] == grade for claim in claims.values()) for grade in _VERDICTS}
    told = ", ".join(f"{count} {grade}" for grade, count in counts.items())
    return Page(f"{len(claims)} claims: {told}", tuple(sections), Command(("triage", "signatures", "list")))


def _entry(number: int, claim: Mapping[str, Any], cited: list[str]) -> str:
    """A claim, what really happens, and the signatures and the reproducer behind that."""
    behind = [f"see {', '.join(dict.fromkeys([*(claim.get('supports') or ()), *cited]))}"]
    behind = [] if behind == ["see "] else behind
    if "reproducer" in claim:
        behind.append(f"tried in {claim['reproducer']}")
    if "not_run" in claim:
        behind.append(claim["not_run"])
    if "also_in" in claim:
        behind.append(f"also in {', '.join(claim['also_in'])}")
    return f"{number}. {claim['says']} Really: {claim['outcome']}" + (f" ({'; '.join(behind)})" if behind else "")
