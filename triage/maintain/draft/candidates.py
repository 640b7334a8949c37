"""What in a log could be a clue, the most specific first, and its message as a pattern for the next time.

In a pattern, what differs from run to run becomes a character class; the words stay.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Any, NamedTuple

from triage import patterns
from triage.clues import parse_clue, patterns_of
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.crash import Crash, PythonException, base_name
from triage.diagnosis.notices import is_noise
from triage.frames import distinctive, function_name
from triage.knowledge.database import Knowledge
from triage.knowledge.lint import LEAST_LITERAL, pattern_problems

# Words of an error message, for programs that do not use TensorFlow's log.
_COMPLAINT = (
    r"(?i)\b(?:error|fatal|fail(?:ed|ure|s)?|abort(?:ed|ing)?|panic|cannot|can.t|could not|unable to|denied|refused"
    r"|unreachable|exceeded|invalid|missing|not found|timed out|expired|corrupt(?:ed)?|lost|ended)\b"
)
# Lines of a stack, of a traceback's code and of faulthandler: their content is in the frames.
_FRAME = (
    r'^\s+|^  ?File "|^Traceback|^Fatal Python error|^Current thread|^Thread 0x|^Extension modules|^\*\*\*'
    r"|^\[[\w-]+:\d+|core dumped|^(?:Aborted|Bus error|Segmentation fault|Killed)|abort\(\) called"
)
# Lines that become candidates in another way: as a record of TensorFlow's log or as an exception.
_READ_ALREADY = r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Exit|Warning)\b|^[IWEF]\d{4} |: [IWEF] \S+\.cc:\d+\]"
_WHAT = r"^\s*what\(\):\s+(\S.+)$"
# What Keras and eager execution append to a message: the op's name once more.
_OP_SUFFIX = r"\s*\[Op:\w+\](?: name:.*)?$"
_LEAST_WORDS = 2
_MOST_LINES = 40
_LONGEST = 140
# Tried in this order at each position; a character that none of them matches stays as it is.
_PARTS = (
    r"(?P<hidden><(?:user|token|email)-\d+>)"
    r"|(?P<url>[a-z]{2,8}://[^\s'\",]+)"
    r"|(?P<drive>\b[A-Za-z]:[\\/][^\s'\"<>|:,]*)"
    r"|(?P<path>(?:~|\.{1,2})?/[\w.+@<>-]+(?:/[\w.+@<>-]*)+)"
    r"|(?P<status>\b0x[CE][0-9A-Fa-f]{7}\b)"
    r"|(?P<address>\b0x[0-9A-Fa-f]+)"
    r"|(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{14,})"
    r"|(?P<source>\.(?:cc|cpp|cu|h|py):\d+)"
    r"|(?P<shape>[\[(]\d+(?:, ?\d+)+,?[\])])"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>\d+(?:[.:,]\d+)*)"
    r"|(?P<space>\s+)"
)
_CLASSES = {
    "hidden": r"\S+",
    "url": r"\S+",
    "drive": r"\S+",
    "path": r"\S+",
    "address": "0x[0-9a-fA-F]+",
    "id": "[0-9a-f-]+",
}
_SPECIAL = frozenset("\\.^$*+?{}[]|()")
# The word before a value, which names its group.
_NAMED_BY = r"(?:^|[^A-Za-z_])([a-z][a-z_]{2,19})[ :=(\[]{1,2}$"
_MOST_NAMES = 3


class Candidate(NamedTuple):
    """A clue as YAML will hold it, the words of the log it is made from, and those words without this run's values."""

    clue: dict[str, Any]
    words: str
    gist: str
    is_text: bool = True


def candidates(crash: Crash, knowledge: Knowledge, healthy: list[str]) -> list[Candidate]:
    """Everything that could be a clue and is found in this crash, but is neither noise nor in a healthy log."""
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
    """Whether two are made from the same words: one line may be both an exception and an error line."""
    return one.words in other.words or other.words in one.words


def exit_clue(crash: Crash) -> dict[str, Any] | None:
    """The exit status as a clue, where it is a death of its own kind."""
    status = crash.exit
    # Every exception ends with exit 1: as a clue it would speak for this cause in all of them.
    if status is None or not status.is_death:
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
    # The last exception ended the program; the first may be where it began.
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
    pattern = rf"{_escape(file)}:\d+\] {general.pattern}" if file else general.pattern
    clue = {"id": id, "log": pattern, "p": 0.9, "b": 0.001, "says": f"it says: {general.says}"}
    return Candidate(clue, _shorten(message), general.gist)


def _exception(error: PythonException) -> Candidate | None:
    """The exception by type and message."""
    if error.short_type == "KeyboardInterrupt":
        return None
    words = _shorten(patterns.compile(_OP_SUFFIX).sub("", (error.gist or error.message).split("\n")[0]))
    name = error.short_type
    sought = {"type": rf"(?:^|\.){_escape(name)}$"}
    if not words and error.type == name:
        return None  # a bare built-in exception can come from anything
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
            sought = {"file": rf"{_escape(file)}$", "function": f"^{_escape(frame.function)}$", "within": 1}
            clue = {"id": "python-frame", "python": sought, "p": 0.8, "b": 0.005}
            says = f"{frame.function} in {file} was running"
            yield Candidate({**clue, "says": says}, frame.function, f"A crash in {frame.function}", is_text=False)
    for native in [distinctive(thread.native_stack)[0] for thread in crashed if thread.native_stack][:1]:
        plain = function_name(native.function or "").split("(")[0].split("<")[0].split("+")[0]
        if len(plain) >= LEAST_LITERAL:
            clue = {"id": "frame", "native": {"function": _escape(plain), "within": 10}, "p": 0.7}
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


class General(NamedTuple):
    """A message without the values of one run: as a pattern, as a sentence with {groups}, and with gaps instead."""

    pattern: str
    says: str
    gist: str


def generalise(message: str) -> General:
    """What messages like this have in common; a number after a word becomes a group with that name."""
    text = _shorten(message)
    pieces: list[tuple[str, str, str]] = []
    names: set[str] = set()
    done = 0
    for found in patterns.compile(_PARTS).finditer(text):
        pieces.append(_kept(text[done : found.start()]))
        kind = next(name for name, value in found.groupdict().items() if value is not None)
        pieces.append(_piece(kind, str(found[0]), text[: found.start()], names))
        done = found.end()
    pieces.append(_kept(text[done:]))
    return General(*("".join(parts) for parts in zip(*pieces, strict=True)))


def _kept(text: str) -> tuple[str, str, str]:
    """Text that stays; a brace in a sentence would be taken for a placeholder."""
    plain = text.replace("{", "(").replace("}", ")")
    return _escape(text), plain, plain


def _escape(text: str) -> str:
    """The text as a pattern that matches only it."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


def _shorten(message: str) -> str:
    """The first line; of a long line only the first sentence, or as many whole words as fit."""
    text = message.strip().split("\n", 1)[0].rstrip()
    if len(text) <= _LONGEST:
        return text
    for end in (". ", "; ", ": "):
        at = text.find(end, 40, _LONGEST)
        if at > 0:
            return text[:at]
    return text[:_LONGEST].rsplit(" ", 1)[0]


def _piece(kind: str, text: str, before: str, names: set[str]) -> tuple[str, str, str]:
    """A part of a message as a pattern, in a sentence with {groups}, and in one with gaps."""
    if kind in _CLASSES:
        return _CLASSES[kind], "…", "…"
    if kind == "source":
        name = text.split(":")[0]
        return _escape(name) + r":\d+", name, name
    if kind == "shape":
        pattern, says, gist = _named(before, r"[\d, ]+", names)
        return _escape(text[0]) + pattern + _escape(text[-1]), text[0] + says + text[-1], text[0] + gist + text[-1]
    if kind == "number":
        return _named(before, r"\d+" if text.isdigit() else r"\d[\d.:,]*", names)
    if kind == "space":
        return " " if text == " " else r"\s+", " ", " "
    return _word(text) if kind == "word" else _kept(text)


def _word(text: str) -> tuple[str, str, str]:
    """A word; the number at the end of conv2d_1 counts instances, a long mix of letters and digits is random."""
    digits = sum(character.isdigit() for character in text)
    if len(text) >= 12 and digits >= 4:
        return r"\w+", "…", "…"
    stem, underscore, number = text.rpartition("_")
    return (rf"{stem}_\d+", stem, stem) if underscore and stem and number.isdigit() else (text, text, text)


def _named(before: str, what: str, names: set[str]) -> tuple[str, str, str]:
    match = patterns.compile(_NAMED_BY).search(before)
    name = str(match[1]) if match else ""
    if not name or name in names or len(names) >= _MOST_NAMES or keyword.iskeyword(name):
        return what, "…", "…"
    names.add(name)
    return f"(?P<{name}>{what})", f"{{{name}}}", "…"
