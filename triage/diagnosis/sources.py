"""What the knowledge rests on, document by document: which claims hold, which do not, which could not be tested."""

from __future__ import annotations

from collections import defaultdict

from triage.diagnosis.evidence import source_name
from triage.knowledge.loading import Knowledge
from triage.report import Page

_GRADES = {
    "reproduced": "holds",
    "partly": "holds in part",
    "different": "fails, but otherwise than claimed",
    "refuted": "does not hold",
    "untested": "could not be tested",
}


def sources_page(knowledge: Knowledge) -> Page:
    """Every document's claims by grade with the signatures that cite them, then the sources outside documents."""
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
    for document, about in (knowledge.documents.get("documents") or {}).items():
        entries = []
        for grade, verdict in _GRADES.items():
            for number, claim in claims.items():
                if claim["document"] == document and claim["grade"] == grade:
                    used = f" (see {', '.join(cited[number])})" if cited[number] else ""
                    entries.append(f"{number}. {verdict}: {claim['says']} Really: {claim['outcome']}{used}")
        sections.append((f"{document}  {about['title']}", tuple(entries)))
    everywhere = [
        f"{number}. {_GRADES[claim['grade']]}: {claim['says']} Really: {claim['outcome']}"
        for number, claim in claims.items()
        if claim["document"] is None
    ]
    sections.append(("heard everywhere", tuple(everywhere)))
    sections.append(("outside these documents", tuple(others)))
    counts = {grade: sum(claim["grade"] == grade for claim in claims.values()) for grade in _GRADES}
    told = ", ".join(f"{count} {grade}" for grade, count in counts.items())
    return Page(f"{len(claims)} claims: {told}", tuple(sections), "triage signatures list")
