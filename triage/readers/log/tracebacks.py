"""Python exceptions: whole tracebacks, chains of them, and the bare last line that people paste."""

from __future__ import annotations

from triage import digits
from triage.crash import Link, Log, PythonException, PythonFrame, Thread
from triage.patterns import compile as pattern

_START = "Traceback (most recent call last)"
# A web page takes `<module>` for a tag and drops it.
_FRAME = r'^\s*File "(.+)", line (\d+)(?:, in ?(.*))?$'
# A frame where no traceback has begun: without its function the line is a SyntaxError's.
_FRAME_BY_ITSELF = r'^(?:\s*File ".+", line \d+, in\b|File [^\s"][^"]*\.py:\d+, in \S)'
# A narrow console broke this one in two.
_HALF_A_FRAME = r'^\s*File "[^"]+",$'
_OTHER_HALF = r"^\s*line \d+"
# Above frames that show where an operation was made, which is not where it failed.
_OF_THE_OPERATION = r"\bdefined at:?(?: \(most recent call last\):?)?$|^\s*Original stack trace for "
_IPYTHON_FRAME = (
    r"^(?:File )?((?:[A-Za-z]:)?[^\s:(]+\.py|<ipython-input[^>]*>|(?:Cell|Input) In ?\[\d+\])(?::(\d+)|, line (\d+))?"
    r"(?:,? in (.+))?$"
)
# A script with wrong syntax has no traceback around the line.
_SYNTAX_FRAME = r'^  File "[^"]+", line \d+$'
# Notebooks and rich mark the line of a frame among its neighbours.
_ARROW = r"^\s*(?:-{2,}>|❱) ?(?P<line>\d+)\s*(?P<code>.*)$"
_NUMBERED = r"^\s*\d+\s"
# A notebook names the exception above the frames, so it is known even where the end was cut off.
_HEADED = r"^([A-Z]\w*(?:Error|Exception|Interrupt|Exit))\s{2,}Traceback \(most recent call last\)"
_ENDINGS = ("Error", "Exception", "Interrupt", "Exit", "Exceeded", "Group", "Pool", "Loss", "It")
_LAST_LINE = (
    r"^(?:E\s{3,})?((?:[A-Za-z_]\w*\.)*_?[A-Z]\w*"
    r"(?:(?:Error|Exception) ?|Interrupt|Exit|Exceeded|Group|Pool|Loss|It))(?:\(\w+\))?(?:: ?(.*))?$"
)
# pytest: the heading of a test, the lines that it marks, and the places in its long, short and one-line forms.
_PYTEST_HEADINGS = ("= FAILURES =", "= ERRORS =", "ImportError while loading conftest '")
_PYTEST_TEST = r"^_{3,} .+ _{3,}$"
_PYTEST_ASSERTED = r"^E\s{3,}(?P<text>.*)$"
_PYTEST_MARKED = r"^>\s{3,}(?P<code>.*)$"
_PYTEST_FRAME = (
    r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.py):(?P<line>\d+):(?: in (?P<function>.+)"
    r"| (?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: (?P<text>.*))?"
    r"| (?P<assertion>assert .*))?$"
)
# What a worker's traceback is quoted in.
_REMOTE_END = '"""'
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
# Keras names the size of each array in a line of its own.
_SIZES = r"^'?\w+'? sizes: "
_NODE_PREFIX = r"^\{\{function_node [^}]*\}\} ?"
_LONGEST_LINE = 8192
_LONGEST_MESSAGE = 80


def extract(log: Log) -> tuple[PythonException, ...]:
    """Every exception in the order of the text."""
    if not any(word in log.text for word in (_START, _NOT_IMPORTED, *_PYTEST_HEADINGS, *_ENDINGS)):
        return ()
    return _read(log).exceptions


def cut_off(log: Log) -> tuple[Thread, ...]:
    """The stack of a traceback whose last line is missing: nothing tells what was raised, or whether that ended it."""
    if 'File "' not in log.text and _START not in log.text:
        return ()
    return _read(log).unfinished


def _read(log: Log) -> _Reading:
    reading = _Reading(log)
    framed = _is_framed(log)
    box = _Box() if framed else None
    indent = _common_indent(log)
    for offset, whole in log.lines():
        # The beginning of a long message names what failed.
        line = whole[:_LONGEST_LINE]
        if box is not None:
            if pattern(_MEMBER).search(line):
                reading.begin_member()
                continue
            unboxed = box.text_of(line)
            if unboxed is None:
                continue
            if box.runs_on(line) and reading.goes_on(unboxed):
                continue
            line = unboxed
        elif _START in line and (indented := pattern(_INDENTED).match(line)):
            # doctest and other reports quote a traceback within their own text.
            indent = indented[1]
        if indent:
            inside = line.startswith(indent) or not line
            indent = indent if inside else ""
            line = line[len(indent) :] if inside else line
        reading.take(line, offset)
    reading.end()
    return reading


class _Reading:
    """The exceptions found so far, and the one that is being read."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._by_pytest = any(heading in log.text for heading in _PYTEST_HEADINGS)
        self._found: list[PythonException] = []
        self._message: _Message | None = None
        self._link: Link | None = None
        # The frames of a traceback that has begun, the innermost last; None outside of one.
        self._frames: list[PythonFrame] | None = None
        self._has_header = False
        # The source line of the innermost frame, as soon as it is printed.
        self._code: str | None = None
        # Where the frames begin, whether without a heading, and whether their lines have lost their indentation.
        self._starts_at = 0
        self._is_by_itself = False
        self._is_flat = False
        # Whether the next frames are of the place where an operation was made.
        self._of_the_operation = False
        self._half: str | None = None
        self._cut_off: list[tuple[bool, Thread]] = []
        # A notebook's heading names the exception; Atheris prints its stack below the message.
        self._headed: tuple[str, int] | None = None
        self._above: int | None = None
        # What pytest said below the heading of this test before it named the exception.
        self._asserted: tuple[str, int] | None = None

    def begin_member(self) -> None:
        """The next exception is a member of a group."""
        self._finish()
        self._link, self._frames = "member", None

    def goes_on(self, line: str) -> bool:
        """Take a line as the rest of the message's last one, which a console was too narrow for."""
        if self._message is None or not line:
            return False
        self._message.go_on(line)
        return True

    def take(self, line: str, offset: int) -> None:
        """Read the next line."""
        if self._by_pytest and self._takes_of_pytest(line, offset):
            return
        if pattern(_HALF_A_FRAME).match(line):
            self._half = line
            return
        if self._half is not None:
            line = f"{self._half} {line.lstrip()}" if pattern(_OTHER_HALF).match(line) else line
            self._half = None
        joined = _link(line)
        in_traceback = bool(self._frames) and self._has_header and not self._is_flat
        last = None if joined else _last_line(line, in_traceback=in_traceback)
        message = self._message
        inside: list[PythonFrame] = []
        if message is not None and (joined or last or _START in line or message.is_over_with(line)):
            inside = message.give_frames() if last and self._frames is None else []
            self._finish()
        if _START in line:
            self._begin(line, offset)
        elif joined:
            self._link, self._frames = joined, None
        elif last:
            frames = self._frames or inside
            self._name(last, frames, offset)
        elif self._message is not None:
            self._message.add(line)
        elif (frame := _frame(line)) and self._takes_frame(line):
            if not self._frames:
                self._has_header = self._has_header and self._frames is not None
                self._is_by_itself = self._frames is None and not pattern(_SYNTAX_FRAME).match(line)
                self._starts_at = offset
            self._is_flat = line.startswith("File ")
            self._frames = [*(self._frames or ()), frame]
            self._code = None
            if self._above is not None:
                self._found[self._above] = self._found[self._above]._replace(frames=tuple(reversed(self._frames)))
        elif self._frames and self._is_by_itself and not self._is_code(line):
            self._leave()
        elif self._frames:
            self._take_code(line)
        else:
            self._of_the_operation = _shows_the_operation(line, so_far=self._of_the_operation)

    def end(self) -> None:
        """The text is over; a notebook's heading stands for an exception whose last line was cut off."""
        self._finish()
        if self._headed is not None:
            name, offset = self._headed
            stack = tuple(reversed(self._frames or ()))
            self._found.append(PythonException(name, "", "", stack, self._link, self._log.place(offset), offset))
        else:
            self._leave()

    @property
    def exceptions(self) -> tuple[PythonException, ...]:
        """Every exception in the order of the text."""
        return tuple(self._found)

    @property
    def unfinished(self) -> tuple[Thread, ...]:
        """The longest stack that no exception was named below, one with its heading before all others."""
        best = max(self._cut_off, key=lambda one: (one[0], len(one[1].python_stack)), default=None)
        return (best[1],) if best else ()

    def _takes_frame(self, line: str) -> bool:
        """Whether a frame belongs to a stack: it has begun, or this line begins one whose heading was cut off."""
        if self._frames is not None:
            return True
        by_itself = pattern(_FRAME_BY_ITSELF).match(line) and not self._of_the_operation
        return bool(by_itself or pattern(_SYNTAX_FRAME).match(line))

    def _leave(self) -> None:
        """No exception is named below the frames."""
        if self._frames and self._above is None and (self._has_header or self._is_by_itself):
            stack = tuple(reversed(self._frames))
            self._cut_off.append((self._has_header, Thread(python_stack=stack, place=self._log.place(self._starts_at))))
        self._frames = None

    def _begin(self, line: str, offset: int) -> None:
        self._leave()
        found = self._found
        self._above = len(found) - 1 if found and _UNCAUGHT in _line_above(self._log, found[-1].offset) else None
        self._frames, self._has_header, self._code = [], True, None
        heading = pattern(_HEADED).match(line)
        self._headed = (heading[1], offset) if heading else None

    def _is_code(self, line: str) -> bool:
        """Whether a line below a frame may be the source of it."""
        return line.startswith("    ") or (self._is_flat and self._code is None and bool(line))

    def _name(self, last: tuple[str, str], frames: list[PythonFrame], offset: int) -> None:
        if self._headed is not None and self._headed[0] != last[0].rsplit(".", 1)[-1]:
            # The frames are those of the exception that was named above them, whose end was cut out.
            self._leave()
            frames = []
        by_raise = None if self._code is None else self._code.startswith("raise")
        stack = tuple(reversed(frames))
        error = PythonException(last[0], "", "", stack, self._link, self._log.place(offset), offset, by_raise)
        self._message = _Message(error, last[1])
        self._link = self._frames = self._headed = self._code = None

    def _finish(self) -> None:
        if self._message is not None:
            self._found.append(self._message.whole)
            self._message = None

    def _take_code(self, line: str) -> None:
        """The source line of the innermost frame; where a notebook's frame has no number, an arrow tells it."""
        arrow = pattern(_ARROW).match(line)
        if arrow is not None and self._frames:
            self._code = arrow["code"]
            if self._frames[-1].line is None:
                self._frames[-1] = self._frames[-1]._replace(line=digits.whole(arrow["line"]))
        elif self._code is None and self._is_code(line) and not pattern(_NUMBERED).match(line):
            self._code = line.strip()

    def _takes_of_pytest(self, line: str, offset: int) -> bool:
        """Read a line of the form that only pytest prints."""
        if pattern(_PYTEST_TEST).match(line):
            self._finish()
            self._frames, self._has_header, self._code, self._asserted = [], False, None, None
            self._link = "member" if self._found else None
            return True
        if match := pattern(_PYTEST_ASSERTED).match(line):
            if self._message is not None and not _last_line(line, in_traceback=False):
                self._message.add(match["text"])
                return True
            self._asserted = self._asserted or (match["text"], offset)
            return False
        if match := pattern(_PYTEST_MARKED).match(line):
            self._code = match["code"]
            return True
        if not (match := pattern(_PYTEST_FRAME).match(line)):
            return False
        self._finish()
        frame = PythonFrame(match["file"], digits.whole(match["line"]), match["function"] or "")
        name, text = match["name"], match["text"]
        if match["assertion"] is not None:
            name, text = "AssertionError", match["assertion"]
        if name is not None and text is not None and name.endswith("Warning"):
            return False
        if name is None:
            self._frames = [*(self._frames or ()), frame]
            self._code = None
        elif self._found and self._found[-1].short_type == name.rsplit(".", 1)[-1] and text is None:
            # The long form names the place below the message.
            last = self._found[-1]
            self._found[-1] = last._replace(frames=(frame, *last.frames))
            self._frames = None
        else:
            said, at = self._asserted or ("", offset)
            stack = [*(self._frames or ()), frame]
            self._name((name, said if text is None else text), stack, at)
            self._finish()
        return True


# Atheris names the exception above its frames, below this line.
_UNCAUGHT = "Uncaught Python exception"
# What draws a frame around a traceback: the margins of an exception group, the boxes of rich.
_GROUP = "Exception Group Traceback"
_MEMBER = r"^\s*\+-\+?-{2,} (?:\d+|\.\.\.) -{2,}$|─ Sub-exception #\d+ ─"
_MARGIN = r"^\s*(?:\+-\+?-{2,}[^|]*|[|+]) ?"
_BOX = r"^\s*[│|] ?(?P<text>.*?)\s*[│|]?$"
_EDGES = ("│", "|")
# A box may stand in the box of a group, and the values of variables in one of their own.
_NESTED = 8
# The place of a frame as rich writes it, and one that was too long for the width of the box.
_PLACE_IN_BOX = r"^(?:[A-Za-z]:)?[/\\~][^│]*:\d+ in \S"
_BROKEN_PLACE = r"^(?:[A-Za-z]:)?[/\\~]\S*(?::\d+)?(?: in)?$"
_NEEDS_SPACE = r"(?::\d+| in)$"
_MOST_PIECES = 4
# A traceback inside other text, as doctest prints it.
_INDENTED = r"^([ \t]+)Traceback \(most recent call last\):$"


# How far a whole text is indented where it was pasted as a block.
_A_BLOCK = 4


def _common_indent(log: Log) -> str:
    """What all lines begin with, where that is as much as a block of a form or a chat has."""
    common: str | None = None
    for _, line in log.lines():
        if line.strip():
            own = line[: len(line) - len(line.lstrip())]
            while common is not None and not own.startswith(common):
                common = common[:-1]
            common = own if common is None else common
            if not common:
                return ""
    return common if common and (len(common) >= _A_BLOCK or "\t" in common) else ""


def _shows_the_operation(line: str, *, so_far: bool) -> bool:
    """Whether the frames below this line show where an operation was made."""
    if "defined at" in line or "Original stack" in line:
        return so_far or bool(pattern(_OF_THE_OPERATION).search(line))
    return so_far and (line.startswith("    ") or _frame(line) is not None)


def _is_framed(log: Log) -> bool:
    return _GROUP in log.text or ("─ " + _START) in log.text or ("- " + _START) in log.text


class _Box:
    """Takes the frame off each line, and puts together what rich broke at its width."""

    def __init__(self) -> None:
        self._width = 0
        self._pieces: list[str] = []
        self._above = 0

    def text_of(self, line: str) -> str | None:
        """The line without its frame; None where the next lines go on with it."""
        if "─ " + _START in line:
            self._width = max(self._width, len(line.strip()))
        text = _without_frame(line)
        if self._pieces:
            last = self._pieces[-1]
            text = (" " if pattern(_NEEDS_SPACE).search(last) else "").join((last, text.strip()))
        is_boxed = line.lstrip().startswith(_EDGES)
        if is_boxed and len(self._pieces) < _MOST_PIECES and self._is_broken(text):
            self._pieces.append(text)
            return None
        self._pieces = []
        return text

    def runs_on(self, line: str) -> bool:
        """Whether this line below a box is what its width broke off the line above."""
        word = len(line.split(" ", 1)[0])
        above, self._above = self._above, 0 if line.lstrip().startswith(_EDGES) else len(line)
        return bool(self._width and line and line[0] != " " and 0 < above <= self._width < above + 1 + word)

    def _is_broken(self, text: str) -> bool:
        return bool(pattern(_BROKEN_PLACE).match(text)) and not pattern(_PLACE_IN_BOX).match(text)


def _without_frame(line: str) -> str:
    for _ in range(_NESTED):
        if not (line.lstrip().startswith(_EDGES) and line.endswith(_EDGES)):
            break
        box = pattern(_BOX).match(line)
        line = box["text"] if box else line
    else:
        return line
    margin = pattern(_MARGIN).match(line)
    return line[margin.end() :] if margin else line


def _line_above(log: Log, offset: int) -> str:
    end = log.text.rfind("\n", 0, offset)
    return log.line(end - 1) if end > 0 else ""


class _Message:
    """An exception whose message is still being read: it goes on until another kind of line starts."""

    def __init__(self, error: PythonException, first: str) -> None:
        self._error = error
        self._lines = [first]
        self._inside: list[PythonFrame] = []
        # Whether the frames that follow show where an operation was made.
        self._of_the_operation = False

    @property
    def whole(self) -> PythonException:
        """The exception with its message. Frames inside of that lead from its own frames to where it was raised."""
        text = "\n".join(self._lines).strip()
        frames = (*reversed(self._inside), *self._error.frames)
        return self._error._replace(message=text, gist=_gist(text), frames=frames)

    def give_frames(self) -> list[PythonFrame]:
        """The frames inside of the message, for the exception that is named below them."""
        given, self._inside = self._inside, []
        return given

    def is_over_with(self, line: str) -> bool:
        """Whether this line is no longer part of the message."""
        if len(self._lines) >= _LONGEST_MESSAGE or line.strip() == _REMOTE_END or pattern(_OVER).match(line):
            return True
        return not line.strip() and not self._lines[-1].strip() and len(self._lines) > 1

    def go_on(self, line: str) -> None:
        """The last line goes on with this."""
        self._lines[-1] = f"{self._lines[-1].rstrip()} {line.lstrip()}"

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._of_the_operation = _shows_the_operation(line, so_far=self._of_the_operation)
        if not self._of_the_operation and (frame := _frame_inside(line)):
            self._inside.append(frame)


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
    begins_a_name = line[:1].isalpha() or line.startswith("_")
    if in_traceback and begins_a_name and (match := pattern(_ANY_LAST_LINE).match(line)):
        return (match[1], match[2] or "") if match[1].upper() not in _LEVELS else None
    if not any(word in line for word in _ENDINGS):
        return None
    match = pattern(_LAST_LINE).match(line)
    if match is None or match[1].rstrip() in ("Error", "Exception", "Exit"):
        return None
    return match[1].rstrip(), match[2] or ""


def _frame(line: str) -> PythonFrame | None:
    if match := pattern(_FRAME).match(line):
        return _python_frame(match[1], match[2], match[3])
    if match := pattern(_IPYTHON_FRAME).match(line):
        return _python_frame(match[1], match[2] or match[3], match[4])
    return None


def _frame_inside(line: str) -> PythonFrame | None:
    """A frame within a message: in a notebook's form only one that nothing else can be."""
    return _frame(line) if pattern(_FRAME).match(line) or pattern(_FRAME_BY_ITSELF).match(line) else None


def _python_frame(file: str, line: str | None, function: str | None) -> PythonFrame:
    # AutoGraph marks the functions that it converted with a star.
    # A notebook writes the parameters behind the name.
    name = (function or "<module>").split("(", 1)[0].removesuffix("*").rstrip()
    return PythonFrame(file, digits.whole(line), name or "<module>")


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
    if gist == first.strip():
        gist = _with_what_follows(gist, rest)
    return pattern(_NODE_PREFIX).sub("", gist).strip()


_LONGEST_GIST = 240


def _with_what_follows(first: str, rest: list[str]) -> str:
    """The first line with those without which it says nothing: after a colon, and the sizes of several arrays."""
    for line in rest:
        text = line.strip()
        goes_on = first.endswith((":", ",")) or pattern(_SIZES).match(text)
        if not text or not goes_on or len(first) + len(text) > _LONGEST_GIST:
            break
        first = f"{first} {text}"
    return first
