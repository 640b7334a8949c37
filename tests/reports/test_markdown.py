"""Markdown for an issue tracker: text from a log formats nothing, links nothing and mentions nobody."""

from __future__ import annotations

import re

import pytest
from building import exit_status
from conftest import LOGS
from markdown_it import MarkdownIt

import triage
from triage.crash import (
    Command,
    Crash,
    Environment,
    ExitStatus,
    Fault,
    Gap,
    NativeFrame,
    Place,
    Process,
    PythonException,
    PythonFrame,
    Thread,
)
from triage.diagnosis import diagnose
from triage.report import Diagnosis, Evidence, FixStep, Question, Report, RuledOut
from triage.reports.markdown import render

NASTY = (
    "`code` ``more`` @name <script>alert(1)</script> | a | b | fixes #1 **bold** _it_"
    " [x](http://x.example) ![i](y) &lt; ~~s~~"
)
# GitHub looks for mentions and references in the rendered text, where a backslash is gone
# (github.com/github/markup/issues/1168); only code is left alone.
MENTION = re.compile(r"(?<![\w/@`])@[A-Za-z0-9][\w-]*")
REFERENCE = re.compile(r"(?<!\w)(?:#\d|GH-\d)")


def tokens(markdown: str):
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown):
        yield token
        yield from token.children or ()


def plain_text(markdown: str) -> str:
    """What is rendered outside code; comments that keep a mention apart are not rendered."""
    return "".join(
        "\0" if token.type == "code_inline" else token.content if token.type == "text" else ""
        for token in tokens(markdown)
    )


def kinds(markdown: str) -> set[str]:
    return {token.type for token in tokens(markdown)}


@pytest.fixture
def nasty_report(knowledge):
    """A report in which every text that can come from an input is hostile."""
    report = triage.analyze(LOGS / "oom_in_fit-2.21.log", exit_code=139, knowledge=knowledge)
    diagnosis = Diagnosis(
        1, "host.out-of-memory", "host/x", NASTY, 0.9, (Evidence(NASTY, None, 1.0),), (Evidence(NASTY, None, -1.0),),
        (FixStep(NASTY, NASTY, "low", NASTY),), "claimed", (NASTY,),
    )  # fmt: skip
    return report._replace(
        summary=NASTY,
        stack_key=NASTY,
        diagnoses=(diagnosis, diagnosis._replace(rank=2)),
        ruled_out=(RuledOut("gpu.out-of-memory", NASTY),),
        not_observable=(NASTY,),
        next=(Question(NASTY, Command((NASTY,)), ()),),
    )


def test_a_log_line_formats_nothing(run_triage):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {NASTY}\n'
    output = run_triage("analyze", "-", "--format", "markdown", input=log).stdout
    assert "alert(1)" in output
    assert not kinds(output) & {"link_open", "image", "em_open", "s_open", "table_open", "html_block"}
    assert {token.content for token in tokens(output) if token.type == "html_inline"} <= {"<sub>", "</sub>"}


def test_no_text_of_a_report_formats_anything(nasty_report):
    output = render(nasty_report)
    assert not kinds(output) & {"link_open", "image", "em_open", "s_open", "table_open", "html_block", "fence"}
    html = {token.content for token in tokens(output) if token.type == "html_inline"}
    assert all(tag in ("<sub>", "</sub>") or tag.startswith("<!--") for tag in html)


def test_a_backtick_does_not_end_a_code_span(nasty_report):
    spans = [token.content for token in tokens(render(nasty_report)) if token.type == "code_inline"]
    assert NASTY in spans


def test_nobody_is_mentioned(nasty_report):
    assert not MENTION.findall(plain_text(render(nasty_report)))


def test_no_issue_is_referred_to(nasty_report):
    assert not REFERENCE.findall(plain_text(render(nasty_report)))


def test_the_mentions_of_a_log_are_harmless(run_triage):
    log = f'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: {NASTY}\n'
    output = plain_text(run_triage("analyze", "-", "--format", "markdown", input=log).stdout)
    assert not MENTION.findall(output) and not REFERENCE.findall(output)


def test_a_line_of_a_log_cannot_start_a_heading_or_a_list(run_triage):
    log = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: x\n'
    log += "# heading\n- item\n1. one\n\n> quoted\n"
    output = run_triage("analyze", "-", "--format", "markdown", input=log).stdout
    headings = [line for line in output.splitlines() if line.startswith("#")]
    assert headings[0].startswith("## ") and all(line.startswith("### ") for line in headings[1:])
    assert "heading" not in "".join(headings)


def test_the_whole_report_is_told(knowledge):
    report = triage.analyze(LOGS / "oom_in_fit-2.21.log", exit_code=139, knowledge=knowledge)
    text = plain_text(render(report))
    first = report.diagnoses[0]
    for told in (*(e.text for e in first.because), *(step.verify for step in first.fix), *report.not_observable):
        assert " ".join(told.split()) in text
    for heading in ("Why", "Fix", "Missing"):
        assert f"### {heading}\n" in render(report)


def test_what_was_hidden_is_counted(knowledge):
    log = b"Traceback (most recent call last):\nFileNotFoundError: /home/alice/x\n"
    assert "hidden: " in render(triage.analyze(log, knowledge=knowledge))


# ---------------------------------------------------------------- what a program that we ran tells


RERUN = Command(("train.py", "--epochs", "3"))
HIDDEN = "TF_CPP_MIN_LOG_LEVEL=3, set by the script"
TIMEOUT = ExitStatus(code=124, name="timeout", kind="timeout", meaning="it was still running after 60 s")


def live(text: str = "", *, hangs: bool = False, **machine: str) -> Crash:
    """A worker that died in native code (or a program that hangs); with a text, everything that it can choose is it."""
    thread = Thread(
        crashed=not hangs,
        python_stack=(PythonFrame(f"/home/user/{text or 'train.py'}", 12, text or "fit"),),
        native_stack=(
            NativeFrame("/usr/lib/libc.so.6", text or "strlen"),
            NativeFrame(None, "a frame that was not read", trust="omitted"),
            NativeFrame(
                "/home/user/_op.so", text or "Kernel<float, 2>::Compute(Context*)", source=text or "/home/user/op.cc:14"
            ),
        ),
    )
    ended = TIMEOUT if hangs else exit_status("139")
    fault = None if hangs else Fault("SIGSEGV", 0x8, "read", text or "mov    eax,DWORD PTR [rdi]")
    processes = (
        Process(4711, exit=TIMEOUT if hangs else exit_status("1"), threads=(thread,) if hangs else ()),
        Process(4712, "worker", exit=ended, threads=(thread,), fault=fault),
    )
    facts = {"python": "3.11.7", "os": "linux", "interpreter": "/home/user/.venv/bin/python", **machine}
    rerun = Command((text,)) if text else RERUN
    return Crash(processes=processes, primary=1, rerun=rerun, environment=Environment(**facts))


def told(crash: Crash, knowledge) -> Report:
    return diagnose(crash, knowledge, version="test")


def bullets(report: Report) -> dict[str, list[str]]:
    """The facts above the first heading, by their names, as they are rendered: code is its own text."""
    found: dict[str, list[str]] = {}
    for token in MarkdownIt("commonmark").parse(render(report).partition("\n### ")[0]):
        if token.type == "inline" and token.content.startswith("**"):
            text = "".join(child.content for child in token.children or ())
            name, _, fact = text.partition(": ")
            found.setdefault(name, []).append(fact)
    return found


def test_the_process_that_died_and_how_the_program_took_it(knowledge):
    facts = bullets(told(live(), knowledge))
    assert facts["died"] == [
        "worker 4712: SIGSEGV (exit 139) at train.py:12 in fit: native code touched memory it may not use"
    ]
    assert facts["then"] == ["the program itself ended with exit 1"]


def test_where_it_died(knowledge):
    facts = bullets(told(live(), knowledge))
    assert facts["where"] == [
        "strlen < Kernel::Compute",
        "built from /home/user/op.cc:14",
        "read of address 0x8 by mov eax,DWORD PTR [rdi]",
    ]


def test_a_stack_is_not_told_twice(knowledge):
    report = told(live(), knowledge)
    assert report.stack_key == "strlen < Kernel::Compute"
    assert render(report).count(report.stack_key) == 1


def test_a_key_that_differs_from_the_stack_is_told(knowledge):
    crash = live()
    frames = tuple(NativeFrame("libc.so.6", name) for name in ("raise", "abort", "Kernel::Check", "Kernel::Compute"))
    thread = crash.processes[1].threads[0]._replace(native_stack=frames)
    crash = crash._replace(processes=(crash.processes[0], crash.processes[1]._replace(threads=(thread,))))
    facts = bullets(told(crash, knowledge))
    assert facts["where"][0] == "abort < Kernel::Check < Kernel::Compute"
    assert facts["stack"] == ["Kernel::Check < Kernel::Compute"]


def test_the_interpreter_is_named(knowledge):
    assert bullets(told(live(), knowledge))["system"] == ["Python 3.11.7 (/home/user/.venv/bin/python), Linux"]


def test_where_each_process_of_a_hang_waits(knowledge):
    facts = bullets(told(live(hangs=True), knowledge))
    assert facts["hung"] == [
        "it was still running after 60 s",
        "worker 4712: train.py:12 in fit, in strlen",
        "main 4711: train.py:12 in fit, in strlen",
    ]
    assert not {"died", "then", "where", "fault"} & facts.keys()


def test_of_hundreds_of_hanging_processes_some_are_told(knowledge):
    crash = live(hangs=True)
    many = (*crash.processes, *(crash.processes[1]._replace(pid=5000 + n) for n in range(200)))
    hung = bullets(told(crash._replace(processes=many), knowledge))["hung"]
    assert len(hung) == 10
    assert hung[-1] == "and 194 more processes"


def test_a_hidden_log_comes_before_the_facts_and_is_not_asked_for_again(knowledge):
    output = render(told(live(hidden_log=HIDDEN, python=""), knowledge))
    command = "`triage run --framework-log train.py --epochs 3`"
    assert output.count("triage run --framework-log") == 1
    assert output.index(command) < output.index("- **died**")
    assert f"run it again with TensorFlow's own log, which was hidden ({HIDDEN})" in plain_text(output)


def test_a_log_that_was_printed_is_not_called_hidden(knowledge):
    assert "hidden" not in render(told(live(), knowledge))


@pytest.mark.parametrize("hangs", [False, True], ids=["crash", "hang"])
def test_nothing_that_a_program_chose_formats_mentions_or_refers(knowledge, hangs):
    crash = live(NASTY, hangs=hangs, interpreter=NASTY, hidden_log=NASTY, python=NASTY, os=NASTY)
    error = PythonException(NASTY, NASTY, NASTY, place=Place(0, 1))
    output = render(told(crash._replace(exceptions=(error,), gaps=(Gap("input", "damaged", detail=NASTY),)), knowledge))
    assert "alert(1)" in output
    assert not kinds(output) & {"link_open", "image", "em_open", "s_open", "table_open", "html_block", "fence"}
    assert {token.content for token in tokens(output) if token.type == "html_inline"} <= {"<sub>", "</sub>"}
    assert not MENTION.findall(plain_text(output)) and not REFERENCE.findall(plain_text(output))


@pytest.mark.parametrize("hangs", [False, True], ids=["crash", "hang"])
def test_no_line_feed_that_a_program_chose_begins_a_line(knowledge, hangs):
    crash = live("x\n# heading\n- item\x1b[2J", hangs=hangs, interpreter="a\n# heading", hidden_log="b\n\n- item")
    output = render(told(crash, knowledge))
    assert not [line for line in output.splitlines() if line.startswith(("# ", "- item", "heading"))]
    assert "\x1b" not in output


def test_the_live_report_stays_short(knowledge):
    facts = bullets(told(live(hidden_log=HIDDEN), knowledge))
    assert sum(map(len, facts.values())) <= 7


def test_a_real_run(run_triage, tmp_path):
    (tmp_path / "train.py").write_text("import ctypes\ndef fit():\n    ctypes.string_at(8)\nfit()\n")
    done = run_triage("run", "--no-native", "--format", "markdown", "--output", "report.md", "train.py")
    output = (tmp_path / "report.md").read_text("utf-8")
    assert done.returncode == 139
    assert "- **died**: SIGSEGV (exit 139) at train.py:3 in fit: " in output
