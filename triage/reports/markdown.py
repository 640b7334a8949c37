"""The report as Markdown, ready to be pasted into an issue tracker."""

from __future__ import annotations

import re

from triage.report import NO_CRASH, UNKNOWN, Diagnosis, Evidence, Near, Report
from triage.reports import happened
from triage.reports.harmless import harmless

# A program can have hundreds of processes, and they mostly wait for the same thing.
_HANGING = 8
_REFERENCE = re.compile(r"(@|#|GH-)(?=[A-Za-z0-9])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@])")


def render(report: Report) -> str:
    """The whole report; text from an input is escaped, so that it mentions nobody and formats nothing."""
    parts = [f"## {_title(report)}", "", _escape(report.summary), ""]
    for sentence in happened.not_read(report.crash):
        parts += [f"**Unread**: {_escape(sentence)}.", ""]
    if hidden_log := happened.hidden_log(report):
        parts += [f"{_escape(hidden_log.sentence)} {_code(hidden_log.command)}", ""]
    parts += [*_what_happened(report), ""]
    if report.diagnoses and report.verdict not in (UNKNOWN, NO_CRASH):
        parts += _first(report.diagnoses[0])
    others = report.diagnoses if report.verdict == UNKNOWN else report.diagnoses[1:]
    parts += _list("Also possible", [f"{_code(d.cause)} {d.confidence:.0%}: {_escape(d.title)}" for d in others])
    others_here = [f"{_escape(c.summary)} ({_code(c.cause or c.verdict)})" for c in report.other_crashes]
    parts += _list("Other crashes in this log", others_here)
    parts += _list("Ruled out", [f"{_code(entry.cause)}: {_escape(entry.because)}" for entry in report.ruled_out])
    parts += _list("Came closest", [_near(near) for near in report.nearest])
    parts += _list("Heard elsewhere", [_escape(one.text) for one in report.hearsay])
    parts += _list("Not seen", [_escape(gap.sentence) for gap in happened.unseen(report)])
    system = report.crash.environment.os
    asked = [(_escape(q.ask), f" {_code(q.run.line(system))}" if q.run else "") for q in happened.questions(report)]
    parts += _list("Next", [ask + command for ask, command in asked])
    hidden = ", ".join(f"{count} {kind}" for kind, count in report.redactions)
    closing = f"triage {report.version}, signatures {report.signatures[:19]}" + (
        f"; hidden: {hidden}" if hidden else ""
    )
    if told := happened.reliability(report):
        closing += f"; {told}"
    return "\n".join([*parts, f"<sub>{_escape(closing)}</sub>"]) + "\n"


def _what_happened(report: Report) -> list[str]:
    crash = report.crash
    parts = [f"- **hung**: {_escape(sentence)}" for sentence in happened.hung(crash, _HANGING)]
    if crash.exit and crash.exit.is_failure and (death := happened.died(crash)):
        parts.append(f"- **died**: {_escape(death)}: {_escape(crash.exit.meaning)}")
    if reaction := happened.reaction(crash):
        parts.append(f"- **then**: {_escape(reaction)}")
    if crash.exceptions:
        last = crash.exceptions[-1]
        parts.append(f"- **exception**: {_code(f'{last.short_type}: {last.gist}')}")
    if frames := happened.native_frames(crash):
        source = happened.own_source(crash)
        parts.append(f"- **where**: {_code(frames)}" + (f", built from {_code(source)}" if source else ""))
    if module := happened.faulting_module(crash):
        parts.append(f"- **module**: {_escape(module)}")
    if fault := happened.fault(crash):
        parts.append(f"- **fault**: {_code(fault)}")
    if seen := happened.seen_on_stack(crash):
        parts.append(f"- **seen**: {_escape(seen)}")
    parts += [f"- **odd**: {_escape(sentence)}" for sentence in happened.odd(crash)]
    if report.stack_key and report.stack_key != frames:
        parts.append(f"- **stack**: {_code(report.stack_key)}")
    environment = crash.environment
    told = [f"{name} {version}" for name, version in environment.packages]
    system = " ".join(part for part in (environment.os, environment.os_version, environment.architecture) if part)
    told += [text for text in (happened.python(crash), system) if text]
    return parts + ([f"- **with**: {_escape(', '.join(told))}"] if told else [])


def _title(report: Report) -> str:
    if not report.diagnoses or report.verdict in (UNKNOWN, NO_CRASH):
        return f"triage: {report.verdict}"
    first = report.diagnoses[0]
    return f"triage: {_code(first.cause)} ({first.confidence:.0%}, {report.verdict})"


def _first(diagnosis: Diagnosis) -> list[str]:
    parts = _list(
        "Why", [_evidence(e) for e in diagnosis.because] + [f"against: {_evidence(e)}" for e in diagnosis.against]
    )
    parts += ["### Fix", ""]
    for number, step in enumerate(diagnosis.fix, 1):
        parts.append(f"{number}. {_escape(step.do)}" + (f" {_code(step.run)}" if step.run else ""))
        parts.append(f"   Check: {_escape(step.verify)} (risk: {step.risk})")
        if step.if_not:
            parts.append(f"   If not: {_escape(step.if_not)}")
    return [*parts, ""]


def _evidence(evidence: Evidence) -> str:
    line = f" (line {evidence.place.line})" if evidence.place and evidence.place.line else ""
    return _escape(evidence.text) + line


def _near(near: Near) -> str:
    seen = [f"seen: {_escape(text)}" for text in near.seen]
    return f"{_code(near.cause)} ({_code(near.signature)}): " + "; ".join([*seen, *map(_escape, near.missing)])


def _list(heading: str, entries: list[str]) -> list[str]:
    return [f"### {heading}", "", *(f"- {entry}" for entry in entries), ""] if entries else []


def _escape(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", " ".join(harmless(text).split()))
    # A tracker links @name, #1 and GH-1 even when they are escaped; an invisible space keeps them apart.
    return _REFERENCE.sub("\\1\u200b", escaped)


def _code(text: str) -> str:
    """A code span that a backtick in the text cannot end."""
    text = " ".join(harmless(text).split())
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
