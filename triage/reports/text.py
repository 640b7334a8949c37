"""The report for people: labelled rows, answer first, next command last.

`rows` says what is told, `layout` how it is laid out: wrapped to a width and kept to one screen on a terminal, whole
and unwrapped in a pipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.crash import Crash, Fault, Place, PythonFrame, Thread, base_name
from triage.patterns import compile as pattern
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Diagnosis, Evidence, Report
from triage.reports.harmless import harmless
from triage.reports.wrapping import columns, shorten, wrap

_LABEL = 8
# How much of each part is shown on a screen, less and less until it fits; a pipe gets all of it.
_SCREENS = (
    {"why": 4, "against": 2, "fix": 3, "not": 2, "else": 4, "other": 2, "next": 2},
    {"why": 3, "against": 1, "fix": 2, "not": 1, "else": 3, "other": 1, "next": 1},
    {"why": 2, "against": 0, "fix": 2, "not": 1, "else": 2, "other": 1, "next": 1},
    {"why": 2, "against": 0, "fix": 1, "not": 0, "else": 2, "other": 1, "next": 1},
)
_SCREEN_LINES = 24
_SAID = 140
_NATIVE_FRAMES = 3


# The C library, the C++ runtime, Python and its own extension modules.
_SYSTEM_LIBRARY = r"^(?:lib(?:c|m|dl|pthread|stdc\+\+|gcc_s|ffi|python)[-.\d]|ld[-.]|python|\[|.*\.cpython-)"


class Row(NamedTuple):
    """A row of the report: its label, its text, where the text comes from, and what it is for colouring."""

    label: str
    text: str
    source: str = ""
    role: str = "text"
    hang: int = 0


class Line(NamedTuple):
    """A line of output in pieces, each with the role that decides its colour."""

    pieces: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces).rstrip()


def render(report: Report) -> str:
    """The whole report as plain text, nothing cut."""
    return "\n".join(str(line) for line in layout(report, None)) + "\n"


def layout(report: Report, width: int | None) -> list[Line]:
    """The report's lines; with a width they are wrapped to it and kept to one screen."""
    if width is None:
        return _lines(report, None, None)
    screens = (_lines(report, width, most) for most in _SCREENS)
    shown: list[Line] = []
    for shown in screens:
        if len(shown) <= _SCREEN_LINES:
            break
    return shown


def _lines(report: Report, width: int | None, most: dict[str, int] | None) -> list[Line]:
    lines = [*_headline(report, width), Line(())]
    label = ""
    for row in _rows(report, most):
        shown = "" if row.label == label else row.label
        label = row.label
        lines += _row_lines(row, shown, width)
    more = _more(report)
    if more:
        lines += [Line(()), Line(((" more   ", "label"), (more, "command")))]
    return lines


def _headline(report: Report, width: int | None) -> list[Line]:
    """The answer: cause, title and confidence on one line where they fit, else the title below."""
    if not report.diagnoses or report.verdict in (UNKNOWN, NO_CRASH):
        answer, title, share = report.verdict, report.summary, ""
    else:
        first = report.diagnoses[0]
        answer = first.cause if report.verdict == DIAGNOSED else f"perhaps {first.cause}"
        title, share = first.title, f"{first.confidence * 100:.0f} %"
    title = harmless(title)
    if width is None:
        return [Line(((answer, "answer"), (f"   {title}", "text"), (f"   {share}" if share else "", "share")))]
    if len(answer) + 3 + columns(title) + 2 + len(share) <= width:
        right = share.rjust(width - len(answer) - 3 - columns(title))
        return [Line(((answer, "answer"), (f"   {title}", "text"), (right, "share")))]
    below = [Line(((f" {piece}", "text"),)) for piece in wrap(title, width - 1)]
    return [Line(((answer, "answer"), (share.rjust(width - len(answer)), "share"))), *below]


def _rows(report: Report, most: dict[str, int] | None) -> list[Row]:
    on_screen = most is not None

    def some(part: str) -> int | None:
        return most[part] if most is not None else None

    rows = _hidden_log(report)
    rows += _what_happened(report.crash, on_screen)
    if report.verdict != NO_CRASH and report.diagnoses:
        first = report.diagnoses[0]
        if report.verdict != UNKNOWN:
            rows += _reasons(first, report.crash, some("why"), some("against"))
            rows += _fix(first, some("fix"))
    for entry in report.ruled_out[: some("not")]:
        rows.append(Row("not", f"{entry.cause}: {entry.because}"))
    others = report.diagnoses if report.verdict == UNKNOWN else report.diagnoses[1:]
    if others:
        rows.append(Row("else", ", ".join(f"{d.cause} {d.confidence * 100:.0f} %" for d in others[: some("else")])))
    for crash in report.other_crashes[: some("other")]:
        line = f" (line {crash.place.line})" if crash.place and crash.place.line else ""
        rows.append(Row("also", f"{crash.cause or crash.verdict}: {crash.summary}{line}"))
    if report.verdict not in (DIAGNOSED, NO_CRASH):
        missing = [text.split(":")[0] for text in report.not_observable] if on_screen else report.not_observable
        if missing:
            rows.append(Row("unseen", (", " if on_screen else "; ").join(missing)))
    elif not on_screen:
        rows += [Row("unseen", text) for text in report.not_observable]
    for question in report.next[: some("next")]:
        rows.append(Row("next", question.ask))
        if question.run:
            rows.append(Row("next", question.run, role="command", hang=2))
    return rows


def _what_happened(crash: Crash, on_screen: bool) -> list[Row]:
    rows = []
    frame = _own_frame(crash)
    at = f" at {base_name(frame.file)}:{frame.line} in {frame.function}" if frame else ""
    error = crash.exceptions[-1] if crash.exceptions else None
    if crash.hung:
        rows += _hang(crash)
    elif crash.exit and crash.exit.is_failure:
        rows.append(Row("died", _who(crash) + crash.exit.label + at))
    elif error:
        rows.append(Row("died", error.short_type + at))
    rows += _reaction(crash)
    if error and error.gist:
        said = f"{error.short_type}: {error.gist}"
        rows.append(Row("said", shorten(said, _SAID) if on_screen else said))
    told = [f"TensorFlow {crash.environment.package('tensorflow')}"] if crash.environment.package("tensorflow") else []
    where = f" ({crash.environment.interpreter})" if crash.environment.interpreter else ""
    told += [f"Python {crash.environment.python}{where}"] if crash.environment.python else []
    told += [_SYSTEMS.get(crash.environment.os, crash.environment.os)] if crash.environment.os else []
    if told and rows:
        rows.append(Row(rows[0].label if len(rows) == 1 else "with", ", ".join(told)))
    native = next((thread for thread in crash.threads if thread.crashed and thread.native_stack), None)
    if native:
        shown = [frame.name for frame in native.native_stack if frame.trust != "omitted"][:_NATIVE_FRAMES]
        rows.append(Row("where", " < ".join(shown)))
        if source := _own_source(native):
            rows.append(Row("where", f"built from {source}"))
    fault = crash.processes[crash.primary].fault if crash.processes else None
    if fault and (fault.instruction or fault.address is not None):
        rows.append(Row("where", _fault(fault)))
    return rows


def _own_source(thread: Thread) -> str | None:
    """The innermost source line that is not the C library's or Python's: the person's own native code, mostly."""
    for frame in thread.native_stack:
        if frame.source and not pattern(_SYSTEM_LIBRARY).search(base_name(frame.module or "libc")):
            return frame.source
    return None


def _hidden_log(report: Report) -> list[Row]:
    """Before anything else: the log that decides such cases was not there to be read."""
    crash = report.crash
    if report.verdict == NO_CRASH or not (crash.environment.hidden_log and crash.rerun):
        return []
    if report.verdict == DIAGNOSED and any(e.place and e.place.line for e in report.diagnoses[0].because):
        return []  # a line that was not hidden has decided it
    return [
        Row("first", f"TensorFlow's own log was hidden ({crash.environment.hidden_log}); see what it says:"),
        Row("first", f"triage run --tf-log {crash.rerun}", role="command", hang=2),
    ]


def _who(crash: Crash) -> str:
    """Which process died, where it was not the program itself."""
    process = crash.processes[crash.primary]
    if process.role == "main":
        return ""
    number = f" {process.pid}" if process.pid else ""
    return f"{process.role}{number}: "


def _reaction(crash: Crash) -> list[Row]:
    """How the program took the death of one of its processes."""
    if not crash.processes or crash.processes[crash.primary].role == "main" or crash.hung:
        return []
    main = next((process for process in crash.processes if process.role == "main"), None)
    if main is None or main.exit is None:
        return []
    if main.exit.kind == "timeout":
        return [Row("then", f"the program waited on: {main.exit.meaning}")]
    ended = main.exit.label if main.exit.is_failure else "exit 0, as if nothing had happened"
    return [Row("then", f"the program itself ended with {ended}")]


def _hang(crash: Crash) -> list[Row]:
    """Where each process of a hanging program was blocked."""
    rows = [Row("hung", process.exit.meaning) for process in crash.processes[:1] if process.exit]
    for process in crash.processes:
        thread = _main_thread(process.threads)
        if thread is None:
            continue
        frame = _nearest(thread.python_stack)
        at = f"{base_name(frame.file)}:{frame.line} in {frame.function}" if frame else "no Python line"
        inside = f", in {thread.native_stack[0].name}" if thread.native_stack else ""
        rows.append(Row("hung", f"{process.role} {process.pid}: {at}{inside}"))
    return rows


def _main_thread(threads: Sequence[Thread]) -> Thread | None:
    """The thread that runs the script, else one that runs Python, else any."""
    running = [thread for thread in threads if thread.python_stack]
    started = (thread for thread in running if thread.python_stack[-1].function == "<module>")
    return next(started, next(iter((*running, *threads)), None))


def _fault(fault: Fault) -> str:
    touched = f"{fault.access or 'access'} of address 0x{fault.address:x}" if fault.address is not None else ""
    return " by ".join(part for part in (touched, fault.instruction) if part)


_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}


def _own_frame(crash: Crash) -> PythonFrame | None:
    """The innermost frame of the person's own code; the innermost of all where there is none."""
    stacks = [thread.python_stack for thread in crash.threads if thread.python_stack]
    stacks += [error.frames for error in reversed(crash.exceptions) if error.frames]
    for stack in stacks[:1]:
        return _nearest(stack)
    return None


def _nearest(stack: Sequence[PythonFrame]) -> PythonFrame | None:
    """The innermost frame of the person's own code, else the innermost of all."""
    own = (frame for frame in stack if frame.is_own)
    return next(own, stack[0] if stack else None)


def _reasons(first: Diagnosis, crash: Crash, why: int | None, against: int | None) -> list[Row]:
    rows = [Row("why", f"+ {e.text}", _source(e, crash), "for", hang=2) for e in first.because[:why]]
    return rows + [Row("why", f"- {e.text}", _source(e, crash), "against", hang=2) for e in first.against[:against]]


def _source(evidence: Evidence, crash: Crash) -> str:
    place: Place | None = evidence.place
    if place is None or place.line is None:
        return ""
    if len(crash.inputs) < 2:
        return f"line {place.line}"
    name = next((entry.name for entry in crash.inputs if entry.id == place.input), "-")
    return f"{base_name(name)}:{place.line}"


def _fix(first: Diagnosis, most: int | None) -> list[Row]:
    rows = []
    for number, step in enumerate(first.fix[:most], 1):
        risk = "" if step.risk == "low" else f" (risk: {step.risk})"
        rows.append(Row("fix", f"{number}  {step.do}{risk}", hang=3))
        if step.run:
            rows.append(Row("fix", f"   {step.run}", role="command", hang=3))
        rows.append(Row("fix", f"   check: {step.verify}", role="dim", hang=3))
    return rows


def _more(report: Report) -> str:
    if report.verdict == NO_CRASH:
        return ""
    return f"triage explain {report.topic}" if report.topic else "triage analyze LOG --exit-code CODE"


def _row_lines(row: Row, label: str, width: int | None) -> list[Line]:
    gutter = (f" {label}".ljust(_LABEL), "label")
    text = harmless(row.text)
    if width is None:
        source = f"   ({row.source})" if row.source else ""
        return [Line((gutter, (" ".join(text.split("\n")), row.role), (source, "dim")))]
    room = max(20, width - _LABEL)
    first_room = room - (len(row.source) + 2 if row.source else 0)
    lines = []
    for number, piece in enumerate(wrap(text, first_room, row.hang)):
        right = " " * (room - columns(piece) - len(row.source)) + row.source if row.source and number == 0 else ""
        lines.append(Line((gutter if number == 0 else (" " * _LABEL, "label"), (piece, row.role), (right, "dim"))))
    return lines
