"""Every page of a cause is whole, fits, names its neighbours mutually and says where it is documented."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from building import knowledge_of, signature_data

import triage
from triage import status
from triage.crash import Remedy
from triage.knowledge.database import Knowledge
from triage.reports.pages import page_lines

MOST = 900
PROSE = ("inside", "shows", "sure", "fix")
ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
URL = re.compile(
    r"https://(?:[\w-]+\.)*(?:tensorflow\.org|nvidia\.com|microsoft\.com|python\.org|llvm\.org|valgrind\.org)/\S+"
)
# A document by its name; what looks like an address must be one of the above.
NAME = re.compile(r"(?!.*://)[A-Za-z][\w .-]+")


def texts(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def documented(knowledge: Knowledge) -> Iterator[tuple[str, dict[str, Any]]]:
    pages = {slug: cause.page for slug, cause in knowledge.causes.items()}
    for name, page in {**pages, **knowledge.statuses, **knowledge.exceptions, **knowledge.names}.items():
        for entry in page.get("documented") or ():
            yield name, entry


def test_every_page_has_every_section(knowledge: Knowledge) -> None:
    for slug in knowledge.causes:
        headings = {heading for heading, _ in triage.explain(slug, knowledge=knowledge).sections}
        assert {"what happens inside", "how it shows", "how it ends", "how to be sure", "fix"} <= headings, slug
        assert {"mistaken for", "documented in"} <= headings, slug


def test_what_a_run_under_triage_has_done_already_is_marked_as_such(knowledge: Knowledge) -> None:
    marked = {name: page["remedy"] for name, page in knowledge.statuses.items() if "remedy" in page}
    assert set(marked.values()) <= set(get_args(Remedy))
    commands = {name for name, page in knowledge.statuses.items() if "`triage run --" in (page.get("next") or "")}
    assert commands == set(marked)


def test_no_section_is_too_long_to_be_read(knowledge: Knowledge) -> None:
    for slug, cause in knowledge.causes.items():
        for key in PROSE:
            assert sum(map(len, texts(cause.page[key]))) <= MOST, (slug, key)


def test_neighbours_name_each_other(knowledge: Knowledge) -> None:
    one_way = [
        (slug, other)
        for slug, cause in knowledge.causes.items()
        for other in cause.page.get("mistaken_for") or {}
        if slug not in (knowledge.causes[other].page.get("mistaken_for") or {})
    ]
    assert not one_way


def test_every_document_is_a_name_an_issue_or_a_public_address(knowledge: Knowledge) -> None:
    entries = list(documented(knowledge))
    assert len(entries) > 60
    for name, entry in entries:
        assert set(entry) == {"title", "where"}, name
        assert entry["title"].strip(), name
        where = entry["where"]
        assert ISSUE.fullmatch(where) or URL.fullmatch(where) or NAME.fullmatch(where), (name, where)


@pytest.mark.parametrize("where", ["https://example.com/x", "http://www.tensorflow.org/x", "tensorflow#1", ""])
def test_another_address_is_refused(where: str) -> None:
    assert not (ISSUE.fullmatch(where) or URL.fullmatch(where) or NAME.fullmatch(where))


def test_every_ending_is_a_status_or_a_hang(knowledge: Knowledge) -> None:
    for slug, cause in knowledge.causes.items():
        for name in cause.page["exits"]:
            assert name == "hang" or status.parse(name.removeprefix("exit ")), (slug, name)


def test_endings_are_printed_with_the_number_people_see(knowledge: Knowledge) -> None:
    (line,) = dict(triage.explain("gpu.nccl", knowledge=knowledge).sections)["how it ends"]
    assert line == "exit 1; SIGABRT (exit 134); no end: it hangs"


def test_without_written_endings_those_of_the_signatures_are_told() -> None:
    data = signature_data(cause="a.x", clues=[{"any": [{"exit": "SIGSEGV"}, {"log": "some words"}]}])
    page = triage.explain("a.x", knowledge=knowledge_of({"a/x": data}))
    assert dict(page.sections)["how it ends"] == ("SIGSEGV (exit 139)",)


def test_the_page_says_how_many_signatures_are_proven_how_well(knowledge: Knowledge) -> None:
    proof = dict(triage.explain("host.out-of-memory", knowledge=knowledge).sections)["how well it is proven"]
    own = [s for s in knowledge.signatures.values() if s.cause == "host.out-of-memory"]
    reproduced = sum(s.grade == "reproduced" for s in own)
    assert proof[0].startswith(f"reproduced: {reproduced} of {len(own)} signatures (")


def test_a_family_lists_its_causes_the_commonest_first(knowledge: Knowledge) -> None:
    page = triage.explain("gpu", knowledge=knowledge)
    ((_, lines),) = page.sections
    slugs = [line.split(":")[0] for line in lines]
    assert set(slugs) == {slug for slug in knowledge.causes if slug.startswith("gpu.")}
    assert [knowledge.causes[s].prior for s in slugs] == sorted(
        (knowledge.causes[s].prior for s in slugs), reverse=True
    )


@pytest.mark.parametrize(
    "topic", ["0xC0000409 subcode 7", "-1073740791 7", "0xC0000409 (subcode 0x7)", "FAST_FAIL_FATAL_APP_EXIT"]
)
def test_a_fast_fail_subcode_has_a_page(topic: str, knowledge: Knowledge) -> None:
    page = triage.explain(topic, knowledge=knowledge)
    assert page.title.startswith("0xC0000409 (exit -1073740791, subcode 7)")
    assert dict(page.sections)["means"][0].startswith("FAST_FAIL_FATAL_APP_EXIT, the usual one: abort()")
    assert "with a subcode" not in dict(page.sections)


def test_the_page_of_0xC0000409_says_what_to_look_for_in_order(knowledge: Knowledge) -> None:
    looks = dict(triage.explain("0xC0000409", knowledge=knowledge).sections)["what to look for, in this order"]
    assert [line.split(".")[0] for line in looks] == [str(n) for n in range(1, len(looks) + 1)]
    assert "Check failed" in looks[0]
    assert "zlibwapi" in looks[1]


@pytest.mark.parametrize("topic", ["0xC000012D", "0x80000003", "124", "-1", "255", "247", "143", "135", "127", "126"])
def test_codes_that_people_meet_have_a_written_page(topic: str, knowledge: Knowledge) -> None:
    headings = dict(triage.explain(topic, knowledge=knowledge).sections)
    assert {"means", "does not mean", "next"} <= set(headings)


def test_247_has_its_own_page_and_not_only_that_of_the_signal(knowledge: Knowledge) -> None:
    assert dict(triage.explain("247", knowledge=knowledge).sections)["means"][0].startswith("256 minus 9")


def test_every_page_fits_80_columns_and_its_lists_hang(knowledge: Knowledge) -> None:
    for slug in knowledge.causes:
        lines = [str(line) for line in page_lines(triage.explain(slug, knowledge=knowledge), 80)]
        assert max(map(len, lines)) <= 80, slug
    lines = [str(line) for line in page_lines(triage.explain("gpu.nccl", knowledge=knowledge), 80)]
    first = next(n for n, line in enumerate(lines) if line.startswith("  1. "))
    wrapped = next(line for line in lines[first + 1 :] if not line.startswith(("  2.", "  1.")))
    assert wrapped.startswith("     ")
