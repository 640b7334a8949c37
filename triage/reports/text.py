"""The report for people: labelled rows, answer first, next command last.

`rows` says what is told, `layout` how it is laid out: wrapped to a width and kept to one screen on a terminal, whole
and unwrapped in a pipe.
"""

from __future__ import annotations

from typing import NamedTuple

from triage.crash import Crash, Place, base_name
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Diagnosis, Evidence, Near, Report
from triage.reports import happened
from triage.reports.harmless import harmless
from triage.reports.wrapping import columns, shorten, wrap

_LABEL = 8
# How much of each part is shown on a screen, less and less until it fits; a pipe gets all of it.
_PARTS = ("hung", "odd", "why", "against", "fix", "if_not", "not", "heard", "else", "near", "other", "next", "sure")
_SCREENS = tuple(
    dict(zip(_PARTS, row, strict=True))
    for row in (
        (6, 3, 4, 2, 3, 1, 2, 1, 4, 3, 2, 2, 1),
        (6, 2, 4, 2, 3, 0, 2, 1, 4, 3, 2, 2, 1),
        (4, 1, 3, 1, 2, 0, 1, 1, 3, 2, 1, 1, 1),
        (3, 1, 2, 0, 2, 0, 1, 1, 2, 2, 1, 1, 1),
        (3, 1, 3, 0, 2, 0, 1, 0, 2, 2, 1, 1, 0),
        (3, 1, 2, 0, 2, 0, 1, 0, 2, 2, 1, 1, 0),
        (2, 1, 2, 0, 1, 0, 0, 0, 2, 1, 1, 1, 0),
        (1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0),
    )
)
_SCREEN_LINES = 24
# A sentence that takes more than two lines of a screen is cut there.
_LONGEST = 140


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
        answer, title, share = str(report.verdict), report.summary, ""
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

    if report.verdict == NO_CRASH and report.crash.rerun:
        return []  # the person who ended it knows the rest

    def some(part: str) -> int | None:
        return most[part] if most is not None else None

    rows = [Row("unread", sentence) for sentence in happened.not_read(report.crash)]
    rows += _hidden_log(report)
    rows += _what_happened(report.crash, on_screen, some("hung"))
    rows += [Row("odd", text, hang=2) for text in happened.odd(report.crash)[: some("odd")]]
    if report.verdict != NO_CRASH and report.diagnoses:
        first = report.diagnoses[0]
        if report.verdict != UNKNOWN:
            rows += _reasons(first, report.crash, some("why"), some("against"))
            rows += _fix(first, some("fix"), if_not=most is None or bool(most["if_not"]))
    for entry in report.ruled_out[: some("not")]:
        rows.append(Row("not", f"{entry.cause}: {entry.because}"))
    rows += [Row("heard", one.text) for one in report.hearsay[: some("heard")]]
    others = report.diagnoses if report.verdict == UNKNOWN else report.diagnoses[1:]
    if others := others[: some("else")]:
        rows.append(Row("else", ", ".join(f"{d.cause} {d.confidence * 100:.0f} %" for d in others)))
    for near in report.nearest[: some("near")]:
        rows.append(Row("near", _nearness(near, report.crash, on_screen), hang=2))
    for crash in report.other_crashes[: some("other")]:
        line = f" (line {crash.place.line})" if crash.place and crash.place.line else ""
        rows.append(Row("also", f"{crash.cause or crash.verdict}: {crash.summary}{line}"))
    if report.verdict not in (DIAGNOSED, NO_CRASH):
        missing = [gap.label if on_screen else gap.sentence for gap in happened.unseen(report)]
        if missing:
            rows.append(Row("unseen", (", " if on_screen else "; ").join(missing)))
    elif not on_screen:
        rows += [Row("unseen", text) for text in report.not_observable]
    for question in happened.questions(report)[: some("next")]:
        rows.append(Row("next", question.ask))
        if question.run:
            rows.append(Row("next", question.run.line(report.crash.environment.os), role="command", hang=2))
    if (told := happened.reliability(report)) and some("sure") != 0:
        rows.append(Row("sure", told, role="dim"))
    return rows


def _nearness(near: Near, crash: Crash, on_screen: bool) -> str:
    """One candidate: what was seen of it besides how it died, and what was not; on a screen the first of each."""
    told = crash.exit.label if crash.exit else "\0"
    seen = [text for text in near.seen if told not in text]
    seen, missing = (seen[:1], near.missing[:1]) if on_screen else (seen, near.missing)
    parts = ([f"seen: {', '.join(seen)}"] if seen else []) + list(missing)
    return f"{near.cause}: {'; '.join(shorten(part, _LONGEST // 2) if on_screen else part for part in parts)}"


def _what_happened(crash: Crash, on_screen: bool, most_hung: int | None) -> list[Row]:
    def short(text: str) -> str:
        return shorten(text, _LONGEST) if on_screen else text

    rows = [Row("hung", short(sentence)) for sentence in happened.hung(crash, most_hung)]
    if death := happened.died(crash):
        rows.append(Row("died", short(death)))
    if meaning := happened.fast_fail(crash):
        rows.append(Row("died", short(meaning)))
    if reaction := happened.reaction(crash):
        rows.append(Row("then", reaction))
    error = crash.exceptions[-1] if crash.exceptions else None
    if error and error.gist:
        rows.append(Row("said", short(f"{error.short_type}: {error.gist}")))
    tensorflow = happened.tensorflow(crash)
    told = [part for part in (tensorflow, happened.python(crash), happened.system(crash)) if part]
    if told and rows:
        rows.append(Row(rows[0].label if len(rows) == 1 else "with", short(", ".join(told))))
    if frames := happened.native_frames(crash):
        rows.append(Row("where", short(frames)))
    if module := happened.faulting_module(crash):
        rows.append(Row("where", short(module)))
    if source := happened.own_source(crash):
        rows.append(Row("where", short(f"built from {source}")))
    if fault := happened.fault(crash):
        rows.append(Row("where", fault))
    if seen := happened.seen_on_stack(crash):
        rows.append(Row("where", short(seen)))
    return rows


def _hidden_log(report: Report) -> list[Row]:
    """Before anything else: the log that decides such cases was not there to be read."""
    hidden = happened.hidden_log(report)
    if hidden is None:
        return []
    return [Row("first", hidden.sentence), Row("first", hidden.command, role="command", hang=2)]


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


def _fix(first: Diagnosis, most: int | None, *, if_not: bool) -> list[Row]:
    rows = []
    for number, step in enumerate(first.fix[:most], 1):
        risk = "" if step.risk == "low" else f" (risk: {step.risk})"
        rows.append(Row("fix", f"{number}  {step.do}{risk}", hang=3))
        if step.run:
            rows.append(Row("fix", f"   {step.run}", role="command", hang=3))
        rows.append(Row("fix", f"   check: {step.verify}", role="dim", hang=3))
        if step.if_not and if_not:
            rows.append(Row("fix", f"   still: {step.if_not}", role="dim", hang=3))
    return rows


def _more(report: Report) -> str:
    if report.verdict == NO_CRASH:
        return ""
    return f"triage explain {report.topic}" if report.topic else "triage analyze LOG --exit-code CODE"


def _row_lines(row: Row, label: str, width: int | None) -> list[Line]:
    gutter = (f" {label}".ljust(_LABEL), "label")
    # A line feed would end the row, and a tab takes as many columns as the terminal likes.
    text, source = (harmless(part).replace("\n", " ").replace("\t", " ") for part in (row.text, row.source))
    if width is None:
        return [Line((gutter, (text, row.role), (f"   ({source})" if source else "", "dim")))]
    room = max(20, width - _LABEL)
    source = shorten(source, room // 2)
    first_room = room - (columns(source) + 2 if source else 0)
    lines = []
    for number, piece in enumerate(wrap(text, first_room, row.hang)):
        right = " " * (room - columns(piece) - columns(source)) + source if source and number == 0 else ""
        lines.append(Line((gutter if number == 0 else (" " * _LABEL, "label"), (piece, row.role), (right, "dim"))))
    return lines
