"""A report of ours is recognised in every format, for every kind of answer, alone and among others."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LOGS

import triage
from triage.knowledge.database import Knowledge
from triage.report import Report
from triage.reports import FORMATS, renderer
from triage.reports.recognition import is_report

# As they were printed before the sentence became the first line.
OLDER = {
    "diagnosed": """\
host.out-of-memory   Memory ran out inside a oneDNN kernel, which then crashed   99 %

 died   SIGSEGV (exit 139) at oom_in_fit.py:31 in <module>
        Python 3.11, Linux
 why    + oneDNN could not allocate [8192,128,128,1024] float = 512.0 GiB   (line 53)
 fix    1  Lower the batch from 8192 to 128 or less.
           check: the first step passes
 unseen memory: nothing here tells the peak
 sure   of 223 unread reports answered this surely, 212 were right (2026-11-18)

 more   triage explain host.out-of-memory
""",
    "uncertain": """\
perhaps host.out-of-memory   Memory ran out, and the process was killed for it   43 %

 died   SIGKILL (exit 137)
 why    + the process was killed from outside (SIGKILL)

 more   triage explain host.out-of-memory
""",
    "unknown": """\
unknown   Something failed with SIGABRT (exit 134), but the evidence does not name its cause.

 died   SIGABRT (exit 134)
 near   native.check-failed: would need the native stack: the native stack ends in the code that prints a fatal line

 more   triage explain SIGABRT
""",
    "no crash": "no-crash   Nothing here says that a process died.\n\n",
    "Markdown": """\
## triage: `host.out-of-memory` (43%, uncertain)

Memory ran out, and the process was killed for it, perhaps (43%).

- **died**: SIGKILL (exit 137): killed from outside without a chance to say why, often for want of memory

<sub>triage 0.1.0, signatures sha256:b721c358e242; of 40 unread reports answered this surely, 29 were right</sub>
""",
}
NAMES = sorted(path for folder in ("", "composed", "healthy") for path in (LOGS / folder).glob("*.log"))[::6]


@pytest.fixture(scope="module")
def reports(knowledge: Knowledge) -> list[Report]:
    return [triage.analyze(path, knowledge=knowledge) for path in NAMES] + [
        triage.analyze(b"", knowledge=knowledge),
        triage.analyze(b"", exit_code=139, knowledge=knowledge),
    ]


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_report_is_recognised(reports: list[Report], format_name: str, tmp_path: Path) -> None:
    assert {report.verdict for report in reports} >= {"diagnosed", "unknown", "no-crash"}
    file = tmp_path / "report"
    for report in reports:
        file.write_text(renderer(format_name)(report), "utf-8")
        assert is_report(str(file)), report.crash.inputs


@pytest.mark.parametrize("kind", OLDER)
def test_a_report_of_an_older_version_is_recognised(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text(OLDER[kind], "utf-8")
    assert is_report(str(file))


def test_several_reports_of_either_version_are_recognised_among_each_other(
    tmp_path: Path, reports: list[Report]
) -> None:
    file = tmp_path / "reports"
    texts = [text for kind, text in OLDER.items() if kind != "Markdown"] + [renderer("text")(one) for one in reports]
    file.write_text("".join(f"== {number}.log\n{text}\n" for number, text in enumerate(texts)), "utf-8")
    assert is_report(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "Build 17\nno-crash\n",
        "Memory ran out   99 %\nhost.out-of-memory\n",
        "Memory ran out   99 %\nhost.out-of-memory\n\n more    triage explain host.out-of-memory\nmy own words\n",
        "It failed.\nunknown\n\n next    look at it\n",
        "## Memory ran out (99 %)\n\nmy own words\n\n<sub>triage 0.1.0</sub>\n",
        "## Memory ran out (99 %)\n\ntriage: `host.out-of-memory`\n",
    ],
)
def test_what_only_begins_like_a_report_is_not(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text(text, "utf-8")
    assert not is_report(str(file))


def test_logs_are_not(tmp_path: Path) -> None:
    assert not [path for path in LOGS.rglob("*.log") if is_report(str(path))]
    assert not is_report(str(tmp_path)) and not is_report(str(tmp_path / "nowhere"))
