"""Python exceptions: whole tracebacks, chains of them, and the bare last line that people paste."""

from __future__ import annotations

from collections.abc import Sequence

from triage.crash import Log, PythonException, PythonFrame
from triage.patterns import compile as pattern

_START = "Traceback (most recent call last)"
_FRAME = r'^\s*File "(.+)", line (\d+)(?:, in (.+))?$'
_IPYTHON_FRAME = r"^(?:File )?([^\s:(]+\.py|<ipython-input[^>]*>|Cell In\[\d+\])(?::(\d+)|, line (\d+))?,? in (.+)$"
_LAST_LINE = (
    r"^(?:E\s{3,})?((?:[A-Za-z_]\w*\.)*_?[A-Z]\w*"
    r"(?:Error|Exception|Interrupt|Exit|Exceeded|Group|Pool|Loss|It))(?:: ?(.*))?$"
)
_LINKS = {
    "During handling of the above exception": "context",
    "The above exception was the direct cause": "cause",
}
# Where the text of an exception is over: something else has started to speak.
_OVER = (
    r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d|[IWEF]\d{4} \d\d:|[IWEF] \S+\.(?:cc|h):\d+\]|Process finished|Fatal Python error|"
    r"Epoch \d+/|\$ |>>> |Segmentation fault|Aborted|Killed|terminate called|Exception ignored in|\[\w+\] )"
)
_BOILERPLATE = (
    r"^(?:Graph execution error:|in user code:|Detected at node|<stack traces unavailable>|Node: |"
    r"  • |Arguments received by|Exception encountered when calling|\d+ root error\(s\) found|"
    r"Call arguments received|\s*File \"|\s*$)"
)
_LONGEST_LINE = 8192
_LONGEST_MESSAGE = 80


def extract(log: Log) -> tuple[PythonException, ...]:
    """Every exception in the order of the text."""
    if (
        "Error" not in log.text
        and "Exception" not in log.text
        and _START not in log.text
        and "Interrupt" not in log.text
    ):
        return ()
    lines = list(log.lines())
    found: list[PythonException] = []
    link: str | None = None
    frames: list[PythonFrame] | None = None
    at = 0
    while at < len(lines):
        offset, line = lines[at]
        at += 1
        if len(line) > _LONGEST_LINE:
            continue
        if _START in line:
            frames = []
        elif told := next((kind for words, kind in _LINKS.items() if line.strip().startswith(words)), None):
            link, frames = told, None
        elif frames is not None and (frame := _frame(line)):
            frames.append(frame)
        elif last := pattern(_LAST_LINE).match(line):
            if frames is None and not _names_an_exception(last[1]):
                continue
            message, at = _message(last[2] or "", lines, at)
            stack = tuple(reversed(frames or ()))
            found.append(PythonException(last[1], message, _gist(message), stack, link, log.place(offset), offset))
            link = frames = None
    return tuple(found)


def _frame(line: str) -> PythonFrame | None:
    if match := pattern(_FRAME).match(line):
        return PythonFrame(match[1], int(match[2]), match[3] or "<module>")
    if match := pattern(_IPYTHON_FRAME).match(line):
        number = match[2] or match[3]
        return PythonFrame(match[1], int(number) if number else None, match[4])
    return None


def _names_an_exception(type_name: str) -> bool:
    """Whether a line without a traceback is believed: `Error: ...` alone is what every other program prints."""
    return type_name not in ("Error", "Exception", "Exit", "CMake.Error")


def _message(first: str, lines: Sequence[tuple[int, str]], at: int) -> tuple[str, int]:
    """The message with the lines it goes on over, and where the text after it starts."""
    parts = [first]
    while at < len(lines) and len(parts) < _LONGEST_MESSAGE:
        line = lines[at][1]
        if _START in line or pattern(_OVER).match(line) or pattern(_LAST_LINE).match(line) or len(line) > _LONGEST_LINE:
            break
        if any(line.strip().startswith(words) for words in _LINKS):
            break
        if not line.strip() and at + 1 < len(lines) and not lines[at + 1][1].strip():
            break
        parts.append(line)
        at += 1
    return "\n".join(parts).strip(), at


def _gist(message: str) -> str:
    """The sentence of a message that tells something: Keras and graph errors bury it under their own framing."""
    lines = message.split("\n")
    for number, line in enumerate(lines):
        if pattern(_BOILERPLATE).match(line) or (number and line.startswith("    ") and "Error:" not in line):
            continue
        return line.strip()
    return lines[0].strip()
