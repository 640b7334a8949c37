"""What the knowledge rests on: every document's claims with their grade, and the sources outside documents."""

from __future__ import annotations

from typing import Any

from building import knowledge_of as known
from building import signature_data

import triage
from triage.knowledge.database import Knowledge

CLAIMS: dict[str, Any] = {
    "documents": {"a.txt": {"title": "Why it dies"}, "b.txt": {"title": "Why it lives"}},
    "claims": {
        1: {"document": "a.txt", "says": "It is memory.", "grade": "refuted", "outcome": "It is not."},
        2: {"document": "a.txt", "says": "It is a signal.", "grade": "reproduced", "outcome": "It is."},
        3: {"document": "b.txt", "says": "It lives.", "grade": "untested", "outcome": "Nobody looked."},
    },
}


def page_of(*sources: dict[str, Any]) -> triage.report.Page:
    return triage.sources(known({"a/a": signature_data(cause="a.a", sources=list(sources))}, documents=CLAIMS))


def test_the_title_counts_the_claims_by_grade() -> None:
    assert page_of({"issue": "x#1"}).title == ("3 claims: 1 reproduced, 0 partly, 0 different, 1 refuted, 1 untested")


def test_each_document_is_listed_by_verdict_and_what_holds_comes_first() -> None:
    sections = page_of({"issue": "x#1"}).sections
    assert sections[:3] == (
        ("a.txt  Why it dies: holds", ("2. It is a signal. Really: It is.",)),
        ("a.txt  Why it dies: does not hold", ("1. It is memory. Really: It is not.",)),
        ("b.txt  Why it lives: could not be tested", ("3. It lives. Really: Nobody looked.",)),
    )


def test_a_claim_names_the_signatures_that_cite_it() -> None:
    (_, claims), *_ = page_of({"document": "a.txt", "claim": 2}).sections
    assert claims[0] == "2. It is a signal. Really: It is. (see a/a)"


def test_a_claim_of_ours_names_what_it_speaks_for_and_where_it_is_tried(knowledge: Knowledge) -> None:
    listed = [entry for _, entries in triage.sources(knowledge).sections for entry in entries]
    dtype = next(entry for entry in listed if entry.startswith("21. "))
    assert dtype.endswith("(see dtype/mismatch; tried in fixtures/claims/algorithm.py)")
    assert next(entry for entry in listed if entry.startswith("57. ")).endswith("(needs a GPU)")


def test_sources_outside_documents_come_last() -> None:
    assert page_of({"issue": "x#1"}, {"reproducer": "fixtures/crashers/killed.py"}).sections[-1] == (
        "outside these documents",
        ("a/a: issue x#1", "a/a: reproducer fixtures/crashers/killed.py"),
    )


def test_our_page_lists_every_claim_once(knowledge: Knowledge) -> None:
    page = triage.sources(knowledge)
    claims = [entry for _, entries in page.sections[:-1] for entry in entries]
    assert len(claims) == len(knowledge.documents["claims"])
    assert page.title.startswith(f"{len(claims)} claims: ")
