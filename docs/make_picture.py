"""Make the picture and the text of the README's report from a real run: `make picture`.

The crasher really runs, and what triage prints on a terminal of 80 columns becomes `docs/report.svg` (with rich's own
export) and the block between the two marks in README.md. Only the path of the interpreter is left out: it differs from
machine to machine.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console

import triage
from triage.report import Report
from triage.reports.terminal import coloured
from triage.reports.text import Line, layout

REPOSITORY = Path(__file__).resolve().parent.parent
CRASHER = "fixtures/crashers/oom_in_fit.py"
COLUMNS = 80
PICTURE = REPOSITORY / "docs" / "report.svg"
README = REPOSITORY / "README.md"
BEGIN, END = "<!-- made by 'make picture' -->\n", "<!-- end of what is made -->\n"


def main() -> int:
    """Run the crasher, write the picture and the block."""
    report = triage.run([CRASHER]).report
    if report is None:
        print(f"{CRASHER} ended well, so there is nothing to draw.", file=sys.stderr)
        return 1
    lines = layout(without_interpreter(report), COLUMNS)
    PICTURE.write_text(picture(lines), "utf-8")
    README.write_text(with_block(README.read_text("utf-8"), lines), "utf-8")
    return 0


def without_interpreter(report: Report) -> Report:
    """The report as it reads on every machine."""
    environment = report.crash.environment._replace(interpreter=None)
    return report._replace(crash=report.crash._replace(environment=environment))


def picture(lines: list[Line]) -> str:
    """The lines as rich draws a terminal. The id is fixed, so that an unchanged report is an unchanged file."""
    console = Console(width=COLUMNS + 2, record=True, file=io.StringIO(), highlight=False)
    for line in lines:
        console.print(coloured(line))
    drawn = console.export_svg(title=f"triage run {CRASHER}", unique_id="report")
    # rich has browsers fetch a font; a picture of ours fetches nothing.
    return re.sub(r"@font-face \{[^}]*\}\s*", "", drawn)


def with_block(readme: str, lines: list[Line]) -> str:
    """The README with these lines between its marks."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    shown = "".join(f"{line}\n" for line in lines)
    return f"{before}{BEGIN}```\n$ triage run {CRASHER}\n[the script's own output]\n\n{shown}```\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
