"""What the knowledge rests on, document by document."""

from __future__ import annotations

from collections import defaultdict

from triage.knowledge.loading import Knowledge

_ORDER = ("reproduced", "partly", "different", "refuted", "untested")
_MEANS = {
    "reproduced": "holds",
    "partly": "holds in part",
    "different": "fails, but otherwise than claimed",
    "refuted": "does not hold",
    "untested": "could not be tested",
}


def render_sources(knowledge: Knowledge) -> str:
    """Every document's claims by grade with the signatures that cite them, then the sources outside documents."""
    cited: dict[int, list[str]] = defaultdict(list)
    others: list[str] = []
    for signature in sorted(knowledge.signatures.values(), key=lambda s: s.id):
        for source in signature.sources:
            if "claim" in source:
                cited[source["claim"]].append(signature.id)
            else:
                others.append(f"{signature.id}: " + ", ".join(f"{kind} {name}" for kind, name in source.items()))
    lines: list[str] = []
    claims = knowledge.documents.get("claims") or {}
    for document, about in (knowledge.documents.get("documents") or {}).items():
        lines += [f"{document}  {about['title']}"]
        own = [(number, claim) for number, claim in claims.items() if claim["document"] == document]
        for grade in _ORDER:
            for number, claim in own:
                if claim["grade"] == grade:
                    used = f" [{', '.join(cited[number])}]" if cited[number] else ""
                    lines.append(f"  {number:>2} {_MEANS[grade]}: {claim['says']}{used}")
                    lines.append(f"     really: {claim['outcome']}")
        lines.append("")
    counts = {grade: sum(claim["grade"] == grade for claim in claims.values()) for grade in _ORDER}
    lines.append(f"{len(claims)} claims: " + ", ".join(f"{count} {grade}" for grade, count in counts.items()))
    lines += ["", "Sources outside these documents:", *(f"  {line}" for line in others)]
    return "\n".join(lines) + "\n"
