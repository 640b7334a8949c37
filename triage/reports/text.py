"""The report for people: labelled rows, wrapped to a width and kept to one screen on a terminal, whole in a pipe."""

from collections.abc import Iterable, Sequence, Set
from typing import Literal, NamedTuple

from triage.report import Report
from triage.reports.characters import columns, harmless, shorten, wrap
from triage.reports.outline import PRIORITIES, Item, ItemRole, Outline, Priority, Section, outline, percent

# What a piece of a line is, which decides its colour.
Style = Literal["answer", "share", "label", "heading", "text", "for", "against", "command", "dim"]
Pieces = tuple[tuple[str, Style], ...]

_LABEL = 9
_SCREEN_LINES = 24
_MARKS: dict[ItemRole, str] = {"for": "+ ", "against": "- "}
_STYLES: dict[ItemRole, Style] = {
    "text": "text",
    "code": "text",
    "command": "command",
    "for": "for",
    "against": "against",
    "note": "dim",
}
# Where something stands in the outline: the numbers of its section, its item and its part (-1: the item itself).
_Position = tuple[int, int, int]


class Line(NamedTuple):
    """A line of output in pieces."""

    pieces: Pieces

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces).rstrip()

    def height(self, width: int) -> int:
        """How many rows of a terminal it takes: commands may be wider, and the terminal breaks them itself."""
        return max(1, -(-columns(str(self)) // width))


class _Screen(NamedTuple):
    """How wide a terminal is, and whether it is so full that long sentences are cut."""

    width: int
    is_full: bool = False


class _Row(NamedTuple):
    """A sentence to the right of a label.

    Its second and further lines are indented by `hang`; a full screen cuts it to `least` lines.
    """

    text: str
    role: ItemRole = "text"
    aside: str = ""
    hang: int = 0
    least: int = 0


def render(report: Report) -> str:
    """The whole report as plain text, nothing cut."""
    return "\n".join(str(line) for line in layout(report, None)) + "\n"


def layout(report: Report, width: int | None) -> list[Line]:
    """The report's lines. With a width they are wrapped and kept to one screen; without one nothing is left out."""
    shown = outline(report)
    # An empty line sets a long report apart; a short one needs none.
    gap = [] if shown.is_short else [Line(())]
    above = [*_headline(shown, width), *gap]
    below = [*gap, Line(((" more".ljust(_LABEL), "label"), (shown.more, "command")))] if shown.more else []
    if width is None:
        blocks = [_section_lines(section, section.items, None) for section in shown.sections]
    else:
        blocks = _fitting(shown.sections, width, _SCREEN_LINES - len(above) - len(below))
    return [*above, *(line for block in blocks for line in block), *below]


def _headline(shown: Outline, width: int | None) -> list[Line]:
    """The sentence for the person with its confidence at the right; below it the cause or the verdict."""
    sentence = _flat(shown.sentence)
    share = percent(shown.confidence) if shown.confidence is not None else ""
    if width is None:
        lines = [Line(((sentence, "answer"), (f"   {share}" if share else "", "share")))]
    else:
        first, *others = wrap(sentence, width, beside_first=len(share) + 2 if share else 0)
        right = share.rjust(width - columns(first)) if share else ""
        lines = [Line(((first, "answer"), (right, "share"))), *(Line(((piece, "answer"),)) for piece in others)]
    return [*lines, Line(((shown.answer, "dim"),))]


def _fitting(sections: Sequence[Section], width: int, room: int) -> list[list[Line]]:
    """The lines of each section, as many as fit.

    If they do not fit, what is extra goes, then long sentences are cut; if that is not enough, items are dropped one by
    one.
    """
    order = _giving_way(sections)
    dropped = {position for level, position in order if level == "full report"}
    droppable = [position for level, position in order if level not in ("full report", "essential")]

    def lines(number: int, screen: _Screen) -> list[Line]:
        return _section_lines(sections[number], _left(sections[number].items, number, dropped), screen)

    blocks = [lines(number, _Screen(width)) for number in range(len(sections))]
    extra = [position for level, position in order if level == "extra"]
    while _height(blocks, width) > room and extra:
        position = extra.pop(0)
        dropped.add(position)
        blocks[position[0]] = lines(position[0], _Screen(width))
    if _height(blocks, width) > room:
        blocks = [lines(number, _Screen(width, is_full=True)) for number in range(len(sections))]
    while _height(blocks, width) > room and droppable:
        position = droppable.pop(0)
        dropped.add(position)
        blocks[position[0]] = lines(position[0], _Screen(width, is_full=True))
    return blocks


def _height(blocks: Iterable[Iterable[Line]], width: int) -> int:
    return sum(line.height(width) for block in blocks for line in block)


def _giving_way(sections: Sequence[Section]) -> list[tuple[Priority, _Position]]:
    """Every item and part with its priority, in the order in which they are dropped: of equal ones the last first."""
    found: list[tuple[Priority, _Position]] = []
    for section, items in enumerate(one.items for one in sections):
        for number, item in enumerate(items):
            found.append((item.priority, (section, number, -1)))
            found += [(part.priority, (section, number, place)) for place, part in enumerate(item.parts)]
    return sorted(found, key=lambda one: (PRIORITIES.index(one[0]), one[1]), reverse=True)


def _left(items: Sequence[Item], section: int, dropped: Set[_Position]) -> list[Item]:
    """The items of a section, and the parts of each, that were not dropped."""
    return [
        item._replace(parts=tuple(part for at, part in enumerate(item.parts) if (section, number, at) not in dropped))
        for number, item in enumerate(items)
        if (section, number, -1) not in dropped
    ]


def _section_lines(section: Section, items: Sequence[Item], screen: _Screen | None) -> list[Line]:
    """The section's items, with its label before the first."""
    if screen and section.is_run_in:
        rows = [_Row(", ".join(item.short for item in items))] if items else []
    else:
        numbers = range(1, len(items) + 1) if section.is_numbered else [0] * len(items)
        rows = [row for number, item in zip(numbers, items, strict=True) for row in _rows(item, number, screen)]
    if len(rows) > 1:  # indented, so that it shows where the next one begins
        rows = [row._replace(hang=row.hang or 2) for row in rows]
    if left_out := section.left_out(len(section.items) - len(items)):
        rows.append(_Row(left_out))
    lines = [pieces for row in rows for pieces in _row_lines(row, screen)]
    gutters = [f" {section.label}", *[""] * len(lines)]
    return [Line(((gutter.ljust(_LABEL), "label"), *pieces)) for gutter, pieces in zip(gutters, lines, strict=False)]


def _rows(item: Item, number: int, screen: _Screen | None) -> list[_Row]:
    """An item and, on rows of their own, its parts; those of a numbered step are indented like its text."""
    mark = f"{number}  " if number else _MARKS.get(item.role, "")
    text = item.short if screen and item.short else item.text
    parts = [f"{item.name}:" if item.name else "", item.lead, text]
    rows = [_Row(mark + " ".join(filter(None, parts)), item.role, item.aside, len(mark), item.least)]
    indent = " " * len(mark)
    for part in item.parts:
        lead = f"{part.lead} " if part.lead else ""
        rows.append(_Row(indent + lead + part.text, part.role, part.aside, len(mark), part.least))
    return rows


def _row_lines(row: _Row, screen: _Screen | None) -> list[Pieces]:
    """The pieces of each line of a row, without the label."""
    style = _STYLES[row.role]
    if row.role == "command":
        # Never wrapped: what a terminal breaks itself is copied as one line.
        first, *others = row.text.split("\n")
        return [((_flat(line), style),) for line in (first, *(" " * row.hang + line for line in others))]
    text, aside = _flat(row.text), _flat(row.aside)
    if screen is None:
        return [((text, style), (f"   ({aside})" if aside else "", "dim"))]
    room = max(20, screen.width - _LABEL)
    aside = shorten(aside, room // 2)
    wrapped = wrap(text, room, row.hang, columns(aside) + 2 if aside else 0)
    if screen.is_full and row.least and len(wrapped) > row.least:
        wrapped[row.least - 1 :] = [shorten(f"{wrapped[row.least - 1]} {wrapped[row.least].strip()}", room)]
    lines: list[Pieces] = []
    for number, piece in enumerate(wrapped):
        right = " " * (room - columns(piece) - columns(aside)) + aside if aside and number == 0 else ""
        lines.append(((piece, style), (right, "dim")))
    return lines


def _flat(text: str) -> str:
    """The text on one line: a line feed would end it, and nobody knows how wide a tab is."""
    return harmless(text).replace("\n", " ").replace("\t", " ")
