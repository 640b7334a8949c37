"""Did anything die? Decided once, after merging, from typed evidence: died, hung, lived, or not told.

That it lived needs evidence too: exit code 0, a line that only a living program prints after the last sign of trouble,
a person who says that it works, a result at the end, or a text in which every frightening line is explained. Everything
else is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage import patterns, prose
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
    r"(?i)\b(?:error|exception|abort(?:ed|ing)?|crash(?:es|ed|ing)?|kill(?:ed|ing)?|\w*killed|segfaults?|fault|fatal|panic|"
    r"traceback|dies|died|dead|terminat(?:ed|ing)|core dumped|hangs?|hung|stuck|freez\w+|frozen|froze|"
    r"restart(?:s|ed|ing)|nothing (?:happens|more)|not responding|stops? (?:here|there|working)|stopped|"
    r"SIG[A-Z]{3,5}|bad[_ ]alloc\w*|"
    r"\w*out[_ ]of[_ ]memory|disconnect(?:ed)?|broken pipe|closed by|interrupt\w*|preempt\w*|reboot\w*|disappear\w*|"
    r"back at the prompt|exit(?:ed|s)?)\b|強制終了"
)
_HEAD_OF_A_STACK = r"(?i)traceback \(most recent call last\)|^\W*(?:stack )?traceback:?\W*$"
# What a command prints that was only run to show something: a version, a value, a list of devices; or a prompt.
_PRINTED = (
    r"^(?:(?:[\w .-]{0,24}\bversion\w*|TF|[Tt]ensor[Ff]low|[Kk]eras|[Tt]orch|[Nn]um[Pp]y|JAX|jax|GPU\w*"
    r"|[\w ]{0,24}\bGPUs?\b[\w ]{0,16})?[:=]? ?"
    r"(?:v?\d+(?:\.\d+)*[\w.+-]*(?: v?\d+\.[\w.+-]*)?|True|False|None|\[\]|\(\)|\{\}|\[?-?\d[\d., e+\]-]*)"
    r"|[*=_#-]{4,}|tf\.Tensor\(.*|<tf\.\w+.*|tensor\(.*|\[?(?:Physical|Logical)?(?:PhysicalDevice|LogicalDevice"
    r"|CpuDevice|CudaDevice)\(.*"
    r"|(?:Device)?[Aa]rray\(.*|b?'[^']*'|Hello,? .*|>>>.*|In \[\d+\]:.*|Out\[\d+\]:.*|[\w@:~/.()\\ -]{0,80}[$#%>] ?"
    r"|PS [A-Z]:\\.*>)$"
)
# What stands at the end of a program that got to its end, or that waits for the next question. Only where nothing went
# wrong above: a script may print it after a command of its own that failed.
_RESULT = (
    r"^(?:tf\.Tensor\(.*(?:shape|dtype)=|<tf\.\w+.*(?:shape|dtype)=|(?:Device)?[Aa]rray\(|tensor\()"
    r"|(?:^|[\]|:>-] ?)(?:Done|DONE|done)[.!]?$"
    r"|\bSuccess(?:fully)?\b(?: \w+|[.!]|$)|\b[Ss]uccessfully (?:\w+ed|written|built|sent)\b|(?:^|[\]"
    r"|] ?)(?:Finished|Completed)\b"
    r"|\b(?:[Ss]aved|[Ww]rote|[Ww]ritten|[Ee]xported)\b.{0,60}\b(?:to|as|in|into)\b|\b\d+ passed\b|^All tests passed"
    r"|^[\w ]{0,40}\btook \d+(?:\.\d+)? ?(?:ms|s|sec\w*|min\w*)\b|^(?:Total |Elapsed )(?:time|elapsed)\b.{0,20}\d"
    r"|[Ss]erver (?:started|is (?:running|ready|listening)|listening|ready)|[Ll]istening (?:on|at) \S*\d"
    r"|[Rr]eady to (?:accept|serve)"
)
_ASKS = r"(?i)^(?:please )?(?:enter|type|input)\b.{0,100}[:>?]\s*$|^(?:you|user|prompt|input|question|query)\s*[:>]\s*$"
# What `time` prints under a command, whatever became of it; the brackets around what is printed.
_AROUND_A_RESULT = r"^(?:real|user|sys)\s+\d+m[\d.]+s$|^[\s\[\](){}.,]*$"
# A command with its prompt, and source code, which a person pastes together with what it printed.
_TYPED = (
    r"^\s*(?:[$%>] |>>> ?|\.\.\. |In \[\d+\]:|import \w|from \w\S* import |print\(|# |!\w|%\w|sudo |pip3? |conda "
    r"|docker |cd |"
    r"tar |git |\.{1,2}/[\w./-]+(?: |$)|export \w+=|python[\d.]* )"
    r"|^(?:\([\w.-]+\) ?)?[\w.-]+@[\w.-]+:[^$#]{0,80}[$#] \S|^(?:PS )?[A-Z]:\\[^>]{0,80}>\s?\S"
    r"|^\s*(?:[A-Z_]+=\S+ +){1,6}(?:\S*/)?[a-z]\w+ |^(?:\([\w.-]+\) ?)?➜ "
    r"|^\s*\w+(?:\.\w+)+\(.*\)\s*$|^\s*\w+(?:[.,] ?\w+)* = [\w.]+[(\[].*$"
    r"|^(?:[A-Z]:)?[/\\]\S*python[\d.w]*(?:\.exe)? \S.*\.py\b.*$"
)
# What is typed at Python's own prompt: its words of failure are the person's.
_TYPED_TO_PYTHON = r"^\s*(?:>>> |In \[\d+\]:)"
# A program's line at the level of information. It may be as far as the program got, yet it frightens nobody.
_INFORMS = (
    r"^[\[(]?[\d:.,/ T+-]{8,32}[\])]?[ |:-]{0,4}(?:[\w.]+[ |:-]{1,4})?[\[(]?(?:INFO|DEBUG)\b|^\[?(?:INFO|DEBUG)[\]:|]"
)
# Work that has begun and of which nothing more is heard: it may be as far as the program got.
_JUST_BEGUN = r"^(?:Epoch:? \d+(?:/\d+)?|(?i:(?:start|begin|train)\w*\b[^\n]{0,60}(?:\.\.\.|…)))$"
# Signals with which somebody ends a healthy program.
BY_HAND = ("SIGINT", "SIGQUIT", "SIGPIPE")
_INTERRUPTED = "KeyboardInterrupt"
_IGNORED = "Exception ignored in"
# Whose last words a message is. The first three leave no doubt; a program may outlive what the others report.
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
_OF_THE_WHOLE: tuple[Sign, ...] = ("person", "hang")
_FINAL: tuple[MessageKind, ...] = ("heap", "terminate", "assertion")

_At = tuple[int, int]
_Line = tuple[Log, int, str]


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
    # What a person says of the end holds for the whole text, whether it stands above or below what was pasted.
    if not any(trouble.ground.sign in _OF_THE_WHOLE for trouble in survivable):
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
    works = _said_to_work(crash)
    if word := word_of_failure(crash, explained, works) or _said_to_fail(crash, explained, works):
        return Outcome("not-told", (Ground("word of failure", word),))
    lines = _lines_of_programs(crash)
    if not any(explained.covers(log, offset) for log in crash.logs for offset, _ in log.lines()):
        return Outcome("not-told")
    if place := works or _result_at_the_end(lines):
        return Outcome("lived", (Ground("sign of life", place),))
    return Outcome("lived", (Ground("only notices"),)) if _is_explained(lines, explained) else Outcome("not-told")


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
    """What nothing survives. The stack below a sanitizer's report or another language's exception does not say so."""
    reported = any(message.kind in ("sanitizer", "exception") for message in crash.messages)
    for thread in crash.threads:
        if thread.crashed and not reported:
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
    ignored = ignored_spans(crash)
    for error in crash.exceptions:
        at = (error.place.input if error.place else 0, error.offset)
        if not is_within(at, ignored):
            yield _Trouble(at, Ground("exception", error.place))
    for message in crash.messages:
        if message.kind not in _FINAL:
            yield _Trouble((message.place.input, message.offset), Ground(_SIGNS[message.kind], message.place))


def _is_settled(trouble: _Trouble, explained: Explained) -> bool:
    return trouble.ground.place is not None and explained.is_harmless(trouble.ground.place)


def ignored_spans(crash: Crash) -> list[tuple[_At, _At]]:
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


def is_within(at: _At, spans: list[tuple[_At, _At]]) -> bool:
    return any(start <= at <= stop for start, stop in spans)


def _telling(ranking: Ranking, explained: Explained, crash: Crash) -> list[_Trouble]:
    """Lines of level E and lines that weigh for a cause, unless a notice explains them or they are an exception."""
    exceptions = {error.place for error in crash.exceptions}
    found = [
        _Trouble((record.place.input, record.offset), Ground("word of failure", record.place))
        for record in crash.records
        if record.severity == "E" and not explained.covers_place(record.place)
    ]
    ignored = ignored_spans(crash)
    for hit in (term.finding for scored in ranking.scored for term in scored.hits if term.weight >= WORTH_A_LOOK):
        if isinstance(hit, Hit) and is_within(hit.at, ignored):
            continue
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
    ignored = ignored_spans(facts.crash)
    for match in patterns.compile(_AN_END).finditer(log.text[below:] if below >= 0 else ""):
        word = below + match.start()
        if not explained.covers(log, word) and not is_within((log.input, word), ignored):
            return None
    for start, line in log.lines():
        if start > offset and prose.tells_an_end(line) and not explained.covers(log, start):
            return None
    return log.place(offset)


def _lines_of_programs(crash: Crash) -> list[_Line]:
    """The lines of the logs, without what a person wrote or typed around them."""
    return [
        (log, offset, line)
        for log in crash.logs
        for offset, line in log.lines()
        if line.strip() and not _is_around(line)
    ]


def _is_around(line: str) -> bool:
    typed = patterns.compile(_TYPED).search(line) is not None
    return typed or prose.is_of_a_form(line) or prose.is_of_a_person(line)


def _said_to_fail(crash: Crash, explained: Explained, works: Place | None) -> Place | None:
    """Where a person says that it went wrong or ended, in words that programs do not use for it."""
    for log in crash.logs:
        for offset, line in log.lines():
            fails = prose.is_of_a_person(line) and _speaks_of_failure(line, works)
            if (fails or prose.tells_an_end(line)) and not explained.covers(log, offset):
                return log.place(offset)
    return None


def _said_to_work(crash: Crash) -> Place | None:
    """Where a person says that it works all the same."""
    for log in crash.logs:
        for offset, line in log.lines():
            if prose.is_of_a_person(line) and prose.says_that_it_works(line):
                return log.place(offset)
    return None


def _result_at_the_end(lines: list[_Line]) -> Place | None:
    """The last line, where it is a result or a question for the next input."""
    for log, offset, line in reversed(lines):
        text = line.strip()
        if any(patterns.compile(form).search(text) for form in (_RESULT, _ASKS)):
            return log.place(offset)
        if not any(patterns.compile(form).search(text) for form in (_AROUND_A_RESULT, _PRINTED)):
            return None
    return None


def _is_explained(lines: list[_Line], explained: Explained) -> bool:
    """Whether what programs printed is mostly notices, and ends with one or with what a command was to show.

    A last line of the program's own may be as far as it got. It is the end of a healthy paste where a warning or an
    error stands above it, which is what the person asks about.
    """
    others = [line for log, offset, line in lines if not explained.covers(log, offset)]
    own = [line for line in others if not patterns.compile(_PRINTED).search(line.strip())]
    strange = [line for line in own if not patterns.compile(_INFORMS).search(line)]
    if not lines:
        return True  # the notice is quoted in a person's own sentence
    if len(others) == len(lines) or 2 * len(strange) > len(lines):
        return False
    if patterns.compile(_JUST_BEGUN).search(lines[-1][2].strip()):
        return False
    return explained.is_loud or lines[-1][2] not in own


def _speaks_of_failure(line: str, works: Place | None) -> bool:
    """Whether a person's sentence does. Of one who says that it works, a denial alone is none."""
    return prose.says_that_it_breaks(line) if works else prose.says_that_it_fails(line)


def word_of_failure(crash: Crash, explained: Explained, works: Place | None = None) -> Place | None:
    """The first line that may speak of a failure and is not explained; the head of a stack only if all else is."""
    head: Place | None = None
    ignored = ignored_spans(crash)
    for log in crash.logs:
        for match in patterns.compile(FAILURE_WORDS).finditer(log.text):
            if explained.covers(log, match.start()) or is_within((log.input, match.start()), ignored):
                continue
            line = log.line(match.start())
            if _is_only_talk(line, works) or _is_a_folder(log.text, match.start(), match.end()):
                continue
            place = log.place(match.start())
            if not patterns.compile(_HEAD_OF_A_STACK).search(line):
                return place
            head = head or place
    return head


def _is_a_folder(text: str, start: int, stop: int) -> bool:
    """Whether a word is the name of a folder: somebody may be called so."""
    return text[start - 1 : start] in ("/", "\\") and text[stop : stop + 1] in ("/", "\\")


def _is_only_talk(line: str, works: Place | None) -> bool:
    """Whether it says nothing of a failure: a person's words, a form's heading, or what stands behind a prompt."""
    if any(patterns.compile(form).search(line.strip()) for form in (_ASKS, _TYPED_TO_PYTHON)):
        return True
    if prose.is_of_a_form(line):
        return True
    return prose.is_of_a_person(line) and not _speaks_of_failure(line, works)
