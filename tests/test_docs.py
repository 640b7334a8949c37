"""The README and the manual stay true: links lead somewhere, and the picture shows what the text says."""

from __future__ import annotations

import html
import re

import pytest
from conftest import REPOSITORY

README = (REPOSITORY / "README.md").read_text("utf-8")
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def the_report_in_the_readme() -> list[str]:
    block = README.split("<!-- made by 'make picture' -->")[1].split("<!-- end of what is made -->")[0]
    lines = block.strip().strip("`").strip("\n").splitlines()
    assert lines[0].startswith("$ triage run ")
    return lines[3:]


def test_the_readme_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 150


def test_the_readme_leads_to_every_page_of_the_manual() -> None:
    for page in sorted((REPOSITORY / "docs").glob("*.md")):
        assert f"(docs/{page.name})" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_picture_and_the_text_are_one_report() -> None:
    svg = (REPOSITORY / "docs" / "report.svg").read_text("utf-8")
    # One text element a coloured piece; `y` is its line.
    pieces = re.findall(r'<text class="report-r\d+" x="[\d.]+" y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    rows: dict[str, str] = {}
    for y, text in pieces:
        rows[y] = rows.get(y, "") + html.unescape(text)
    drawn = [words for row in rows.values() if (words := "".join(row.split()))]
    written = [words for line in the_report_in_the_readme() if (words := "".join(line.split()))]
    assert drawn == written


def test_the_picture_fetches_nothing() -> None:
    svg = (REPOSITORY / "docs" / "report.svg").read_text("utf-8")
    assert "url(http" not in svg.replace('"', "")
    assert "@font-face" not in svg


def test_the_documented_json_fields_exist() -> None:
    schema = (REPOSITORY / "triage" / "reports" / "report.schema.json").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+) \|", (REPOSITORY / "docs" / "json.md").read_text("utf-8"), re.MULTILINE)
    names = {name for row in rows for path in re.findall(r"`([^`]+)`", row) for name in re.findall(r"\w+", path)}
    assert len(names) > 12
    assert not {name for name in names if f'"{name}"' not in schema}
