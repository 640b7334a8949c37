"""Did anything die? Decided once, after merging, from typed evidence: died, hung, lived, or not told.

That it lived needs evidence too: exit code 0, a line that only a living program prints after the last sign of trouble,
or a text in which every frightening line is explained. Everything else is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage import patterns
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.crash import Crash, Log, MessageKind, Place, PythonException
from triage.diagnosis.notices import FAILURE_WORDS, Explained
from triage.diagnosis.ranking import Ranking
from triage.knowledge.database import Knowledge
from triage.report import Ground, Outcome, Sign

# A line that weighs this much for a cause is trouble, unless a sign of life follows it.
WORTH_A_LOOK = 1.0
# Words that speak of an end, below the last sign of life.
_AN_END = (
    r"(?i)\b(?:error|exception|abort(?:ed|ing)?|crash(?:es|ed|ing)?|kill(?:ed|ing)?|segfaults?|fault|fatal|panic|"
    r"traceback|dies|died|dead|terminat(?:ed|ing)|core dumped|hangs?|hung|stuck|freez\w+|frozen|froze|restarts|"
    r"restarted|nothing happens|not responding|stops? (?:here|there|working)|stopped responding)\b"
)
_HEAD_OF_A_STACK = r"(?i)traceback \(most recent call last\)|^\W*(?:stack )?traceback:?\W*$"
# What a command prints that was only run to show something: a version, a value, a list of devices; or a prompt.
_PRINTED = (
    r"^(?:(?:[\w .-]{0,24}\bversion\w*|TF|[Tt]ensor[Ff]low|[Kk]eras|[Tt]orch|[Nn]um[Pp]y|JAX|jax|GPU\w*"
    r"|[\w ]{0,24}\bGPUs?\b[\w ]{0,16})?[:=]? ?"
    r"(?:v?\d+(?:\.\d+)*[\w.+-]*|True|False|None|\[\]|\(\)|\{\}|\[?-?\d[\d., e+\]-]*)"
    r"|[*=_#-]{4,}|tf\.Tensor\(.*|<tf\.\w+.*|tensor\(.*|\[?(?:Physical|Logical)?(?:PhysicalDevice|LogicalDevice|CpuDevice|CudaDevice)\(.*"
    r"|array\(.*|b?'[^']*'|Hello,? .*|>>>.*|In \[\d+\]:.*|Out\[\d+\]:.*|[\w@:~/.()\\ -]{0,80}[$#%>] ?|PS [A-Z]:\\.*>)$"
)
# Signals with which somebody ends a healthy program.
BY_HAND = ("SIGINT", "SIGQUIT", "SIGPIPE")
_INTERRUPTED = "KeyboardInterrupt"
_IGNORED = "Exception ignored in"
# Whose last words a message is. The first four leave no doubt; a program may outlive what the others report.
_SIGNS: Mapping[MessageKind, Sign] = {
    "heap": "last words",
    "terminate": "last words",
    "assertion": "last words",
    "sanitizer": "sanitizer",
    "exception": "exception",
    "notice": "launcher",
    "remark": "person",
    "hang": "hang",
}
_FINAL: tuple[MessageKind, ...] = ("heap", "terminate", "assertion", "sanitizer")

_At = tuple[int, int]


class _Trouble(NamedTuple):
    """A sign of a failure that a program may have survived, and where it stands in the text."""

    at: _At
    ground: Ground


def outcome_of(facts: Facts, knowledge: Knowledge, ranking: Ranking, explained: Explained) -> Outcome:
    """Whether anything died, and what that rests on."""
    crash = facts.crash
    if crash.is_empty:
        return Outcome("not-told", _unread(crash))
    if interrupted(crash) and crash.exit:
        return Outcome("lived", (Ground("stopped by hand", crash.exit.place),))
    survivable = sorted(_survivable(crash))
    if crash.exit is not None and crash.exit.is_failure:
        sign: Sign = "timeout" if crash.hung else "failing status"
        grounds = (Ground(sign, crash.exit.place), *_final(crash), *(trouble.ground for trouble in survivable))
        return Outcome("hung" if crash.hung else "died", grounds)
    if final := tuple(_final(crash)):
        return Outcome("died", (*final, *(trouble.ground for trouble in survivable)))
    # Only now are notices looked for: a death that is certain needs none of that.
    survivable = [trouble for trouble in survivable if not _is_settled(trouble, explained)]
    if crash.exit is not None and not _after(crash.exit.place, survivable):
        outcome = Outcome("lived", (Ground("exit 0", crash.exit.place),))
    else:
        outcome = _told_by_the_text(facts, knowledge, explained, survivable, _telling(ranking, explained, crash))
    # A death may hide in a part that was not read; when we ran it ourselves, we know how it ended.
    if outcome.end == "lived" and crash.rerun is None and crash.partly_read:
        return Outcome("not-told", _unread(crash))
    return outcome


def _told_by_the_text(
    facts: Facts, knowledge: Knowledge, explained: Explained, survivable: list[_Trouble], telling: list[_Trouble]
) -> Outcome:
    """What a text without a status says about its end."""
    crash = facts.crash
    last = max([*survivable, *telling], default=None)
    life = _life_after(facts, knowledge, explained, last.at if last else (-1, -1))
    if life is not None:
        return Outcome("lived", (Ground("sign of life", life),))
    if survivable:
        if not telling and all(trouble.ground.sign == "exception" for trouble in survivable) and _by_keyboard(crash):
            return Outcome("lived", (Ground("stopped by hand", survivable[-1].ground.place),))
        hangs = any(trouble.ground.sign == "hang" for trouble in survivable)
        return Outcome("hung" if hangs else "died", tuple(trouble.ground for trouble in survivable))
    if last is not None:
        return Outcome("not-told", (last.ground,))
    if word := word_of_failure(crash, explained):
        return Outcome("not-told", (Ground("word of failure", word),))
    return Outcome("lived", (Ground("only notices"),)) if _is_explained(crash, explained) else Outcome("not-told")


def interrupted(crash: Crash) -> bool:
    """Whether the person or the reader of its output ended it, and no other error was raised."""
    if crash.exit is None or crash.exit.signal not in BY_HAND:
        return False
    if crash.exit.signal != "SIGINT" and (crash.messages or any(record.severity == "F" for record in crash.records)):
        return False
    return all(error.short_type == _INTERRUPTED for error in crash.exceptions)


def _by_keyboard(crash: Crash) -> bool:
    return bool(crash.exceptions) and all(error.short_type == _INTERRUPTED for error in crash.exceptions)


def _unread(crash: Crash) -> tuple[Ground, ...]:
    return (Ground("part not read"),) if crash.partly_read or crash.gaps else ()


def _final(crash: Crash) -> Iterator[Ground]:
    """What nothing survives."""
    for thread in crash.threads:
        if thread.crashed:
            yield Ground("crashed thread", thread.place)
    for record in crash.records:
        if record.severity == "F":
            yield Ground("fatal line", record.place)
    for message in crash.messages:
        if message.kind in _FINAL:
            yield Ground(_SIGNS[message.kind], message.place)
    if crash.memory.oom_kills:
        yield Ground("killed for memory")


def _survivable(crash: Crash) -> Iterator[_Trouble]:
    """Exceptions, and what launchers and people say: a program may have caught or outlived them."""
    ignored = _ignored(crash)
    for error in crash.exceptions:
        at = (error.place.input if error.place else 0, error.offset)
        if not _is_within(at, ignored):
            yield _Trouble(at, Ground("exception", error.place))
    for message in crash.messages:
        if message.kind not in _FINAL:
            yield _Trouble((message.place.input, message.offset), Ground(_SIGNS[message.kind], message.place))


def _is_settled(trouble: _Trouble, explained: Explained) -> bool:
    return trouble.ground.place is not None and explained.is_harmless(trouble.ground.place)


def _ignored(crash: Crash) -> list[tuple[_At, _At]]:
    """Where Python printed an exception and ignored it: a destructor raised it, and the program went on."""
    return [
        ((log.input, begin), (log.input, error.offset + len(log.line(error.offset))))
        for log in crash.logs
        if _IGNORED in log.text
        for error in crash.exceptions
        if error.place is not None and error.place.input == log.input
        if (begin := _begin_of_ignored(log, error)) is not None
    ]


def _begin_of_ignored(log: Log, error: PythonException) -> int | None:
    """Where the words stand with which Python ignores an exception, if it is in the block below them."""
    begin = log.text.rfind(_IGNORED, 0, error.offset + 1)
    between = log.text[begin : error.offset].split("\n")[1:]
    is_below = all(not line or line[0] in " \t" or line.startswith("Traceback") for line in between)
    return begin if begin >= 0 and is_below else None


def _is_within(at: _At, spans: list[tuple[_At, _At]]) -> bool:
    return any(start <= at <= stop for start, stop in spans)


def _telling(ranking: Ranking, explained: Explained, crash: Crash) -> list[_Trouble]:
    """Lines of level E and lines that weigh for a cause, unless a notice explains them or they are an exception."""
    exceptions = {error.place for error in crash.exceptions}
    found = [
        _Trouble((record.place.input, record.offset), Ground("word of failure", record.place))
        for record in crash.records
        if record.severity == "E" and not explained.covers_place(record.place)
    ]
    for hit in (term.finding for scored in ranking.scored for term in scored.hits if term.weight >= WORTH_A_LOOK):
        if isinstance(hit, Hit) and hit.place and hit.place not in exceptions and not explained.is_harmless(hit.place):
            found.append(_Trouble(hit.at, Ground("word of failure", hit.place)))
    return found


def _after(place: Place | None, troubles: list[_Trouble]) -> bool:
    """Whether trouble follows a status that was read from a log: it may be that of an earlier command."""
    if place is None or place.line is None:
        return False
    lines = (one.ground.place for one in troubles if one.ground.place and one.ground.place.input == place.input)
    return any(one.line is not None and one.line > (place.line or 0) for one in lines)


def _life_after(facts: Facts, knowledge: Knowledge, explained: Explained, after: _At) -> Place | None:
    """The last line that only a living program prints, unless something below it speaks of an end."""
    if not any(facts.logs.first(pattern, after) for pattern in knowledge.life):
        return None
    last: tuple[_At, Log] | None = None
    for log in facts.crash.logs:
        for pattern in knowledge.life:
            for match in facts.logs.every(pattern, log):
                at = (log.input, match.start())
                if at > after and (last is None or at > last[0]):
                    last = (at, log)
    if last is None:
        return None
    (_, offset), log = last
    below = log.text.find("\n", offset)
    ignored = _ignored(facts.crash)
    for match in patterns.compile(_AN_END).finditer(log.text[below:] if below >= 0 else ""):
        word = below + match.start()
        if not explained.covers(log, word) and not _is_within((log.input, word), ignored):
            return None
    return log.place(offset)


def _is_explained(crash: Crash, explained: Explained) -> bool:
    """Whether the text is mostly notices, and ends with one or with what a command was to show.

    A last line of the program's own may be as far as it got. It is the end of a healthy paste where a warning or an
    error stands above it, which is what the person asks about.
    """
    lines = [(log, offset, line) for log in crash.logs for offset, line in log.lines() if line.strip()]
    others = [line for log, offset, line in lines if not explained.covers(log, offset)]
    own = [line for line in others if not patterns.compile(_PRINTED).search(line.strip())]
    if not lines or len(others) == len(lines) or 2 * len(own) > len(lines):
        return False
    return explained.is_loud or lines[-1][2] not in own


def word_of_failure(crash: Crash, explained: Explained) -> Place | None:
    """The first line that may speak of a failure and is not explained; the head of a stack only if all else is."""
    head: Place | None = None
    ignored = _ignored(crash)
    for log in crash.logs:
        for match in patterns.compile(FAILURE_WORDS).finditer(log.text):
            if explained.covers(log, match.start()) or _is_within((log.input, match.start()), ignored):
                continue
            place = log.place(match.start())
            if not patterns.compile(_HEAD_OF_A_STACK).search(log.line(match.start())):
                return place
            head = head or place
    return head
