"""What a report shows, in which order, and what is dropped first when a screen is full: decided here for all formats.

A format only lays the outline out. Nothing is escaped, wrapped or cut here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from triage.crash import Crash, Place, base_name
from triage.report import (
    DIAGNOSED,
    NO_CRASH,
    UNKNOWN,
    Diagnosis,
    Evidence,
    FixStep,
    NearMiss,
    Question,
    Report,
    SeenNotice,
)
from triage.reports import incident

SectionKind = Literal[
    "unread",
    "hidden log",
    "hang",
    "death",
    "outcome",
    "reaction",
    "exception",
    "program",
    "software",
    "location",
    "oddities",
    "stack key",
    "notices",
    "reasons",
    "fix",
    "ruled out",
    "misconceptions",
    "alternatives",
    "near misses",
    "other crashes",
    "gaps",
    "questions",
    "reliability",
]
ItemRole = Literal["text", "code", "command", "for", "against", "note"]
# From what always stays to what is dropped first. `full report` is for pipes and files: no screen shows it.
Priority = Literal["essential", "important", "useful", "supporting", "detail", "extra", "full report"]
PRIORITIES: tuple[Priority, ...] = (
    "essential",
    "important",
    "useful",
    "supporting",
    "detail",
    "extra",
    "full report",
)


class Item(NamedTuple):
    """One thing that a section says."""

    text: str
    role: ItemRole = "text"
    name: str = ""
    """The cause that it is about, before the text."""
    lead: str = ""
    """A word or two before the text: `check:`, `built from`."""
    aside: str = ""
    """What stands apart from the text, on the right: the line of the log, or a share."""
    short: str = ""
    """What a screen shows instead."""
    priority: Priority = "essential"
    least: int = 0
    """The number of lines to which a full screen may cut it; 0 if it is shown whole or not at all."""
    parts: "tuple[Item, ...]" = ()
    """What belongs to it and is dropped with it: a command, how to check that it helped."""


class Section(NamedTuple):
    """Items under one label. A section without a heading is a fact; facts come before all other sections."""

    kind: SectionKind
    label: str
    heading: str
    items: tuple[Item, ...]

    @property
    def is_numbered(self) -> bool:
        """Whether the items are steps to take in order."""
        return self.kind == "fix"

    @property
    def is_run_in(self) -> bool:
        """Whether a screen shows the items on one line, in their short form."""
        return self.kind in ("alternatives", "gaps")

    def left_out(self, count: int) -> str:
        """What to say about items that are left out, where a list must not look complete; mostly nothing."""
        if not count or self.kind != "hang":
            return ""
        return "and one more process" if count == 1 else f"and {count} more processes"


class Outline(NamedTuple):
    """A report in the order in which it is shown."""

    sentence: str
    """The answer for the person."""
    confidence: float | None
    answer: str
    """The answer as an id: the cause, or the verdict if no cause is named."""
    sections: tuple[Section, ...]
    more: str | None
    """The command that explains more."""
    made_by: str
    """Which triage and which signatures made it, and how much was redacted."""
    is_short: bool = False
    """Whether it is a few lines that need no air between them."""


# Enough of a line to find it again.
_LONGEST_QUOTE = 50

# Every section in its order, with the label of its row and, unless it is a fact, its heading.
_TITLES: Mapping[SectionKind, tuple[str, str]] = {
    "unread": ("unread", ""),
    "hidden log": ("first", ""),
    "hang": ("hung", ""),
    "death": ("died", ""),
    "outcome": ("ended", ""),
    "reaction": ("then", ""),
    "exception": ("error", ""),
    "program": ("program", ""),
    "software": ("system", ""),
    "location": ("where", ""),
    "oddities": ("unusual", ""),
    "stack key": ("stack", ""),
    "notices": ("notice", "What the notices mean"),
    "reasons": ("why", "Why"),
    "fix": ("fix", "Fix"),
    "ruled out": ("not", "Ruled out"),
    "misconceptions": ("note", "Common misconceptions"),
    "alternatives": ("maybe", "Also possible"),
    "near misses": ("closest", "Closest matches"),
    "other crashes": ("also", "Other crashes in the same input"),
    "gaps": ("missing", "Missing"),
    "questions": ("next", "Next"),
    "reliability": ("record", "Track record"),
}


def outline(report: Report) -> Outline:
    """The outline of a report."""
    named = bool(report.diagnoses) and report.verdict not in (UNKNOWN, NO_CRASH)
    first = report.diagnoses[0] if named else None
    hidden = ", ".join(f"{count} {kind}" for kind, count in report.redactions)
    return Outline(
        sentence=_sentence(report, first),
        confidence=first.confidence if first else None,
        answer=first.cause if first else report.verdict,
        sections=_sections(report, first),
        more=_more(report),
        made_by=f"triage {report.version}, signatures {report.signatures[:19]}"
        + (f"; hidden: {hidden}" if hidden else ""),
        is_short=report.verdict != NO_CRASH and (is_plain(report) or incident.chose_to_end(report)),
    )


def _sentence(report: Report, first: Diagnosis | None) -> str:
    if first is None:
        return report.summary
    return first.title if report.verdict == DIAGNOSED else f"Perhaps: {first.title}"


def percent(share: float) -> str:
    """A confidence as it is shown."""
    return f"{share * 100:.0f} %"


def _sections(report: Report, first: Diagnosis | None) -> tuple[Section, ...]:
    if report.verdict == NO_CRASH and report.crash.rerun:
        return ()  # whoever ended it knows the rest
    crash = report.crash
    if is_plain(report):
        return _of_exception(report, first)
    if incident.chose_to_end(report):
        return ()
    others = report.diagnoses[1:] if first else report.diagnoses
    found: dict[SectionKind, list[Item]] = {
        "unread": [Item(sentence) for sentence in incident.not_read(crash)],
        "hidden log": _hidden_log(report),
        "hang": _hang(crash),
        "death": _death(crash) if report.verdict != NO_CRASH else [],
        "outcome": _facts(incident.ended(report), priority="useful" if first else "important"),
        "reaction": _facts(incident.reaction(crash)),
        "exception": _exception(crash) if report.verdict != NO_CRASH else _facts(incident.outlived(report)),
        "program": _program(report),
        "software": _software(report),
        "location": _location(crash),
        "oddities": _ranked(map(Item, incident.odd(crash)), "important", "detail", "extra"),
        "stack key": _stack_key(report),
        "notices": _notices(report),
        "reasons": _reasons(first, crash) if first else [],
        "fix": _ranked(map(_step, first.fix), "essential", "useful", "detail") if first else [],
        "ruled out": _ranked((Item(r.because, name=r.cause) for r in report.ruled_out), "useful", "detail"),
        "misconceptions": _ranked((Item(one.text) for one in report.hearsay), "supporting"),
        "alternatives": _alternatives(others),
        "near misses": _ranked(
            (_near_miss(near, crash) for near in report.nearest if first is None or near.cause != first.cause),
            "important",
            "useful",
            "detail",
        ),
        "other crashes": _other_crashes(report),
        "gaps": _gaps(report),
        "questions": _ranked((_question(one, crash) for one in incident.questions(report)), "essential", "detail"),
        "reliability": _facts(incident.reliability(report), role="note", priority="supporting"),
    }
    return tuple(Section(kind, *_TITLES[kind], tuple(found[kind])) for kind in _TITLES if found[kind])


# The cause about which a report has little more to say than the exception itself.
_PLAIN = "other.python-exception"


def is_plain(report: Report) -> bool:
    """Whether it ended as an exception about which there is little to say beyond its own words and its place."""
    if report.verdict == NO_CRASH or report.other_crashes or not incident.only_raised(report.crash):
        return False
    if report.verdict == UNKNOWN:
        return incident.raised_by_own_line(report.crash)
    return bool(report.diagnoses) and report.diagnoses[0].cause == _PLAIN


def _of_exception(report: Report, first: Diagnosis | None) -> tuple[Section, ...]:
    """What was raised, where, and the one thing that helps, if there is one."""
    crash = report.crash
    # What would be said of any exception is not worth a line, and one good step is worth more than three.
    step = next((step for step in (first.fix if first else ())), None)
    is_said = step is not None and not (step.is_about_exception and step.is_general)
    helpful = [_step(step)._replace(least=2, parts=_commands(step))] if step and is_said else []
    found: dict[SectionKind, list[Item]] = {
        "unread": [Item(sentence) for sentence in incident.not_read(crash)],
        "death": _facts(incident.died(crash)),
        "exception": _facts("; ".join(incident.raised(crash)), role="code"),
        "fix": helpful,
    }
    return tuple(Section(kind, *_TITLES[kind], tuple(items)) for kind, items in found.items() if items)


def _ranked(items: Iterable[Item], *priorities: Priority) -> list[Item]:
    """The items with these priorities, one each; items beyond that are for the full report."""
    return [
        item._replace(priority=priorities[number] if number < len(priorities) else "full report")
        for number, item in enumerate(items)
    ]


def _facts(*texts: str | None, role: ItemRole = "text", priority: Priority = "essential") -> list[Item]:
    """The facts that are known; a full screen cuts each of them to two lines."""
    return [Item(text, role, priority=priority, least=2) for text in texts if text]


def _notices(report: Report) -> list[Item]:
    """Each frightening line explained, the most frightening first; beside a failure they are for the full report."""
    items = (_notice(notice, report.crash) for notice in report.notices)
    if report.verdict != NO_CRASH:
        return _ranked(items)
    levels: list[Priority] = ["essential", "important", "useful", "supporting", "detail"]
    return [item._replace(priority=levels[min(number, 4)]) for number, item in enumerate(items)]


def _notice(notice: SeenNotice, crash: Crash) -> Item:
    """What a line means and costs, and how to silence it."""
    quoted = notice.text if len(notice.text) <= _LONGEST_QUOTE else f"{notice.text[:_LONGEST_QUOTE].rstrip()}..."
    times = f", {notice.times} times" if notice.times > 1 else ""
    harm = notice.cost or "Harmless."
    return Item(
        f"{notice.means} {harm}",
        name=quoted,
        aside=f"{_place(notice.place, crash)}{times}",
        short=notice.means if notice.harm == "none" else f"{notice.means} {harm}",
        least=4,
        parts=(Item(notice.silence, "note", lead="to silence it:", priority="extra"),),
    )


def _hidden_log(report: Report) -> list[Item]:
    hidden = incident.hidden_log(report)
    return [Item(hidden.sentence, parts=(Item(hidden.command, "command"),))] if hidden else []


def _hang(crash: Crash) -> list[Item]:
    lasted, *blocked = incident.hung(crash) or [""]
    processes = _ranked(_facts(*blocked), "essential", "important", "useful", "supporting", "detail", "detail")
    return [*_facts(lasted), *processes]


def _death(crash: Crash) -> list[Item]:
    death, subcode = incident.died(crash), incident.fast_fail(crash)
    if death is None:
        return _facts(subcode)
    meaning = crash.exit.meaning if crash.exit and crash.exit.is_failure and not subcode else ""
    whole = f"{death}: {meaning}" if meaning else death
    return [Item(whole, short=death, least=2), *_facts(subcode)]


def _exception(crash: Crash) -> list[Item]:
    first, *later = incident.raised(crash) or [""]
    return [*_facts(first, role="code"), *_facts(*later, priority="important")]


def _program(report: Report) -> list[Item]:
    """Whose crash it is; a screen that is full has the software and the stack, which mostly say it too."""
    text = incident.program(report.crash)
    priority: Priority = "full report" if report.verdict == NO_CRASH else "supporting"
    place = _place(incident.program_place(report.crash), report.crash)
    return [Item(text, aside=place, priority=priority)] if text else []


def _software(report: Report) -> list[Item]:
    crash = report.crash
    known = (incident.framework(crash), incident.python(crash), incident.system(crash))
    priority: Priority = "full report" if report.verdict == NO_CRASH else "useful"
    return [
        *_facts(", ".join(filter(None, known)), priority=priority),
        *_facts(incident.hardware(crash), priority=priority),
        *_facts(", ".join(incident.other_packages(crash)), priority="full report"),
    ]


def _location(crash: Crash) -> list[Item]:
    frames, source = incident.native_frames(crash), incident.own_source(crash)
    return [
        *([Item(frames, "code", least=3)] if frames else []),
        *_facts(incident.faulting_module(crash), priority="important"),
        *([Item(source, "code", lead="built from", priority="important", least=2)] if source else []),
        *_facts(incident.fault(crash), role="code", priority="important"),
        *_facts(incident.seen_on_stack(crash), priority="supporting"),
    ]


def _stack_key(report: Report) -> list[Item]:
    """The key by which equal crashes are found, unless it is the stack that is shown anyway."""
    if report.stack_key == incident.native_frames(report.crash):
        return []
    return _facts(report.stack_key, role="code", priority="full report")


def _reasons(first: Diagnosis, crash: Crash) -> list[Item]:
    def reasons(evidence: Sequence[Evidence], role: ItemRole) -> Iterable[Item]:
        return (Item(one.text, role, aside=_place(one.place, crash)) for one in evidence)

    return [
        *_ranked(reasons(first.because, "for"), "essential", "important", "supporting", "detail"),
        *_ranked(reasons(first.against, "against"), "supporting", "detail"),
    ]


def _place(place: Place | None, crash: Crash) -> str:
    """The line, with the name of its file if there are several."""
    if place is None or place.line is None:
        return ""
    if len(crash.inputs) < 2:
        return f"line {place.line}"
    name = next((entry.name for entry in crash.inputs if entry.id == place.input), "-")
    return f"{base_name(name)}:{place.line}"


def _step(step: FixStep) -> Item:
    risk = "" if step.risk == "low" else f" (risk: {step.risk})"
    if_not = (Item(step.if_not, "note", lead="if not:", priority="extra"),) if step.if_not else ()
    return Item(step.do + risk, parts=(*_commands(step), Item(step.verify, "note", lead="check:"), *if_not))


def _commands(step: FixStep) -> tuple[Item, ...]:
    return (Item(step.run, "command"),) if step.run else ()


def _alternatives(others: Sequence[Diagnosis]) -> list[Item]:
    items = (
        Item(d.title, name=d.cause, aside=percent(d.confidence), short=f"{d.cause} {percent(d.confidence)}")
        for d in others
    )
    return _ranked(items, "important", "important", "supporting", "detail")


def _near_miss(near: NearMiss, crash: Crash) -> Item:
    """What was missing, and what was seen apart from how the process died, which the report has said already."""
    ended = crash.exit.label if crash.exit else None
    seen = [f"seen: {text}" for text in near.seen if not (ended and ended in text)]
    return Item(
        "; ".join([*near.missing, *seen]),
        name=near.cause,
        short="; ".join([*near.missing[:1], *seen[:1]]),
        least=2,
        parts=(Item(near.signature, "code", lead="signature", priority="full report"),),
    )


def _other_crashes(report: Report) -> list[Item]:
    items = (
        Item(
            f"another crash ({other.cause or other.verdict}): {other.summary}", aside=_place(other.place, report.crash)
        )
        for other in report.other_crashes
    )
    return _ranked(items, "important", "detail")


def _gaps(report: Report) -> list[Item]:
    """What could not be seen; if the cause was found all the same, a screen has better use for the line."""
    priority: Priority = "full report" if report.verdict in (DIAGNOSED, NO_CRASH) else "important"
    return [Item(gap.sentence, short=gap.label, priority=priority) for gap in incident.missed(report)]


def _question(question: Question, crash: Crash) -> Item:
    command = (Item(question.run.line(crash.environment.os), "command"),) if question.run else ()
    return Item(question.ask, parts=command)


def _more(report: Report) -> str | None:
    if report.verdict == NO_CRASH:
        return f"triage explain {report.notices[0].id}" if report.notices and not report.crash.rerun else None
    if incident.chose_to_end(report):
        return None
    return f"triage explain {report.topic}" if report.topic else "triage analyze LOG --exit-code CODE"
