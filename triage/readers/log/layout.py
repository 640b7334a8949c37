"""The text as the program wrote it: without what mail, chat, consoles and log collectors put around it.

Each step looks for its own traces first and changes nothing where there are none. Lines keep their original numbers.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from triage.patterns import compile as pattern


class Restored(NamedTuple):
    """The lines, their original numbers, and sentences about what is missing at either end."""

    lines: list[str]
    numbers: array[int]
    notes: tuple[str, ...]


def restore(lines: list[str], numbers: array[int]) -> Restored:
    """Markup off, prefixes off, oldest line first, one process after the other, hard-wrapped lines whole again."""
    lines, numbers = _without_markup(lines, numbers)
    stripped = _without_prefixes(lines)
    positions = _oldest_first(stripped)
    lines = [stripped.lines[position] for position in positions]
    numbers = array("Q", (numbers[position] for position in positions))
    lines, numbers = _unwrapped(lines, numbers)
    return Restored(lines, numbers, _cut_notes(lines))


# ---------------------------------------------------------------- Markdown fences and HTML around a log

_FENCE = re.compile(r"\s*(?:```|~~~)[\w+-]*\s*")
# Tags that wrap a log, none that a log could contain by itself (`<module>`, `<lambda>`).
_TAG = re.compile(
    r"</?(?:pre|code|br|p|div|span|details|summary|b|i|strong|em|font|tt|blockquote)(?:\s[^<>]{0,200})?/?>"
)
_ENTITIES = ("&lt;", "&gt;", "&amp;", "&quot;", "&#", "&nbsp;", "&apos;")


def _without_markup(lines: list[str], numbers: array[int]) -> tuple[list[str], array[int]]:
    """The lines without fences and tags, with entities turned back into characters."""
    text = "\n".join(lines)
    if "```" in text or "~~~" in text:
        kept = [position for position, line in enumerate(lines) if not _FENCE.fullmatch(line)]
        lines, numbers = [lines[p] for p in kept], array("Q", (numbers[p] for p in kept))
    if any(tag in text for tag in ("</", "<br", "<pre", "<code")):
        lines = [_TAG.sub("", line) if "<" in line else line for line in lines]
    if any(entity in text for entity in _ENTITIES):
        lines = [_unescaped(line) if "&" in line else line for line in lines]
    return lines, numbers


def _unescaped(line: str) -> str:
    import html

    try:
        return html.unescape(line).replace("\xa0", " ")
    except ValueError:  # a character reference with thousands of digits
        return line


# ---------------------------------------------------------------- prefixes of log collectors

# A prefix is removed when this share of the lines has it, so a single line that only looks like it keeps its text.
# Half would be too much to ask: each state of a progress bar is a line of its own and has no prefix.
_SHARE = 0.3
_FEW = 3
_ROUNDS = 5
_PREFIX_SAMPLE = 1500
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
# `who` names the process that wrote the line, `when` its time.
_PREFIXES = (
    r"^(?:> )+|^>$",  # quoted in a mail
    r"^(?P<who>[\w.-]{1,60}) +\|(?: |$)",  # docker compose
    rf"^(?P<when>{_ISO})(?:Z|[+-]\d\d:?\d\d)? (?:stdout|stderr) [FP] ",  # Kubernetes (CRI)
    r"^(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)?[ \t]+",  # CloudWatch, Actions, k8s
    rf"^\[(?P<when>{_ISO})(?:Z| ?[A-Z]{{3,4}}| ?[+-]\d\d:?\d\d)?\] ",  # Jenkins
    r"^(?P<when>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]+ (?P<who>[\w./@-]+(?:\[\d+\])?): ",  # journald
    r"^(?P<when>[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d:\d\d [AP]M)(?: \||\t) ?[A-Z]+(?: \||\t) ?",  # Colab
    r"^(?P<who>\[\d+,\d+\])<std(?:err|out|diag)>: ",  # mpirun since 5; it wins only where every line has the space
    r"^(?P<who>\[\d+,\d+\])<std(?:err|out|diag)>:",  # mpirun
    r"^(?P<who>\[[\w.-]+:\d+\]) ",  # Open MPI's own lines
    r"^(?P<who>\((?:[\w.:<>()]+ )?pid=\d+(?:, ip=[\d.]+)?\)) ",  # Ray
    r"^(?P<who>\[(?:rank|default)\d+\]):? ?",  # torchrun
    r"^(?:app|heroku)\[(?P<who>[\w.]+)\]: ",  # Heroku, after its time
    r"^\[\d{4}-\d\d-\d\d,? [\d:,]+(?: UTC)?\] \{[\w.]+:\d+\} [A-Z]+ - ",  # Airflow
    r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:INFO|WARN|ERROR) [\w.$]+: ",  # Spark
    # TorchServe and others that log with log4j, for what a worker prints: level, thread, logger
    rf"^(?:{_ISO} )?\[(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ?\] (?P<who>[\w.:-]{{1,80}}) [\w.$]{{1,120}} - ",
    # Android Studio's logcat, then adb's two forms
    r"^(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+-\d+/\S+ [VDIWEFA]/[^:\n]{1,60}: ?",
    r"^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ +\d+ [VDIWEFA] [^:\n]{1,60}: ",
    r"^(?:\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} )?[VDIWEFA]/[^(\n]{1,60}\( *\d+\): ",
    r"^npm (?:ERR!|error) (?:code )?",  # npm
    r"^\d+ (?:error|verbose|silly|info) ",  # npm's debug log
)


class _Stripped(NamedTuple):
    """The lines without their prefixes; for each line who wrote it and when, where a prefix says so."""

    lines: list[str]
    writers: list[str | None]
    times: list[str | None]


def _without_prefixes(lines: list[str]) -> _Stripped:
    """Remove every prefix that many of the lines share, the outermost first."""
    writers: list[str | None] = [None] * len(lines)
    times: list[str | None] = [None] * len(lines)
    for _ in range(_ROUNDS):
        shared = _shared_prefix(lines)
        if shared is None:
            break
        lines = list(lines)
        for position, line in enumerate(lines):
            match = pattern(shared).match(line)
            if match is None or match.end() == 0:
                continue
            fields = match.groupdict()
            writers[position] = fields.get("who") or writers[position]
            times[position] = fields.get("when") or times[position]
            lines[position] = line[match.end() :]
    return _Stripped(lines, writers, times)


def _shared_prefix(lines: list[str]) -> str | None:
    """The most frequent prefix in a sample of the lines, if it is frequent enough."""
    sample = [line for line in (*lines[:_PREFIX_SAMPLE], *lines[_PREFIX_SAMPLE:][-_PREFIX_SAMPLE:]) if line.strip()]
    if not sample:
        return None
    counts: Counter[str] = Counter()
    for candidate in _candidates(sample):
        compiled = pattern(candidate)
        counts[candidate] = sum(1 for line in sample if (match := compiled.match(line)) and match.end() > 0)
    if not counts:
        return None
    best, count = counts.most_common(1)[0]
    enough = count >= _FEW and count >= _SHARE * len(sample)
    return best if enough or count == len(sample) else None


def _candidates(sample: list[str]) -> list[str]:
    """The prefixes worth counting: those that one of a few lines has."""
    few = {sample[position * (len(sample) - 1) // 16] for position in range(17)}
    likely = [line for line in few if _may_have_prefix(line)]
    return [prefix for prefix in _PREFIXES if any(_has_prefix(prefix, line) for line in likely)]


def _may_have_prefix(line: str) -> bool:
    """A cheap check before any pattern is compiled: a prefix starts with a number, a bracket or a short month."""
    return (
        line[0] in "0123456789[(>"
        or line[3:4] == " "
        or any(mark in line[:90] for mark in (" |", "]: ", "ERR!", "): "))
    )


def _has_prefix(prefix: str, line: str) -> bool:
    match = pattern(prefix).match(line)
    return match is not None and match.end() > 0


# ---------------------------------------------------------------- newest first, or several processes mixed

_LEAST_TIMES = 4
_MOSTLY = 0.8
_COLAB_TIME = r"^([A-Z][a-z]{2}) (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d):(\d\d) ([AP])M$"
_TENSORFLOW_TIME = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+): [IWEF] "
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# With more processes than this in one log, the order of the file is kept.
_MOST_WRITERS = 64


def _oldest_first(stripped: _Stripped) -> list[int]:
    """The positions of the lines, oldest first and each process's lines together."""
    positions = list(range(len(stripped.lines)))
    if _newest_first(stripped):
        positions.reverse()
    writers = {writer for writer in stripped.writers if writer is not None}
    if 1 < len(writers) <= _MOST_WRITERS:
        first: dict[str | None, int] = {}
        for position in positions:
            first.setdefault(stripped.writers[position], len(first))
        # A stable sort: processes in the order of their first line, the lines of each in the order of the file.
        positions.sort(key=lambda position: first[stripped.writers[position]])
    return positions


def _newest_first(stripped: _Stripped) -> bool:
    times = [key for time in stripped.times if time and (key := _sortable(time))]
    if not times:
        matches = (pattern(_TENSORFLOW_TIME).match(line) for line in stripped.lines if line[:2] == "20")
        times = [match[1] for match in matches if match]
    if len(times) < _LEAST_TIMES:
        return False
    falls = sum(later < earlier for earlier, later in pairwise(times))
    rises = sum(later > earlier for earlier, later in pairwise(times))
    return falls > 0 and falls >= _MOSTLY * (falls + rises)


def _sortable(time: str) -> str | None:
    """A time as text that sorts; None for syslog's month names, which are not worth the effort."""
    if time[:1].isdigit():
        return time
    match = pattern(_COLAB_TIME).match(time)
    if match is None or match[1] not in _MONTHS:
        return None
    hour = int(match[4]) % 12 + (12 if match[7] == "P" else 0)
    month = _MONTHS.index(match[1]) + 1
    return f"{match[3]}-{month:02}-{int(match[2]):02} {hour:02}:{match[5]}:{match[6]}"


# ---------------------------------------------------------------- lines that a console of fixed width broke

# Common console widths; one less where the last column stays free.
_WIDTHS = frozenset({79, 80, 99, 100, 119, 120, 131, 132, 159, 160})
_WIDTH_SAMPLE = 4000
# A line that starts like this starts something new, however full the line before it is.
_STARTS = (
    *("Traceback (", "  File ", "    ", "\t", "#", ">>> ", "During handling", "[", "("),
    # Boxes fill the width of a console by themselves.
    *("╭", "│", "╰", "┌", "├", "└", "┃", "┏", "┡", "┗", "╔", "║", "╚"),
)


def _unwrapped(lines: list[str], numbers: array[int]) -> tuple[list[str], array[int]]:
    """The lines with those joined that a console broke; unchanged where nothing shows that one did."""
    width = _console_width(lines[:_WIDTH_SAMPLE])
    if width is None:
        return lines, numbers
    whole: list[str] = []
    kept = array("Q")
    glue: str | None = None
    for line, number in zip(lines, numbers, strict=True):
        if glue is not None and line and not line.startswith(_STARTS):
            whole[-1] += glue + line
        else:
            whole.append(line)
            kept.append(number)
        # Trailing spaces are gone by now, so a line one short of the width ended in one.
        glue = {width: "", width - 1: " "}.get(len(line))
    return whole, kept


def _console_width(lines: list[str]) -> int | None:
    """The width of the longest lines, if a console has that width and the text runs on after most of them."""
    longest = max(map(len, lines), default=0)
    if longest not in _WIDTHS:
        return None
    full = [(line, follower) for line, follower in pairwise([*lines, ""]) if len(line) in (longest, longest - 1)]
    run_on = sum(bool(follower) and not follower.startswith(_STARTS) for _, follower in full)
    if len(full) == 1:
        # One full line may be chance, unless it breaks off an exception's message in mid-sentence.
        return longest if _breaks_mid_sentence(*full[0]) else None
    return longest if 3 * run_on >= 2 * len(full) else None


def _breaks_mid_sentence(line: str, follower: str) -> bool:
    first = follower.lstrip(" ")[:1]
    return (
        "Error: " in line
        and line[-1] not in ".:;"
        and not follower.startswith(_STARTS)
        and (first.islower() or first.isdigit())
    )


# ---------------------------------------------------------------- logs that were cut before they reached us

# A frame names its function after the line; without one it is a SyntaxError, which really starts like this.
_MIDDLE = (
    r'^(?:\s+File ".*", line \d+,? in |\s+@\s+0x[0-9a-f]+|#[1-9]\d?\s+0x|\.\.\. ?(?:\d+ more|truncated)|[\[<]truncated)'
)
_UNFINISHED = r'^\s+File ".*", line \d+(?:, in .+)?$|^Traceback \(most recent call last\):$|\.\.\.$|…$'
_SAYS_SO = (
    r"(?i)(?:output|log|lines?) (?:was |were |has been )?(?:truncated|omitted|cut)\b|^\[\.\.\.\]$|truncated \d+ lines"
)


def _cut_notes(lines: list[str]) -> tuple[str, ...]:
    """Sentences about a missing beginning, middle or end."""
    written = [line for line in (*lines[:40], *lines[40:][-40:]) if line.strip()]
    if not written:
        return ()
    found = []
    if pattern(_MIDDLE).match(written[0]):
        found.append("the beginning of the log: it starts in the middle of a stack")
    if pattern(_UNFINISHED).search(written[-1]):
        found.append("the end of the log: it stops in the middle of something")
    if any(pattern(_SAYS_SO).search(line) for line in written):
        found.append("a part of the log: it says itself that it was cut")
    return tuple(found)
