"""The table of clue kinds in CONTRIBUTING.md, made from the docstrings of their modules.

As a script, it says whether the table is out of date; with --write it rewrites it (make docs).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from triage.clues import KINDS

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
BEGIN = "<!-- made from the docstrings in triage/clues/ by 'make docs' -->\n"
END = "<!-- end of what is made -->\n"
_FIRST = "Looks at "


class Documented(NamedTuple):
    """What a kind's docstring says: what it looks at, and examples, each with a remark that may be empty."""

    looks_at: str
    examples: tuple[tuple[str, str], ...]


def documented(kind: str) -> Documented:
    """The docstring of a kind's module; raises ValueError if it does not have the form that the table needs."""
    first, *rest = (import_module(f"triage.clues.{kind}").__doc__ or "").splitlines()
    examples = tuple(_example(line) for line in rest if line.strip())
    if not first.startswith(_FIRST) or not first.endswith(".") or not examples:
        raise ValueError(f"triage/clues/{kind}.py: its docstring is '{_FIRST}….', then examples, one a line")
    return Documented(first.removeprefix(_FIRST).removesuffix("."), examples)


def _example(line: str) -> tuple[str, str]:
    yaml, _, remark = line.strip().partition("  # ")
    return yaml, remark


def table() -> str:
    """The table as the docstrings have it."""
    return "".join(f"{line}\n" for line in ("| kind | looks at | example |", "|---|---|---|", *_rows()))


def _rows() -> Iterator[str]:
    for kind in KINDS:
        page = documented(kind)
        examples = [f"`{yaml}`" + (f" ({remark})" if remark else "") for yaml, remark in page.examples]
        cells = (f"`{kind}`", page.looks_at, ", ".join(examples))
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def with_table(page: str) -> str:
    """The page with the table as the docstrings have it; raises ValueError if the page has no place for one."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the table of clue kinds is between {BEGIN.strip()} and {END.strip()}")
    return before + begin + table() + end + after


def main(page: Path, write: bool) -> int:
    """Write the table, or say whether it is out of date."""
    old = page.read_text("utf-8")
    try:
        new = with_table(old)
    except ValueError as error:
        print(error)
        return 1
    if write:
        page.write_text(new, "utf-8")
    elif old != new:
        print(f"{page.name}: the table of clue kinds is out of date; run 'make docs'")
        return 1
    print(f"{page.name}: {len(KINDS)} clue kinds, as their docstrings say.")
    return 0


if __name__ == "__main__":
    sys.exit(main(PAGE, "--write" in sys.argv[1:]))
