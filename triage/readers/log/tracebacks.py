"""Python exceptions: whole tracebacks, chains of them, and the bare last line that people paste."""

from __future__ import annotations

from triage import digits
from triage.crash import Link, Log, PythonException, PythonFrame
from triage.patterns import compile as pattern

_START = "Traceback (most recent call last)"
_FRAME = r'^\s*File "(.+)", line (\d+)(?:, in (.+))?$'
_IPYTHON_FRAME = (
    r"^(?:File )?([^\s:(]+\.py|<ipython-input[^>]*>|(?:Cell|Input) In ?\[\d+\])(?::(\d+)|, line (\d+))?"
    r"(?:,? in (.+))?$"
)
# A notebook names the exception above the frames, so it is known even where the end was cut off.
_HEADED = r"^([A-Z]\w*(?:Error|Exception|Interrupt|Exit))\s{2,}Traceback \(most recent call last\)"
_ENDINGS = ("Error", "Exception", "Interrupt", "Exit", "Exceeded", "Group", "Pool", "Loss", "It")
_LAST_LINE = (
    r"^(?:E\s{3,})?((?:[A-Za-z_]\w*\.)*_?[A-Z]\w*"
    r"(?:Error|Exception|Interrupt|Exit|Exceeded|Group|Pool|Loss|It))(?:: ?(.*))?$"
)
# AWS Lambda prints what an import raised behind the name of the handler, without its class, and often within JSON.
_NOT_IMPORTED = "Unable to import module '"
_LAMBDA_LINE = r"Unable to import module '[\w./-]{1,200}': (?P<message>[^\"\n]+)"
_ANY_LAST_LINE = r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: ?(.*))?$"
# A logger's level below a stack that it printed is no exception.
_LEVELS = frozenset(
    ("INFO", "WARN", "WARNING", "ERROR", "DEBUG", "CRITICAL", "FATAL", "TRACE", "NOTE", "NOTICE", "SUMMARY", "VERBOSE")
)
_LINKS: dict[str, Link] = {
    "During handling of the above exception": "context",
    "The above exception was the direct cause": "cause",
}
# How lines start that end an exception's message.
_OVER = (
    r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d|[IWEF]\d{4} \d\d:|[IWEF] \S+\.(?:cc|h):\d+\]|Process finished|Fatal Python error|"
    r"Epoch \d+/|\$ |>>> |Segmentation fault|Aborted|Killed|terminate called|Exception ignored in|\[\w+\] |"
    r"_{3,} |={5,} )"
)
_BOILERPLATE = (
    r"^(?:Graph execution error:|in user code:|Detected at node|<stack traces unavailable>|Node: |"
    r"  • |Arguments received by|Exception encountered when calling|\d+ root error\(s\) found|"
    r"Call arguments received|\s*File \"|\s*$)"
)
_NODE_PREFIX = r"^\{\{function_node [^}]*\}\} ?"
_LONGEST_LINE = 8192
_LONGEST_MESSAGE = 80


def extract(log: Log) -> tuple[PythonException, ...]:
    """Every exception in the order of the text."""
    if not any(word in log.text for word in (_START, _NOT_IMPORTED, *_ENDINGS)):
        return ()
    found: list[PythonException] = []
    link: Link | None = None
    frames: list[PythonFrame] | None = None
    message: _Message | None = None
    headed: tuple[str, int] | None = None
    above: int | None = None

    def finish() -> None:
        nonlocal message
        if message is not None:
            text = message.text
            found.append(message.error._replace(message=text, gist=_gist(text)))
            message = None

    framed = _is_framed(log)
    for offset, whole in log.lines():
        # The beginning of a long message names what failed.
        line = _without_frame(whole[:_LONGEST_LINE]) if framed else whole[:_LONGEST_LINE]
        joined = _link(line)
        last = None if joined else _last_line(line, in_traceback=bool(frames))
        if message is not None and (joined or last or _START in line or message.is_over_with(line)):
            finish()
        if _START in line:
            above = len(found) - 1 if found and _UNCAUGHT in _line_above(log, found[-1].offset) else None
            frames = []
            heading = pattern(_HEADED).match(line)
            headed = (heading[1], offset) if heading else None
        elif joined:
            link, frames = joined, None
        elif last:
            stack = tuple(reversed(frames or ()))
            message = _Message(PythonException(last[0], "", "", stack, link, log.place(offset), offset), last[1])
            link = frames = headed = None
        elif message is not None:
            message.add(line)
        elif frames is not None and (frame := _frame(line)):
            frames.append(frame)
            if above is not None:
                found[above] = found[above]._replace(frames=tuple(reversed(frames)))
    finish()
    if headed is not None:
        name, offset = headed
        stack = tuple(reversed(frames or ()))
        found.append(PythonException(name, "", "", stack, link, log.place(offset), offset))
    return tuple(found)


# Atheris names the exception above its frames, below this line.
_UNCAUGHT = "Uncaught Python exception"
# What draws a frame around a traceback: the margins of an exception group, the boxes of rich.
_GROUP = "Exception Group Traceback"
_MARGIN = r"^\s*(?:\+-\+?-{2,}[^|]*|[|+]) ?"
_BOX = r"^\s*[│|] ?(?P<text>.*?)\s*[│|]?$"


def _is_framed(log: Log) -> bool:
    return _GROUP in log.text or ("─ " + _START) in log.text or ("- " + _START) in log.text


def _without_frame(line: str) -> str:
    if line.lstrip()[:1] in ("│", "|") and line.endswith(("│", "|")):
        box = pattern(_BOX).match(line)
        return box["text"] if box else line
    margin = pattern(_MARGIN).match(line)
    return line[margin.end() :] if margin else line


def _line_above(log: Log, offset: int) -> str:
    end = log.text.rfind("\n", 0, offset)
    return log.line(end - 1) if end > 0 else ""


class _Message:
    """An exception whose message is still being read: it goes on until another kind of line starts."""

    def __init__(self, error: PythonException, first: str) -> None:
        self.error = error
        self._lines = [first]

    @property
    def text(self) -> str:
        return "\n".join(self._lines).strip()

    def is_over_with(self, line: str) -> bool:
        """Whether this line is no longer part of the message."""
        if len(self._lines) >= _LONGEST_MESSAGE or pattern(_OVER).match(line):
            return True
        return not line.strip() and not self._lines[-1].strip() and len(self._lines) > 1

    def add(self, line: str) -> None:
        self._lines.append(line)


def _link(line: str) -> Link | None:
    if "above exception" not in line:
        return None
    return next((kind for words, kind in _LINKS.items() if line.strip().startswith(words)), None)


def _last_line(line: str, *, in_traceback: bool) -> tuple[str, str] | None:
    """Type and message of an exception's last line.

    Below frames any name counts; elsewhere only the name of an exception, and not other programs' `Error: ...`.
    """
    if _NOT_IMPORTED in line and (handler := pattern(_LAMBDA_LINE).search(line)):
        text = handler["message"].strip()
        return "ModuleNotFoundError" if text.startswith("No module named") else "ImportError", text
    if in_traceback and (line[:1].isalpha() or line.startswith("_")):
        match = pattern(_ANY_LAST_LINE).match(line)
        return (match[1], match[2] or "") if match and match[1].upper() not in _LEVELS else None
    if not any(word in line for word in _ENDINGS):
        return None
    match = pattern(_LAST_LINE).match(line)
    if match is None or match[1] in ("Error", "Exception", "Exit"):
        return None
    return match[1], match[2] or ""


def _frame(line: str) -> PythonFrame | None:
    if match := pattern(_FRAME).match(line):
        return PythonFrame(match[1], digits.whole(match[2]), match[3] or "<module>")
    if match := pattern(_IPYTHON_FRAME).match(line):
        number = match[2] or match[3]
        return PythonFrame(match[1], digits.whole(number), match[4] or "<module>")
    return None


def _gist(message: str) -> str:
    """The sentence of a message that matters: Keras and graph errors bury it under their own framing."""
    first, *rest = message.split("\n")
    candidates = [first.strip()]
    for line in rest:
        if embedded := pattern(_LAST_LINE).match(line.strip()):
            # `in user code:` repeats the real error, indented, below the frames that led to it.
            candidates = [embedded[2] or ""]
        elif not line.startswith("    ") or candidates[0] != first.strip():
            candidates.append(line.strip())
    gist = next((line for line in candidates if not pattern(_BOILERPLATE).match(line)), candidates[0])
    return pattern(_NODE_PREFIX).sub("", gist).strip()
