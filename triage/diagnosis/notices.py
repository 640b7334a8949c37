"""Which lines of a log are explained as harmless, and by which notice.

A notice is known by its invariant words, whatever stands before them. Where a console has broken its line or a paste
has cut it, it is known by the words that are left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import accumulate

from triage import patterns
from triage.clues.facts import Facts
from triage.crash import Log, Place
from triage.knowledge.database import Knowledge
from triage.knowledge.notice import HARMS, Notice
from triage.phrases import quote
from triage.report import SeenNotice

# Words of a failure: a line with one of these is never passed over as harmless.
FAILURE_WORDS = (
    r"(?i)error|exception|fail|abort|crash|kill|(?:^|[^e])fault|fatal|panic|traceback|\bdie[ds]?\b|dead|terminat|"
    r"can ?not|can't|could not|couldn't|unable|denied|refused|invalid|corrupt|missing|not found|no such|stuck|hang|"
    r"hung|fr[eo]ez|frozen|restart|signal|dump|exit|memory|time ?out|timed out|stop|interrupt|wrong|problem|warn|"
    r"broken|sanitizer|not recogni[sz]ed|unrecogni[sz]ed|undefined|critical|no matches|giving up|gave up|"
    r"unknown command|unexpected|violation|illegal|nicht gefunden|falsch geschrieben|"
    r"nothing happen|doesn't|not work|fehler|erreur|errore|\berro\b|ошибк|错误|錯誤|崩溃|エラー|오류|"
    r"(?-i:^[EF]\d{4}\b|: [EF] \w)"
)
# In a longer log the broken and cut lines are not looked for one by one.
_FEW_LINES = 400
# Less of a message than this could be anybody's words.
_LEAST_FRAGMENT = 16
# Who asks for a page means a notice: fewer words will do, unless they are those of many failures.
_LEAST_ASKED = 9
_LEAST_OF_FAILURE = 14
_WRAPPED = 60
_NUMBER = r"\d+"
# What TensorFlow, absl and glog write before a message.
_PREFIX = (
    r"^.{0,60}?(?:\b[IWEF] (?:[A-Za-z]:)?[\w/\\.+-]*\.(?:cc|h|py):\d+\] "
    r"|[IWE]\d{4} \d\d:\d\d:\d+\.\d+ +\d+ [\w/\\.+-]*:\d+\] )"
    # the rest of a path that a console broke
    r"|^[\w\\.+-]*\\[\w/\\.+-]*\.(?:cc|h):\d+\] "
    r"|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,\d]*:? (?:[IWE] )?"
)
_ONLY_A_PREFIX = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE](?: [\w/\\.+-]*(?::\d*)?)?$"
# A line that goes on in the middle of a sentence, and what begins a message of its own.
_GOES_ON = r"^[ \t]*[a-z0-9_/.,;:)\]'\"-]"
_BEGINS = r"^\d{4}-\d\d-\d\d|^\d\d:\d\d|\.(?:cc|h|py):\d+[\]:]|^-?(?:ba|z|k|da)?sh: "
# Python writes the file before the warning; its words are what tells one from another.
_WARNING = r"\.py:\d+: (\w*Warning: .*\S)"
_WARNS = r"Warning: \S"
_LEVEL = r"(?:^|[\s:|])([IWE])(?: [\w/\\.+-]*\.(?:cc|h|py):\d+\]|\d{4} \d\d:\d\d:\d+\.)|(ERROR|Error|WARN|Warn)"
_LEVELS = {"E": 0, "ERROR": 0, "Error": 0, "W": 1, "WARN": 1, "Warn": 1}
_QUIET = 2


class Explained:
    """The lines of the logs of one crash that are known to end nothing."""

    def __init__(self, facts: Facts, knowledge: Knowledge) -> None:
        self._facts = facts
        self._knowledge = knowledge

    def covers(self, log: Log, offset: int) -> bool:
        """Whether the line around an offset is explained, by a notice or as a line that says nothing."""
        lines = self._lines[log.input]
        return lines.at(offset) in lines.harmless

    def covers_place(self, place: Place) -> bool:
        """The same for a place in the original input."""
        return any(
            log.input == place.input and place.line in self._lines[log.input].known for log in self._facts.crash.logs
        )

    def is_harmless(self, place: Place) -> bool:
        """Whether a notice of its own says of the line at a place that nobody need look any further."""
        return any(
            log.input == place.input and place.line in self._lines[log.input].settled for log in self._facts.crash.logs
        )

    @property
    def is_loud(self) -> bool:
        """Whether a notice was printed as a warning or an error: such a line is why somebody pastes a healthy log."""
        return any(
            _level(lines.texts[number]) < _QUIET and not lines.notices[number].fallback
            for lines in self._lines.values()
            for number in lines.notices
        )

    @cached_property
    def _lines(self) -> dict[int, _Lines]:
        return {log.input: _Lines(log, self._facts, self._knowledge) for log in self._facts.crash.logs}

    @property
    def seen(self) -> tuple[SeenNotice, ...]:
        """Every notice once, the most frightening first: by what it costs, then by the level that it was printed at."""
        first: dict[str, tuple[Notice, Log, int]] = {}
        counts: dict[str, int] = {}
        for log in self._facts.crash.logs:
            lines = self._lines[log.input]
            for number, notice in sorted(lines.notices.items()):
                first.setdefault(notice.id, (notice, log, number))
                counts[notice.id] = counts.get(notice.id, 0) + lines.is_head(number)
        ranked = sorted(
            (HARMS.index(notice.harm), _level(self._lines[log.input].texts[number]), at, notice, log, number)
            for at, (notice, log, number) in enumerate(first.values())
        )
        return tuple(self._seen(notice, log, number, counts[notice.id]) for *_, notice, log, number in ranked)

    def _seen(self, notice: Notice, log: Log, number: int, count: int) -> SeenNotice:
        lines = self._lines[log.input]
        line = lines.texts[number]
        warning = patterns.compile(_WARNING).search(line)
        text = warning[1] if warning else patterns.compile(_PREFIX).sub("", line).strip() or line.strip()
        place = log.place(lines.starts[number])
        return SeenNotice(
            notice.id,
            quote(text),
            place,
            max(count, 1),
            notice.who,
            notice.means,
            notice.harm,
            notice.cost,
            notice.silence,
            notice.becomes,
        )


def is_noise(line: str, knowledge: Knowledge) -> bool:
    """Whether a line by itself is known to say nothing about a crash."""
    known = (*knowledge.noise, *(pattern for notice in knowledge.notices.values() for pattern in notice.match))
    return any(patterns.compile(pattern).search(line) for pattern in known)


def notice_of(line: str, knowledge: Knowledge) -> Notice | None:
    """The notice that a pasted line is, or of which it is a part."""
    known = list(knowledge.notices.values())
    found = [notice for notice in known if _finds(notice, line, "", knowledge)]
    found.sort(key=lambda notice: notice.fallback)
    return found[0] if found else _asked_for(line, knowledge)


def _finds(notice: Notice, line: str, prefix: str, knowledge: Knowledge) -> bool:
    possible = (pattern for pattern in notice.match if knowledge.may_find(pattern, line.lower()))
    return any(patterns.compile(prefix + pattern).search(line) for pattern in possible)


def _asked_for(line: str, knowledge: Knowledge) -> Notice | None:
    """The notice that somebody means who types some of its words, in any case."""
    notices = [notice for notice in knowledge.notices.values() if not notice.fallback]
    if notice := _of_fragment(line, notices):
        return notice
    words = _without_numbers(patterns.compile(_PREFIX).sub("", line).strip(" .:…\"'`")).lower()
    for notice in notices:
        if _finds(notice, line, "(?i)", knowledge):
            return notice
    is_of_failure = patterns.compile(FAILURE_WORDS).search(words) is not None
    # A single word of a message, such as `tensorflow`, means no message.
    if words.isalpha() or len(words) < (_LEAST_OF_FAILURE if is_of_failure else _LEAST_ASKED):
        return None
    return next((n for n in notices if any(words in text.lower() for text in _examples(n.lines))), None)


class _Lines:
    """The lines of one log, by number from 0: which notice each belongs to, and which are harmless in any case."""

    def __init__(self, log: Log, facts: Facts, knowledge: Knowledge) -> None:
        self._log = log
        self._search = facts.logs
        self._knowledge = knowledge
        self.texts = [line for _, line in log.lines()]
        self.starts = [offset for offset, _ in log.lines()]
        self.notices: dict[int, Notice] = {}
        self.harmless: set[int] = set()
        self._find()

    def at(self, offset: int) -> int:
        """The number of the line around an offset."""
        return bisect_right(self.starts, offset) - 1

    @cached_property
    def known(self) -> set[int | None]:
        """The original numbers of the harmless lines."""
        return {self._log.numbers[number] for number in self.harmless}

    @cached_property
    def settled(self) -> set[int | None]:
        """The original numbers of the lines that a notice of their own explains and that need no look."""
        return {
            self._log.numbers[number]
            for number, notice in self.notices.items()
            if not notice.fallback and notice.harm != "check"
        }

    def _find(self) -> None:
        known = self._knowledge.notices.values()
        own = [notice for notice in known if not notice.fallback]
        self._match(own)
        self._take_sources()
        self._match([notice for notice in known if notice.fallback])
        self._take_sources()
        for pattern in self._knowledge.noise:
            self.harmless.update(self.at(match.start()) for match in self._search.every(pattern, self._log))
        if self._left and len(self._left) <= _FEW_LINES:
            self._join(own, "")
            self._join(own, " ")
            self._take_fragments(own)
            self._go_on()

    def _match(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            for pattern in notice.match:
                for match in self._search.every(pattern, self._log):
                    self._add(self.at(match.start()), notice)

    def _take_sources(self) -> None:
        """Below one of Python's warnings stands the line of the program that caused it."""
        for number, notice in list(self.notices.items()):
            below = self.texts[number + 1] if number + 1 < len(self.texts) else ""
            is_source = below.startswith("  ") and not below.startswith("  File ")
            if is_source and patterns.compile(_WARNS).search(self.texts[number]):
                self._add(number + 1, notice)

    def is_head(self, number: int) -> bool:
        """Whether a notice begins with this line, so that a broken one counts once."""
        above = self.notices.get(number - 1)
        same = above is not None and above.id == self.notices[number].id
        return not same or patterns.compile(f"{_BEGINS}|{_LEVEL}").search(self.texts[number]) is not None

    def _add(self, number: int, notice: Notice) -> None:
        if number not in self.notices:
            self.notices[number] = notice
            self.harmless.add(number)

    @property
    def _left(self) -> list[int]:
        return [number for number, text in enumerate(self.texts) if number not in self.harmless and text.strip()]

    def _join(self, notices: Sequence[Notice], glue: str) -> None:
        """Notices whose decisive words a console broke into two lines or more."""
        stripped = [text.strip() for text in self.texts]
        joined = glue.join(stripped)
        starts = [0, *accumulate(len(text) + len(glue) for text in stripped)]
        for notice in notices:
            for pattern in notice.match:
                needles = self._knowledge.literals.get(pattern) or patterns.literals(pattern)
                if needles and not any(needle in joined for needle in needles):
                    continue
                for match in patterns.compile(pattern).finditer(joined):
                    first = bisect_right(starts, match.start()) - 1
                    last = bisect_right(starts, match.end() - 1) - 1
                    if first < last < first + 4:
                        for number in range(first, last + 1):
                            self._add(number, notice)

    def _take_fragments(self, notices: Sequence[Notice]) -> None:
        """Lines that are a part of a notice: the paste began, ended or was broken in the middle of it."""
        for number in self._left:
            text = self.texts[number].strip()
            if patterns.compile(_ONLY_A_PREFIX).search(text):
                self.harmless.add(number)
            elif notice := _of_fragment(text, notices):
                self._add(number, notice)

    def _go_on(self) -> None:
        """The rest of a broken line, where it is neither a message of its own nor anybody's last words."""
        longest = max(map(len, self.texts))
        for number in self._left:
            above, text = self.notices.get(number - 1), self.texts[number]
            if above and len(self.texts[number - 1]) >= max(_WRAPPED, longest - 2) and _goes_on(text):
                self._add(number, above)


def _goes_on(text: str) -> bool:
    others = (patterns.compile(other).search(text) for other in (_BEGINS, FAILURE_WORDS))
    return patterns.compile(_GOES_ON).search(text) is not None and not any(others)


def _of_fragment(text: str, notices: Sequence[Notice]) -> Notice | None:
    """The notice in one of whose lines these words stand, numbers aside."""
    words = _without_numbers(patterns.compile(_PREFIX).sub("", text).strip())
    if len(words) < _LEAST_FRAGMENT or words.count(" ") < 2:
        return None
    return next((notice for notice in notices if any(words in line for line in _examples(notice.lines))), None)


@cache
def _examples(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_without_numbers, lines))


def _without_numbers(text: str) -> str:
    return patterns.compile(_NUMBER).sub("0", text)


def _level(text: str) -> int:
    """How loud a line is: an error, a warning, anything else."""
    match = patterns.compile(_LEVEL).search(text)
    return _LEVELS.get((match[1] or match[2]) if match else "", _QUIET)
