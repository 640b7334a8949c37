"""What to find out next: the missing evidence that would teach us most for the least trouble.

The gain of a question is the expected drop in entropy over the leading causes and "unknown", EIG = H(P) - sum over
answers o of P(o) H(P|o). An answer is one of the clues that it can reveal, or none: P(clue | cause) is the clue's p
where the cause has that clue, else its b.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.clues.facts import Facts
from triage.clues.findings import Unseen
from triage.clues.interface import Request, Sought, Way
from triage.crash import Command, Crash, Observable
from triage.diagnosis.advice.launch import Launch, launch_of
from triage.diagnosis.ranking import Ranking, Scored
from triage.knowledge.database import Knowledge
from triage.phrases import quote
from triage.report import DIAGNOSED, Outcome, Question, Verdict

_MOST = 3
_LEADING = 8
# A smaller gain is noise.
_LEAST_GAIN = 1e-4
# How to ask for what could not be seen.
ASK: Mapping[Observable, str] = {
    "exit status": "With which exit code or signal did it end?",
    "log": "What does the program's own log say up to the end?",
    "python stack": "Which Python line was running?",
    "native stack": "Which native function crashed?",
    "fault": "Which instruction failed, and on which address?",
    "memory figures": "Did the kernel or the container end it for memory?",
    "loaded libraries": "Which cuDNN and CUDA libraries does the log name?",
    "process start": "How was the process that died made: by fork, spawn or a shell?",
    "machine": "Which system, Python, framework and card is it?",
}
COMMANDS: Mapping[Way, Command] = {
    "say the exit code": Command(("triage", "analyze", "LOG", "--exit-code", "CODE")),
    "read the kernel log": Command(("dmesg",), piped_to=("grep", "-i", "-E", "killed process|oom")),
    "list the packages": Command(("python", "-m", "pip", "list")),
    "run again": Command(("triage", "run", "SCRIPT")),
    "run again with log": Command(("triage", "run", "--framework-log", "SCRIPT")),
}
# How much trouble an answer is: remembering a number, looking something up, crashing once more.
TROUBLE: Mapping[Way, float] = {
    "say the exit code": 0.1,
    "read the kernel log": 1.0,
    "list the packages": 1.0,
    "run again": 4.0,
    "run again with log": 4.0,
}


def next_steps(
    facts: Facts, knowledge: Knowledge, ranking: Ranking, verdict: Verdict, outcome: Outcome
) -> tuple[Question, ...]:
    """Questions for an undecided case, the most useful first; none when the cause is found."""
    crash = facts.crash
    if verdict == DIAGNOSED:
        return ()
    advice = [*_hidden_log(crash), *_status_advice(crash, knowledge)]
    if crash.rerun is not None:
        # We ran the program ourselves: asking for more would only bring the same facts again.
        return tuple(advice[:_MOST])
    leading = ranking.plausible[:_LEADING]
    launch = launch_of(crash)
    worth: list[tuple[float, Question]] = []
    for request, clues in _askable(leading, facts).items():
        if request.of_a_crash and (outcome.end == "not-told" or _only_raised(crash)):
            continue
        if _is_of_frameworks(request) and _has_no_framework(crash):
            continue
        gain = expected_gain({scored.signature.cause: share for scored, share in leading}, clues)
        if gain > _LEAST_GAIN:
            run = _of_this_program(COMMANDS[request.way], launch)
            question = Question(ASK[request.what], run, would_separate=tuple(clues), answers=request.what)
            worth.append((gain / TROUBLE[request.way], question))
    worth.sort(key=lambda entry: -entry[0])
    # One run answers several questions at once, so each command appears once, with its best question.
    by_command: dict[Command | None, Question] = {}
    for _, question in worth:
        by_command.setdefault(question.run, question)
    return tuple([*advice, *by_command.values()][:_MOST])


def _of_this_program(command: Command, launch: Launch | None) -> Command:
    """The command with the person's own program for SCRIPT, where the crash shows how it was started."""
    if command.argv[-1] != "SCRIPT" or launch is None or not launch.words:
        return command
    given = {"module": ("--", launch.python, "-m"), "program": ("--",)}.get(launch.kind, ())
    return command._replace(argv=(*command.argv[:-1], *given, *map(quote, launch.words)))


def _is_of_frameworks(request: Request) -> bool:
    """Whether only a framework could give the answer: its log, or the libraries that it loads."""
    return request.way == "run again with log" or request.what == "loaded libraries"


def _has_no_framework(crash: Crash) -> bool:
    """Whether the program is known and shows no framework."""
    return crash.program is not None and crash.program.framework is None


class Awaited(NamedTuple):
    """A clue that an answer may reveal, and how often it shows with the cause and without it."""

    sought: Sought
    p: float
    b: float


def expected_gain(shares: Mapping[str, float], answers: Mapping[str, Awaited]) -> float:
    """The expected gain, in nats, of a question whose answer is a clue of some of these causes or none."""
    causes = [*shares.values(), max(0.0, 1.0 - sum(shares.values()))]
    clues: dict[Sought, float] = {}
    for answer in answers.values():
        clues[answer.sought] = min(answer.b, clues.get(answer.sought, 1.0))
    likelihoods: list[list[float]] = []  # by answer, then by cause; "unknown" is the last cause
    for sought, b in clues.items():
        own = [answers.get(cause) for cause in shares]
        likelihoods.append([one.p if one is not None and one.sought == sought else b for one in own] + [b])
    totals = [sum(column) for column in zip(*likelihoods, strict=True)]
    # Answers exclude each other here; where their probabilities add up to more than 1, they are scaled down.
    likelihoods = [[x / max(1.0, total) for x, total in zip(row, totals, strict=True)] for row in likelihoods]
    likelihoods.append([max(0.0, 1.0 - total) for total in totals])
    joint = [[x * share for x, share in zip(row, causes, strict=True)] for row in likelihoods]
    return _entropy(causes) - sum(sum(row) * _entropy(row) for row in joint)


def _entropy(weights: list[float]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w > 0) if total > 0 else 0.0


def _askable(leading: tuple[tuple[Scored, float], ...], facts: Facts) -> dict[Request, dict[str, Awaited]]:
    """For each thing that is missing, the most telling clue of each leading cause that needs it."""
    found: dict[Request, dict[str, Awaited]] = defaultdict(dict)
    for scored, _ in leading:
        cause = scored.signature.cause
        for request, clue in _unseen(scored, facts):
            held = found[request].get(cause)
            if clue.p > clue.b and (held is None or _telling(clue) > _telling(held)):
                found[request][cause] = clue
    return {request: clues for request, clues in found.items() if clues}


def _unseen(scored: Scored, facts: Facts) -> Iterator[tuple[Request, Awaited]]:
    for term in scored.terms:
        if isinstance(term.finding, Unseen):
            for request in facts.missing(term.clue):
                yield request, Awaited(term.clue.sought, term.clue.p, term.clue.b)


def _telling(clue: Awaited) -> float:
    return clue.p * math.log(clue.p / clue.b)


def _only_raised(crash: Crash) -> bool:
    """Whether all that is known is a Python exception."""
    died = crash.exit is not None and crash.exit.is_death
    return bool(crash.exceptions) and not died and not any(thread.crashed for thread in crash.threads)


def _hidden_log(crash: Crash) -> list[Question]:
    """TensorFlow's own log was hidden: it decides most cases, so getting it comes first."""
    if crash.environment.hidden_log is None or crash.rerun is None:
        return []
    ask = f"What does TensorFlow's own log say? It was hidden ({crash.environment.hidden_log})."
    theirs = crash.rerun._replace(argv=tuple(map(quote, crash.rerun.argv)))
    return [Question(ask, crash._replace(rerun=theirs).run_with_log, (), "hidden log")]


def _status_advice(crash: Crash, knowledge: Knowledge) -> list[Question]:
    """What the page of this exit status says to do first, unless that was to run it under triage and we did."""
    if crash.exit is None or not crash.exit.is_death:
        return []
    if _has_no_framework(crash) and crash.program is not None and crash.program.language != "python":
        return []  # the pages speak to people with Python programs
    page = knowledge.status_page(crash.exit)
    advice = page.get("next")
    if not advice or (crash.rerun and page.get("remedy") == "run-under-triage"):
        return []
    return [Question(advice, None, tuple(page.get("causes") or ())[:3])]
