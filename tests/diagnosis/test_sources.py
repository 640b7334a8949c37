"""What the knowledge rests on: every document's claims with their grade, and the sources outside documents."""

from __future__ import annotations

from typing import Any

from building import knowledge_of as known
from building import signature_data

import triage
from triage.knowledge.loading import Knowledge

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


def test_each_document_is_a_section_and_what_holds_comes_first() -> None:
    sections = page_of({"issue": "x#1"}).sections
    assert sections[0] == (
        "a.txt  Why it dies",
        ("2. holds: It is a signal. Really: It is.", "1. does not hold: It is memory. Really: It is not."),
    )
    assert sections[1] == ("b.txt  Why it lives", ("3. could not be tested: It lives. Really: Nobody looked.",))


def test_a_claim_names_the_signatures_that_cite_it() -> None:
    (_, claims), *_ = page_of({"document": "a.txt", "claim": 2}).sections
    assert claims[0] == "2. holds: It is a signal. Really: It is. (see a/a)"


def test_sources_outside_documents_come_last() -> None:
    assert page_of({"issue": "x#1"}, {"reproducer": "fixtures/crashers/killed.py"}).sections[-1] == (
        "outside these documents",
        ("a/a: issue x#1", "a/a: reproducer fixtures/crashers/killed.py"),
    )


def test_ours_tells_every_claim_once(knowledge: Knowledge) -> None:
    page = triage.sources(knowledge)
    claims = [entry for _, entries in page.sections[:-1] for entry in entries]
    assert len(claims) == len(knowledge.documents["claims"])
    assert page.title.startswith(f"{len(claims)} claims: ")
