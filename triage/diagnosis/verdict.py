"""How sure are we: the four verdicts, their sentence, and what could not be seen."""

from __future__ import annotations

from collections.abc import Iterator

from triage import patterns
from triage.chains import last_chain
from triage.crash import Crash, Gap, Place
from triage.diagnosis.outcome import ignored_spans, is_within
from triage.diagnosis.ranking import SURE, Ranking
from triage.knowledge.database import Knowledge
from triage.report import (
    DIAGNOSED,
    NO_CRASH,
    UNCERTAIN,
    UNKNOWN,
    Diagnosis,
    Outcome,
    Reliability,
    SeenNotice,
    Verdict,
)

# Signals with which somebody ends a healthy program.
_NOT_A_CRASH = {
    "SIGINT": "It was interrupted (SIGINT, Ctrl-C); nothing crashed.",
    "SIGQUIT": "It was ended by SIGQUIT (Ctrl-\\); nothing crashed.",
    "SIGPIPE": "It was ended by SIGPIPE, because nobody read its output any more; nothing crashed.",
}
# Words with which a program says that it has a GPU after all.
_HAS_GPU = r"device:GPU:\d+ with [1-9]|physical_device:GPU:\d|[Cc]uda(?:Device)?\(id="
_FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX", "pytorch": "PyTorch"}
_BY_KEYBOARD = "It was stopped from the keyboard (KeyboardInterrupt, Ctrl-C); nothing crashed."


def verdict_of(crash: Crash, outcome: Outcome, ranking: Ranking) -> Verdict:
    """diagnosed, uncertain, unknown or no-crash."""
    if crash.is_empty:
        return UNKNOWN if crash.gaps else NO_CRASH
    if outcome.end == "lived":
        return NO_CRASH
    if not ranking.named:
        return UNKNOWN
    # As the report prints it: nobody should read 0.70 beside "uncertain".
    best = round(ranking.named[0][1], 4)
    if best >= SURE:
        return DIAGNOSED
    return UNKNOWN if ranking.unknown >= best else UNCERTAIN


def summary_of(
    crash: Crash,
    outcome: Outcome,
    notices: tuple[SeenNotice, ...],
    verdict: Verdict,
    diagnoses: tuple[Diagnosis, ...],
) -> str:
    """The answer in one sentence."""
    if verdict == NO_CRASH:
        return _why_no_crash(crash, outcome, notices)
    if verdict == UNKNOWN:
        return _why_unknown(crash, outcome)
    first = diagnoses[0]
    return first.title + ("." if verdict == DIAGNOSED else f", perhaps ({first.confidence:.0%}).")


def _why_unknown(crash: Crash, outcome: Outcome) -> str:
    if crash.is_empty:
        return "Nothing could be read, so nothing can be said."
    if crash.partly_read and not (crash.exit and crash.exit.is_failure):
        return "A part of the log was not read, and what was read does not name a cause."
    if _is_a_dump_without_a_death(crash):
        if all(entry.complete for entry in crash.inputs):
            return "The dump holds no exception: its process was alive when it was taken, by hand or because it hung."
        return "The dump is damaged or cut off, and what ended its process cannot be read from it."
    if outcome.end == "not-told":
        # An explained line of level E is no failure, and a line that may tell one is only pointed at.
        if place := next((ground.place for ground in outcome.because if ground.place), None):
            return f"No cause is recognised in here; line {place.line} may tell what went wrong."
        return "Nothing in here tells how it ended: it ended well, or its end is missing."
    if outcome.end == "hung":
        where = "where it stands" if crash.hung else "what is in here"
        return f"It hung, and {where} does not name the cause."
    if crash.exit and crash.chose_its_code:
        return f"It ended itself with {crash.exit.label}, without an exception; if anything says why, its own words do."
    if raised(crash) and (chain := last_chain(crash)):
        name = chain.root.short_type
        return f"It ended with {_article(name)} {name}, and nothing beyond its own words tells the cause."
    ended = f" with {crash.exit.label}" if crash.exit and crash.exit.is_failure else ""
    return f"Something failed{ended}, but the evidence does not name its cause."


def _article(name: str) -> str:
    return "an" if name.lstrip("_")[:1] in "AEIOUaeio" else "a"


def _why_no_crash(crash: Crash, outcome: Outcome, notices: tuple[SeenNotice, ...]) -> str:
    if crash.is_empty:
        return "The input is empty."
    if any(ground.sign == "stopped by hand" for ground in outcome.because):
        return _NOT_A_CRASH[crash.exit.signal or ""] if crash.exit and crash.exit.is_failure else _BY_KEYBOARD
    if place := _survived(crash):
        if any(ground.sign == "exit 0" for ground in outcome.because):
            return f"It ended with exit code 0, although line {place.line} reports a failure."
        if any(ground.sign == "sign of life" for ground in outcome.because):
            return f"Nothing died: it went on after line {place.line}, which reports a failure."
    harms = {notice.harm for notice in notices}
    if not notices:
        return "Nothing here says that a process died."
    # A text of nothing but notices shows no crash; that its program lived on is more than it says.
    lead = "No sign of a crash" if outcome.because and outcome.because[0].sign == "only notices" else "Nothing died"
    if "no-gpu" in harms and not any(patterns.compile(_HAS_GPU).search(log.text) for log in crash.logs):
        return f"{lead}, but {_without_gpu(notices)}."
    count = len(notices)
    if harms == {"none"}:
        return f"{lead}: one notice, harmless." if count == 1 else f"{lead}: {count} notices, all harmless."
    if count == 1:
        return f"{lead}: one notice, {'to be read' if harms == {'check'} else 'which may cost something'}."
    costing = sum(notice.harm != "none" for notice in notices)
    return f"{lead}: {count} notices, of which {costing} may cost something."


def _survived(crash: Crash) -> Place | None:
    """Where the last failure stands that the program outlived: an exception or a report that ended nothing."""
    reports = [message.place for message in crash.messages if message.kind in ("sanitizer", "exception")]
    ignored = ignored_spans(crash)
    places = list(reports)
    for error in crash.exceptions:
        if error.place and not is_within((error.place.input, error.offset), ignored):
            places.append(error.place)
    return max((place for place in places if place.line is not None), default=None)


def _without_gpu(notices: tuple[SeenNotice, ...]) -> str:
    """Who computes without a GPU: in one process PyTorch may use the card that JAX does not."""
    sources = {notice.id.partition("/")[0] for notice in notices if notice.harm == "no-gpu"}
    name = _FRAMEWORKS.get(sources.pop()) if len(sources) == 1 else None
    return f"{name} does not use the GPU" if name else "the GPU is not used"


def _is_a_dump_without_a_death(crash: Crash) -> bool:
    """Whether there is nothing but a dump, and it shows no crash."""
    dumped = bool(crash.processes) and crash.processes[crash.primary].dump is not None
    other_facts = crash.exit or crash.exceptions or crash.messages or crash.logs
    return dumped and not other_facts and not any(thread.crashed for thread in crash.threads)


def with_all_gaps(crash: Crash, outcome: Outcome, knowledge: Knowledge) -> Crash:
    """The crash with everything that its inputs do not show, so that nobody takes silence for an answer."""
    return crash._replace(gaps=(*crash.gaps, *_further_gaps(crash, outcome, knowledge)))


def _further_gaps(crash: Crash, outcome: Outcome, knowledge: Knowledge) -> Iterator[Gap]:
    """What is missing besides what the readers have reported as missing."""
    if crash.is_empty:
        return
    if outcome.end == "not-told" and crash.logs and crash.rerun is None:
        detail = "not in here (give the last 30 lines and the exit code, or run it with triage run)"
        yield Gap("end", "not-told", "give-the-end", detail=detail)
    threads = crash.threads
    if crash.exit is None and not crash.lacks("exit status"):
        yield Gap("exit status", "not-told", "give-exit-code", detail="unknown (give it with --exit-code)")
    if outcome.end == "lived":
        return  # a stack is not missing where nothing died
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
