"""Did anything die, and how sure are we: the four verdicts, their sentence, and what could not be seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from triage import patterns
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.crash import Crash, Gap, Place
from triage.diagnosis.ranking import SURE, Ranking
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, UNCERTAIN, UNKNOWN, Diagnosis, Reliability, Verdict

# A line that weighs this much for a cause is trouble, unless a sign of life follows it.
WORTH_A_LOOK = 1.0
# How far from the end of a log a person's own remark may be.
_A_REMARK = 20
# Words of a failure: a line with one of these is never passed over as harmless.
_TROUBLE = (
    r"(?i)error|exception|fail|abort|crash|kill|fault|fatal|panic|traceback|\bdie[ds]?\b|dead|terminat|can ?not|can't|"
    r"could not|couldn't|unable|denied|refused|invalid|corrupt|missing|not found|no such|stuck|hang|hung|fr[eo]ez|"
    r"frozen|restart|signal|dump|exit|memory|time ?out|timed out|stop|interrupt|wrong|problem|warn|broken|sanitizer|"
    r"not recogni[sz]ed|unrecogni[sz]ed|undefined|critical|no matches|giving up|gave up|unknown command|unexpected|"
    r"violation|illegal|nicht gefunden|falsch geschrieben|"
    r"nothing happen|doesn't|not work|fehler|erreur|errore|\berro\b|ошибк|错误|錯誤|崩溃|エラー|오류|"
    r"(?-i:^[EF]\d{4}\b|: [EF] \w)"
)
_HEAD_OF_A_STACK = r"(?i)traceback \(most recent call last\)|^\W*(?:stack )?traceback:?\W*$"
# What a command prints that was only run to show something: a version, True or False, a list of devices.
_PRINTED = (
    r"^(?:(?:[Tt]ensor[Ff]low|TF|Keras)?(?: version)?:? ?v?\d+\.\d+[\w.+-]*|True|False|None|\[\]|"
    r"\[PhysicalDevice\(.*\]|Num GPUs Available:\s+\d+|>>>.*|[\w@:~/.()\\-]*[$#%>] ?)$"
)
# Words with which people say that it did not go on, whatever the log shows above them.
_SAID = (
    r"(?i)\b(?:hangs?|hung|stuck|freez\w+|frozen|froze|crash(?:es|ed|ing)?|segfaults?|dies|died|killed|restarts|"
    r"restarted|nothing happens|not responding|stops? (?:here|there|working))\b"
)
# Signals with which somebody ends a healthy program.
_NOT_A_CRASH = {
    "SIGINT": "It was interrupted (SIGINT, Ctrl-C); nothing crashed.",
    "SIGQUIT": "It was ended by SIGQUIT (Ctrl-\\); nothing crashed.",
    "SIGPIPE": "It was ended by SIGPIPE, because nobody read its output any more; nothing crashed.",
}


def verdict_of(facts: Facts, knowledge: Knowledge, ranking: Ranking) -> Verdict:
    """diagnosed, uncertain, unknown or no-crash."""
    crash = facts.crash
    if crash.is_empty and crash.gaps:
        return UNKNOWN
    if crash.is_empty or (_was_seen_whole(crash) and nothing_died(facts, knowledge, ranking)):
        return NO_CRASH
    if not ranking.named:
        return UNKNOWN
    best = ranking.named[0][1]
    if best >= SURE:
        return DIAGNOSED
    return UNKNOWN if ranking.unknown >= best else UNCERTAIN


def _was_seen_whole(crash: Crash) -> bool:
    """Whether no death can hide in a part that was not read; when we ran it ourselves, we know how it ended."""
    return crash.rerun is not None or not crash.partly_read


def nothing_died(facts: Facts, knowledge: Knowledge, ranking: Ranking) -> bool:
    """Positive evidence that nothing died: exit code 0, signs of life to the end, or nothing but known noise."""
    crash = facts.crash
    if crash.exit is not None:
        return not crash.exit.is_failure or interrupted(crash)
    if crash.messages or any(thread.crashed for thread in crash.threads) or crash.memory.oom_kills:
        return False
    if any(record.severity == "F" for record in crash.records):
        return False
    last_trouble = _last_trouble(crash, knowledge, ranking)
    if last_trouble is None:
        return _lives_on(facts, knowledge, (-1, -1)) or _only_noise(crash, knowledge)
    return _lives_on(facts, knowledge, last_trouble)


def interrupted(crash: Crash) -> bool:
    """Whether the person or the reader of its output ended it, and no other error was raised."""
    if crash.exit is None or crash.exit.signal not in _NOT_A_CRASH:
        return False
    if crash.exit.signal != "SIGINT" and (crash.messages or any(record.severity == "F" for record in crash.records)):
        return False
    return all(error.short_type == "KeyboardInterrupt" for error in crash.exceptions)


def _last_trouble(crash: Crash, knowledge: Knowledge, ranking: Ranking) -> tuple[int, int] | None:
    """Where the last sign of trouble is: an exception, an error line that is not noise, or a telling line."""
    troubles = [(e.place.input if e.place else 0, e.offset) for e in crash.exceptions]
    for record in crash.records:
        if record.severity == "E" and not is_noise(record.message, knowledge):
            troubles.append((record.place.input, record.offset))
    for scored in ranking.scored:
        for term in scored.hits:
            if isinstance(term.finding, Hit) and term.weight >= WORTH_A_LOOK and term.finding.place is not None:
                troubles.append(term.finding.at)
    return max(troubles, default=None)


def _lives_on(facts: Facts, knowledge: Knowledge, after: tuple[int, int]) -> bool:
    """Whether a line that only a living program prints follows, and nobody says below it that the program ended."""
    if not any(facts.logs.first(pattern, after) for pattern in knowledge.life):
        return False
    last = deque((line for log in facts.crash.logs for _, line in log.lines()), maxlen=_A_REMARK)
    for line in reversed(last):
        if any(patterns.compile(pattern).search(line) for pattern in knowledge.life):
            return True
        if patterns.compile(_SAID).search(line) and not is_noise(line, knowledge):
            return False
    return True


def _only_noise(crash: Crash, knowledge: Knowledge) -> bool:
    """Whether the log is mostly start-up noise, and the other lines mention no trouble.

    A last line of the program's own is not noise: it may be as far as the program got.
    """
    lines = [line for log in crash.logs for _, line in log.lines() if line.strip()]
    others = [line for line in lines if not is_noise(line, knowledge)]
    if 2 * len(others) > len(lines) or not lines:
        return False
    if lines[-1] in others and not patterns.compile(_PRINTED).search(lines[-1].strip()):
        return False
    return not any(patterns.compile(_TROUBLE).search(line) for line in others)


def is_noise(line: str, knowledge: Knowledge) -> bool:
    """Whether a line is known to say nothing about a crash."""
    return any(patterns.compile(pattern).search(line) for pattern in knowledge.noise)


def _any_trouble(crash: Crash) -> bool:
    errors = any(record.severity in "EF" for record in crash.records)
    return bool(errors or crash.exit or crash.exceptions or crash.messages or crash.threads or crash.memory.oom_kills)


def _word_of_trouble(crash: Crash, knowledge: Knowledge) -> Place | None:
    """The first line that may speak of a failure and is not noise; the head of a stack only if there is no other."""
    head: Place | None = None
    for log in crash.logs:
        for match in patterns.compile(_TROUBLE).finditer(log.text):
            line = log.line(match.start())
            if is_noise(line, knowledge):
                continue
            place = log.place(match.start())
            if not patterns.compile(_HEAD_OF_A_STACK).search(line):
                return place
            head = head or place
    return head


def summary_of(crash: Crash, knowledge: Knowledge, verdict: Verdict, diagnoses: tuple[Diagnosis, ...]) -> str:
    """The answer in one sentence."""
    if verdict == NO_CRASH and interrupted(crash) and crash.exit:
        return _NOT_A_CRASH[crash.exit.signal or ""]
    if verdict == NO_CRASH:
        return "The input is empty." if crash.is_empty else "Nothing here says that a process died."
    if verdict == UNKNOWN and crash.is_empty:
        return "Nothing could be read, so nothing can be said."
    if verdict == UNKNOWN and crash.partly_read and not (crash.exit and crash.exit.is_failure):
        return "A part of the log was not read, and what was read does not name a cause."
    if verdict == UNKNOWN and not _any_trouble(crash):
        place = _word_of_trouble(crash, knowledge)
        if place is not None:
            return f"No cause is recognised in here; line {place.line} may tell what went wrong."
        return "No error, no signal and no exit status in here: it ended well, or its end is missing."
    if verdict == UNKNOWN and _is_a_dump_without_a_death(crash):
        if all(entry.complete for entry in crash.inputs):
            return "The dump holds no exception: its process was alive when it was taken, by hand or because it hung."
        return "The dump is damaged or cut off, and what ended its process cannot be read from it."
    if verdict == UNKNOWN and crash.hung:
        return "It hung, and where it stands does not name the cause."
    if verdict == UNKNOWN:
        ended = f" with {crash.exit.label}" if crash.exit and crash.exit.is_failure else ""
        return f"Something failed{ended}, but the evidence does not name its cause."
    first = diagnoses[0]
    return first.title + ("." if verdict == DIAGNOSED else f", perhaps ({first.confidence:.0%}).")


def _is_a_dump_without_a_death(crash: Crash) -> bool:
    """Whether there is nothing but a dump, and it shows no crash."""
    dumped = bool(crash.processes) and crash.processes[crash.primary].dump is not None
    other_facts = crash.exit or crash.exceptions or crash.messages or crash.logs
    return dumped and not other_facts and not any(thread.crashed for thread in crash.threads)


def with_all_gaps(crash: Crash, knowledge: Knowledge) -> Crash:
    """The crash with everything that its inputs do not show, so that nobody takes silence for an answer."""
    return crash._replace(gaps=(*crash.gaps, *_further_gaps(crash, knowledge)))


def _further_gaps(crash: Crash, knowledge: Knowledge) -> Iterator[Gap]:
    """What is missing besides what the readers have reported as missing."""
    if crash.is_empty:
        return
    threads = crash.threads
    if crash.exit is None and not crash.lacks("exit status"):
        yield Gap("exit status", "not-told", "give-exit-code", detail="unknown (give it with --exit-code)")
    if not any(thread.native_stack for thread in threads) and not crash.lacks("native stack") and not raised(crash):
        if crash.rerun is None:
            detail = "the log holds none (run it with triage run)"
            yield Gap("native stack", "no-frames-in-log", "run-under-triage", detail=detail)
        elif crash.exit is None or crash.exit.is_death:
            yield Gap("native stack", "none-read", detail="none was read")
    has_python = any(thread.python_stack for thread in threads) or any(error.frames for error in crash.exceptions)
    if not has_python and not crash.lacks("Python stack"):
        if crash.rerun is None:
            detail = "there is none (run it with triage run)"
            yield Gap("Python stack", "no-frames-in-log", "run-under-triage", detail=detail)
        else:
            yield Gap("Python stack", "none-read", detail="there is none")
    if crash.memory.peak_bytes is None:
        yield Gap("memory", "not-told", detail="the peak is unknown")
    if not patterns.LINEAR_TIME:
        detail = "RE2 is not installed here: patterns ran on Python's own engine"
        yield Gap("patterns", "not-installed", "install", "RE2", detail)
    for problem in knowledge.problems:
        yield Gap("signature", "ignored", detail=str(problem))


def raised(crash: Crash) -> bool:
    """Whether it ended with a Python exception, so that no native stack is missing."""
    return bool(crash.exceptions) and crash.exit is not None and not crash.exit.is_death


def reliability_of(
    crash: Crash, knowledge: Knowledge, verdict: Verdict, diagnoses: tuple[Diagnosis, ...]
) -> Reliability | None:
    """How often answers this sure were right; not measured for private signatures."""
    if verdict not in (DIAGNOSED, UNCERTAIN) or not diagnoses:
        return None
    if knowledge.signatures[diagnoses[0].signature].pack in knowledge.packs:
        return None
    if crash.partly_read:
        return None  # measured on reports that were read whole
    figures = knowledge.calibration.reliability
    held = figures.bin_of(diagnoses[0].confidence)
    return Reliability(*held, figures.measured, figures.commit) if held else None


def topic_of(crash: Crash, knowledge: Knowledge, verdict: Verdict, diagnoses: tuple[Diagnosis, ...]) -> str | None:
    """What to read next: the page of the cause, else of the exit status, else of the exception."""
    if verdict == NO_CRASH:
        return None
    if diagnoses and verdict != UNKNOWN:
        return diagnoses[0].cause
    if crash.exit is not None and crash.exit.is_failure:
        return crash.exit.typed
    names = [error.short_type for error in reversed(crash.exceptions)]
    return next((name for name in names if name in knowledge.exceptions), None)
