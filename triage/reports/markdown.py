"""The report as Markdown, ready to be pasted into an issue tracker."""

from __future__ import annotations

import re

from triage.report import Report
from triage.reports.characters import harmless
from triage.reports.outline import Item, Section, outline, percent

# A hanging program can have hundreds of processes, mostly waiting for the same thing.
_LONGEST_FACT = 9
_REFERENCE = re.compile(r"(@|#|GH-)(?=[A-Za-z0-9])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@])")


def render(report: Report) -> str:
    """The whole report; text from an input is escaped, so that it neither formats anything nor mentions anybody."""
    shown = outline(report)
    share = f" ({percent(shown.confidence)})" if shown.confidence is not None else ""
    lines = [f"## {_escape(shown.sentence)}{share}", "", f"triage: {_code(shown.answer)}", ""]
    facts = [line for section in shown.sections if not section.heading for line in _fact(section)]
    lines += [*facts, ""] if facts else []
    for section in shown.sections:
        if section.heading:
            lines += [f"### {section.heading}", "", *_list(section), ""]
    if shown.more:
        lines += [f"More: {_code(shown.more)}", ""]
    return "\n".join([*lines, f"<sub>{_escape(shown.made_by)}</sub>"]) + "\n"


def _fact(section: Section) -> list[str]:
    """A bullet for each item, with the section's label."""
    items = section.items[:_LONGEST_FACT]
    lines = [line for item in items for line in _item(item, f"- **{section.label}**: ")]
    left_out = section.left_out(len(section.items) - len(items))
    return [*lines, f"- **{section.label}**: {left_out}"] if left_out else lines


def _list(section: Section) -> list[str]:
    marks = [f"{number}. " if section.is_numbered else "- " for number in range(1, len(section.items) + 1)]
    return [line for mark, item in zip(marks, section.items, strict=True) for line in _item(item, mark)]


def _item(item: Item, mark: str) -> list[str]:
    """An item and its command on one line, its other parts and a command of several lines on lines of their own."""
    name = f"{_code(item.name)}: " if item.name else ""
    lead = "against: " if item.role == "against" else f"{item.lead} " if item.lead else ""
    aside = f" ({_escape(item.aside)})" if item.aside else ""
    told = [part.text for part in item.parts if part.role == "command"]
    commands = "".join(f" {_code(text)}" for text in told if not _needs_block(text))
    indent = " " * len(mark) if mark[0].isdigit() else "  "
    blocks = [f"{indent}{line}" for text in told if _needs_block(text) for line in _block(text)]
    others = [f"{indent}{part.lead.capitalize()} {_words(part)}" for part in item.parts if part.role != "command"]
    return [f"{mark}{name}{lead}{_words(item)}{aside}{commands}", *blocks, *others]


def _needs_block(command: str) -> bool:
    """Whether a command in a line of text would not be the same: that has no line ends, and only single spaces."""
    return "\n" in command or "  " in command


def _block(command: str) -> list[str]:
    """A fenced block that nothing in the command can end."""
    lines = harmless(command).split("\n")
    fence = "`" * max(3, 1 + max(len(run) for run in re.findall(r"`*", command)))
    return [fence, *lines, fence]


def _words(item: Item) -> str:
    return _code(item.text) if item.role == "code" else _escape(item.text)


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
