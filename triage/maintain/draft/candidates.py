"""What in a log could be a clue: the lines that tell this failure from others, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from triage import patterns
from triage.clues import parse_clue, patterns_of
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.crash import Crash, PythonException, base_name
from triage.diagnosis.verdict import is_noise
from triage.frames import function_name, telling
from triage.knowledge.database import Knowledge
from triage.knowledge.lint import LEAST_LITERAL, pattern_problems
from triage.maintain.draft.generalising import escape, generalise, shorten

# Words of a line that complains, for programs that do not use TensorFlow's log.
_COMPLAINT = (
    r"(?i)\b(?:error|fatal|fail(?:ed|ure|s)?|abort(?:ed|ing)?|panic|cannot|can.t|could not|unable to|denied|refused"
    r"|unreachable|exceeded|invalid|missing|not found|timed out|expired|corrupt(?:ed)?|lost|ended)\b"
)
# Lines of a stack, of a traceback's code and of faulthandler: what they say is in the frames.
_FRAME = (
    r'^\s+|^  ?File "|^Traceback|^Fatal Python error|^Current thread|^Thread 0x|^Extension modules|^\*\*\*'
    r"|^\[[\w-]+:\d+|core dumped|^(?:Aborted|Bus error|Segmentation fault|Killed)|abort\(\) called"
)
# A line of TensorFlow's log is read as such; an exception's header line as an exception.
_READ_ALREADY = r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Exit|Warning)\b|^[IWEF]\d{4} |: [IWEF] \S+\.cc:\d+\]"
_WHAT = r"^\s*what\(\):\s+(\S.+)$"
# What Keras and eager execution append to a message; it names the op again.
_OP_SUFFIX = r"\s*\[Op:\w+\](?: name:.*)?$"
_LEAST_WORDS = 2
_MOST_LINES = 40


class Candidate(NamedTuple):
    """A clue as YAML will hold it, the words of the log that it stands for, and those without this run's values."""

    clue: dict[str, Any]
    words: str
    gist: str
    is_text: bool = True


def candidates(crash: Crash, knowledge: Knowledge, healthy: list[str]) -> list[Candidate]:
    """Everything that could be a clue and is seen in this crash, but neither noise nor in a healthy log."""
    facts = Facts(crash)
    found: list[Candidate] = []
    for number, one in enumerate((*_texts(crash, knowledge), *_frames(crash))):
        clue = parse_clue(one.clue, ("clues", number), p=0.9)
        if any(_is_useless(kind, pattern, healthy) for kind, pattern in patterns_of(clue)):
            continue
        if isinstance(facts.find(clue.sought), Hit) and not any(_same(one, other) for other in found):
            found.append(one)
    return found


def _same(one: Candidate, other: Candidate) -> bool:
    """Whether two are about the same words: a line may be read as an exception and as a line."""
    return one.words in other.words or other.words in one.words


def exit_clue(crash: Crash) -> dict[str, Any] | None:
    """The exit status as a clue, where it says that something failed."""
    status = crash.exit
    if status is None or not status.is_failure:
        return None
    name = f"0x{status.ntstatus:08X}" if status.ntstatus is not None else status.signal or f"exit {status.code}"
    return {"id": "exit", "exit": name, "p": 0.8}


def _texts(crash: Crash, knowledge: Knowledge) -> Iterator[Candidate]:
    fatal = [record for record in crash.records if record.severity == "F"]
    errors = [r for r in crash.records if r.severity == "E" and not is_noise(r.message, knowledge)]
    for record in fatal[:1]:
        yield _line("fatal-line", record.message, base_name(record.file))
    for log in crash.logs:
        if what := patterns.compile(_WHAT).search(log.text):
            yield _line("what", f"what(): {what[1]}")
    for message in crash.messages[:1]:
        yield _line("last-words", message.text)
    # The last one ended the program; those before it may be where it began.
    for error in (*crash.exceptions[-1:], *crash.exceptions[:1]):
        if raised := _exception(error):
            yield raised
    for number, record in enumerate(reversed(errors[-2:])):
        yield _line(f"error-line-{number + 1}", record.message, base_name(record.file))
    lines = [line for log in crash.logs for _, line in log.lines() if line.strip()][-_MOST_LINES:]
    read, complaint = patterns.compile(f"{_FRAME}|{_READ_ALREADY}"), patterns.compile(_COMPLAINT)
    plain = [
        line for line in lines if not read.search(line) and complaint.search(line) and not is_noise(line, knowledge)
    ]
    for number, line in enumerate(reversed(plain[-2:])):
        yield _line(f"line-{number + 1}", line)


def _line(id: str, message: str, file: str = "") -> Candidate:
    general = generalise(message)
    pattern = rf"{escape(file)}:\d+\] {general.pattern}" if file else general.pattern
    clue = {"id": id, "log": pattern, "p": 0.9, "b": 0.001, "says": f"it says: {general.says}"}
    return Candidate(clue, shorten(message), general.gist)


def _exception(error: PythonException) -> Candidate | None:
    """The exception by type and message; a message of a word or two is not telling by itself, its type is."""
    if error.short_type == "KeyboardInterrupt":
        return None
    words = shorten(patterns.compile(_OP_SUFFIX).sub("", (error.gist or error.message).split("\n")[0]))
    name = error.short_type
    sought = {"type": rf"(?:^|\.){escape(name)}$"}
    if not words and error.type == name:
        return None  # a bare built-in exception is everybody's
    general = generalise(words)
    if words:
        sought["message"] = general.pattern
    clue = {"id": f"raised-{name.lower()}", "exception": sought, "p": 0.9, "b": 0.002}
    says = f"it raised {name}: {general.says}" if words else f"it raised {name}"
    return Candidate({**clue, "says": says}, words or name, f"{name}: {general.gist}" if words else name)


def _frames(crash: Crash) -> Iterator[Candidate]:
    """Where it crashed: the native function, and the Python function that called it."""
    crashed = [thread for thread in crash.threads if thread.crashed]
    for frame in [thread.python_stack[0] for thread in crashed if thread.python_stack][:1]:
        if frame.function != "<module>":
            file = base_name(frame.file.replace("\\", "/"))
            sought = {"file": rf"{escape(file)}$", "function": f"^{escape(frame.function)}$", "within": 1}
            clue = {"id": "python-frame", "python": sought, "p": 0.8, "b": 0.005}
            says = f"{frame.function} in {file} was running"
            yield Candidate({**clue, "says": says}, frame.function, f"A crash in {frame.function}", is_text=False)
    for native in [telling(thread.native_stack)[0] for thread in crashed if thread.native_stack][:1]:
        plain = function_name(native.function or "").split("(")[0].split("<")[0].split("+")[0]
        if len(plain) >= LEAST_LITERAL:
            clue = {"id": "frame", "native": {"function": escape(plain), "within": 10}, "p": 0.7}
            yield Candidate(
                {**clue, "says": f"{plain} is among the innermost native frames"},
                plain,
                f"A crash in {plain}",
                is_text=False,
            )


def _is_useless(kind: str, pattern: str, healthy: list[str]) -> bool:
    if any(pattern_problems(kind, pattern)):
        return True
    if kind != "log":
        return False
    words = patterns.compile(r"[A-Za-z]{2,}").findall(pattern)
    return len(words) < _LEAST_WORDS or any(patterns.compile(pattern).search(text) for text in healthy)
