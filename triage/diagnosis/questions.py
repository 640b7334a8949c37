"""What to find out next: the missing evidence from which most is to be learned, for the least trouble.

The gain of a question is the expected drop in entropy over the leading causes and "unknown", EIG = H(P) - sum over
answers o of P(o) H(P|o). An answer is one of the clues that it can bring, or none of them: P(clue | cause) is its p
where the cause has it, else its b.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.crash import Crash
from triage.diagnosis.findings import Unseen
from triage.diagnosis.matching import Facts
from triage.diagnosis.ranking import Ranking, Scored
from triage.knowledge.clues import Sought
from triage.knowledge.loading import Knowledge
from triage.report import DIAGNOSED, Question, Verdict, quoting

_MOST = 3
_LEADING = 8
# Less than this is learned by chance.
_LEAST_GAIN = 1e-4
# For each kind of clue that can be missing: what to ask, and the command that brings it.
_LOGGED = "triage run --tf-log SCRIPT"
_RUN = "triage run SCRIPT"
_ASK = {
    "exit": ("With which exit code or signal did it end?", "triage analyze LOG --exit-code CODE"),
    "log": ("What does TensorFlow's own log say up to the end?", _LOGGED),
    "python": ("Which Python line was running?", _RUN),
    "native": ("Which native function crashed?", _RUN),
    "fault": ("Which instruction failed, and on which address?", _RUN),
    "memory": ("Did the kernel or the container end it for memory?", "dmesg | grep -i -E 'killed process|oom'"),
    "module": ("Which cuDNN and CUDA libraries does the log name?", _LOGGED),
    "process": ("How was the process that died made: by fork, spawn or a shell?", _RUN),
    "environment": ("Which system, Python, TensorFlow and card is it?", "python -m pip list"),
}
# How much trouble an answer is: to say what one saw, to look something up, to let it crash once more.
_TROUBLE = {"exit": 0.1, "environment": 1.0, "memory": 1.0}
_RUN_AGAIN = 4.0
# What an exception has not: there is no crashed function to ask for.
_OF_A_CRASH = ("native", "fault")


def next_questions(facts: Facts, knowledge: Knowledge, ranking: Ranking, verdict: Verdict) -> tuple[Question, ...]:
    """Questions for an undecided case, the most separating first; none when the cause is found."""
    crash = facts.crash
    if verdict == DIAGNOSED:
        return ()
    advice = [*_hidden_log(crash), *_status_advice(crash, knowledge)]
    if crash.rerun is not None:
        # A program that we ran has told everything else already, or cannot tell it.
        return tuple(advice[:_MOST])
    leading = ranking.causes[:_LEADING]
    worth: list[tuple[float, Question]] = []
    for kind, clues in _askable(leading, facts).items():
        gain = expected_gain({scored.signature.cause: share for scored, share in leading}, clues)
        if gain > _LEAST_GAIN:
            question = Question(*_ASK[kind], would_separate=tuple(clues), answers=kind)
            worth.append((gain / _TROUBLE.get(kind, _RUN_AGAIN), question))
    worth.sort(key=lambda entry: -entry[0])
    # One run answers all that it can answer, so a command is told once, with its best question.
    by_command: dict[str | None, Question] = {}
    for _, question in worth:
        by_command.setdefault(question.run, question)
    return tuple([*advice, *by_command.values()][:_MOST])


class Answer(NamedTuple):
    """A clue that a question may bring, and how often with the cause and without it."""

    sought: Sought
    p: float
    b: float


def expected_gain(shares: Mapping[str, float], answers: Mapping[str, Answer]) -> float:
    """How much is learned, in nats, from a question whose answers are a clue of some causes, or none of them."""
    causes = [*shares.values(), max(0.0, 1.0 - sum(shares.values()))]
    clues: dict[Sought, float] = {}
    for answer in answers.values():
        clues[answer.sought] = min(answer.b, clues.get(answer.sought, 1.0))
    likelihoods: list[list[float]] = []  # by answer, then by cause; "unknown" is the last cause
    for sought, b in clues.items():
        own = [answers.get(cause) for cause in shares]
        likelihoods.append([one.p if one is not None and one.sought == sought else b for one in own] + [b])
    totals = [sum(column) for column in zip(*likelihoods, strict=True)]
    # Answers exclude each other here; where their shares add up to more than all, they are scaled down.
    likelihoods = [[x / max(1.0, total) for x, total in zip(row, totals, strict=True)] for row in likelihoods]
    likelihoods.append([max(0.0, 1.0 - total) for total in totals])
    joint = [[x * share for x, share in zip(row, causes, strict=True)] for row in likelihoods]
    return _entropy(causes) - sum(sum(row) * _entropy(row) for row in joint)


def _entropy(weights: list[float]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w > 0) if total > 0 else 0.0


def _askable(leading: tuple[tuple[Scored, float], ...], facts: Facts) -> dict[str, dict[str, Answer]]:
    """By kind of evidence: the most telling clue of each leading cause that could not be looked for."""
    found: dict[str, dict[str, Answer]] = defaultdict(dict)
    for scored, _ in leading:
        cause = scored.signature.cause
        for kind, answer in _unseen(scored, facts):
            if kind in _OF_A_CRASH and _only_raised(facts.crash):
                continue
            held = found[kind].get(cause)
            if answer.p > answer.b and (held is None or _telling(answer) > _telling(held)):
                found[kind][cause] = answer
    return {kind: clues for kind, clues in found.items() if clues}


def _unseen(scored: Scored, facts: Facts) -> Iterator[tuple[str, Answer]]:
    for term in scored.terms:
        if isinstance(term.finding, Unseen):
            for kind in facts.missing_kinds(term.clue):
                # An exception is read from the log, so the log is what is missing.
                yield "log" if kind == "exception" else kind, Answer(term.clue.sought, term.clue.p, term.clue.b)


def _telling(answer: Answer) -> float:
    return answer.p * math.log(answer.p / answer.b)


def _only_raised(crash: Crash) -> bool:
    """Whether all that is known is a Python exception."""
    died = crash.exit is not None and crash.exit.is_death
    return bool(crash.exceptions) and not died and not any(thread.crashed for thread in crash.threads)


def _hidden_log(crash: Crash) -> list[Question]:
    """The log that would decide was not printed: nothing else is worth trying first."""
    if crash.environment.hidden_log is None or crash.rerun is None:
        return []
    ask = f"What does TensorFlow's own log say? It was hidden ({crash.environment.hidden_log})."
    return [Question(ask, quoting(crash.run_with_log, crash.rerun), (), "hidden log")]


def _status_advice(crash: Crash, knowledge: Knowledge) -> list[Question]:
    """What the page of this exit status says to do first; a program that we ran has done it."""
    if crash.exit is None or not crash.exit.is_death:
        return []
    page = knowledge.status_page(crash.exit)
    advice = page.get("next")
    if not advice or (crash.rerun and "triage run" in advice):
        return []
    return [Question(advice, None, tuple(page.get("causes") or ())[:3])]
