"""What to find out next: the kind of evidence that is missing and would separate the leading causes."""

from __future__ import annotations

from triage.crash import Crash
from triage.diagnosis.findings import Unseen
from triage.diagnosis.ranking import Ranking
from triage.knowledge.clues import AnyOf, Clue, InSequence
from triage.knowledge.loading import Knowledge
from triage.report import DIAGNOSED, Question

_MOST = 3
# For each kind of clue that can be missing: what to ask, and the command that brings it.
_LOGGED = "triage run --tf-log SCRIPT"
_RUN = "triage run SCRIPT"
_ON_WINDOWS = "python -X faulthandler SCRIPT > crash.log 2>&1"
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


def next_questions(crash: Crash, knowledge: Knowledge, ranking: Ranking, verdict: str) -> tuple[Question, ...]:
    """Questions for an undecided case, the most separating first; none when the cause is found."""
    if verdict == DIAGNOSED:
        return ()
    advice = [*_hidden_log(crash), *_status_advice(crash, knowledge)]
    if crash.rerun is not None:
        # A program that we ran has told everything else already, or cannot tell it.
        return tuple(advice[:_MOST])
    leading = [scored for scored, _ in ranking.causes[:6]]
    missing: dict[str, tuple[float, list[str]]] = {}
    for scored in leading:
        for term in scored.terms:
            for kind in _kinds(term.clue) if isinstance(term.finding, Unseen) else ():
                gain, causes = missing.setdefault(kind, (0.0, []))
                if scored.signature.cause not in causes:
                    causes.append(scored.signature.cause)
                missing[kind] = (gain + term.clue.p - term.clue.b, causes)
    questions = [
        Question(_ASK[kind][0], _command(kind, crash), would_separate=tuple(causes))
        for kind, (_, causes) in sorted(missing.items(), key=lambda item: -item[1][0])
    ]
    return tuple([*advice, *questions][:_MOST])


def _command(kind: str, crash: Crash) -> str:
    """The command that answers a question; `triage run` does not run on Windows yet."""
    command = _ASK[kind][1]
    return _ON_WINDOWS if crash.environment.os == "windows" and command.startswith("triage run") else command


def _hidden_log(crash: Crash) -> list[Question]:
    """The log that would decide was not printed: nothing else is worth trying first."""
    if crash.environment.hidden_log is None or crash.rerun is None:
        return []
    ask = f"What does TensorFlow's own log say? It was hidden ({crash.environment.hidden_log})."
    return [Question(ask, crash.run_with_log, ())]


def _kinds(clue: Clue) -> list[str]:
    """The kinds of evidence that would show a clue, also those inside a combinator."""
    if isinstance(clue.sought, (AnyOf, InSequence)):
        return sorted({kind for inner in clue.sought.clues for kind in _kinds(inner)})
    # An exception is read from the log, so the log is what is missing.
    return ["log" if clue.kind == "exception" else clue.kind]


def _status_advice(crash: Crash, knowledge: Knowledge) -> list[Question]:
    """What the page of this exit status says to do first; a program that we ran has done it."""
    if crash.exit is None or not crash.exit.is_death:
        return []
    page = knowledge.status_page(crash.exit)
    advice = page.get("next")
    if not advice or (crash.rerun and "triage run" in advice):
        return []
    return [Question(advice, None, tuple(page.get("causes") or ())[:3])]
