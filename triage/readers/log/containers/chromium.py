"""Chromium and V8: fatal log lines, their signal handler, and the stacks below; other programs that use their logging.

Where a sanitizer caught the end of it, its report has the better stack.
"""

from __future__ import annotations

from triage import digits, patterns
from triage.crash import Log, NativeFrame, RuntimeMessage, Thread, base_name
from triage.readers.log.containers.interface import ContainerFacts, longest_line
from triage.readers.log.containers.printed_stacks import FrameLine, by_lines, numbered_frames, qualified_name

TRIGGERS = (
    "FATAL:",
    "Fatal error in ",
    "# Fatal ",
    "# Check failed",
    "# Debug check failed",
    "C stack trace ===",
    "# Runtime error in",
    "[end of stack trace]",
    "Received signal ",
    "Check failed: ",
    "CHECK failed",
    "CHECK(",
    "ASSERTION FAILED",
    "ASSERT FAILED",
    "assert failure",
    "Assertion failed",
    "abort: ",
    "JavaScript assertion failed",
    "## V8 sandbox violation",
    "# V8 correctness failure",
)
_FATAL = (
    # [pid:tid:date/time:FATAL:file.cc(12)] text, glog's one-letter form for sources that are not TensorFlow's
    r"\bFATAL:[\w./\\-]+(?:\(\d+\)|:\d+)\] ?(?P<text>[^\n]+)$",
    r"^\W{0,4}(?:[Ff]atal|Runtime|Debug) (?:error|check) in (?P<text>[^\n]+(?:\n# [^\n]+)?)$",
    r"^# (?P<text>(?:Fatal error|Fatal [A-Za-z ]*out of memory|(?:Debug )?[Cc]heck failed|V8 correctness failure"
    r"|Fatal JavaScript)\b[^\n]*(?:\n# [^\n]+)?)$",
    r"^(?:[^\n]{0,80}[\]):] )?(?P<text>(?:Security )?(?:D?CHECK|[Cc]heck) (?:failed|failure): [^\n]+)$",
    r"^(?:[^\n]{0,120}[\]):] )?(?P<text>CHECK(?:_\w+)?\([^\n]*\) failed[^\n]*)$",
    r"^(?:[^\n]{0,120}[\]):] )?(?P<text>(?:ASSERTION FAILED|ASSERT FAILED|assert failure|Assertion failed): [^\n]+)$",
    r"^(?P<text>abort: [^\n]+)$",
    r"^## (?P<text>V8 sandbox violation detected[^\n]*)$",
)
_WINDOWS = (
    r"^[ \t]+(?P<function>[^\s\[][^\n\[]*?) \[0x[0-9A-Fa-f]+(?:\+\d+)?\](?: \((?P<file>[^():\n]+"
    r"(?::\\[^():\n]+)?):(?P<line>\d+)\))?[ \t]*$"
)
_MACOS = r"^\d+ +(?P<module>\S(?:[^\n]*?\S)?)\s+0x[0-9a-f]{8,16} (?P<function>[^\n]+?) \+ (?P<offset>\d+)[ \t]*$"
_SYMBOLS = (
    r"^[ \t]*(?P<path>/[^\s()]+|[\w.-]+\.so[\w.]*)\((?P<function>[^()\s+]*)(?:\+0x"
    r"(?P<offset>[0-9a-f]+))?\) ?\[0x[0-9a-f]+\]"
)
_OF_A_SANITIZER = r"(?:ERROR|WARNING): \w*Sanitizer: |ERROR: libFuzzer: |: runtime error: "
_LONGEST = 400


def extract(log: Log) -> ContainerFacts:
    """The fatal lines, and the stack that follows them."""
    messages: dict[int, RuntimeMessage] = {}
    for form in _FATAL:
        for match in patterns.compile(form).finditer(log.text):
            start = log.text.rfind("\n", 0, match.start()) + 1
            at, text = longest_line(log, match.end() - len(match["text"]), match.end())
            messages.setdefault(start, RuntimeMessage("assertion", text.strip("# ")[:_LONGEST], log.place(at), at))
    handled = "Received signal " in log.text or "[end of stack trace]" in log.text
    if not messages and not handled:
        return ContainerFacts()
    caught = patterns.compile(_OF_A_SANITIZER).search(log.text) is not None
    return ContainerFacts(messages=tuple(messages.values()), threads=() if caught else _threads(log))


def _threads(log: Log) -> tuple[Thread, ...]:
    lines = numbered_frames(log)
    for form in (_SYMBOLS, _MACOS, _WINDOWS):
        if lines:
            break
        for number, match in enumerate(patterns.compile(form).finditer(log.text)):
            lines.append(FrameLine(number, match.start(), _frame(match.groupdict())))
    stacks = [stack for stack in by_lines(log, lines) if any(frame.function or frame.module for frame in stack.frames)]
    return tuple(Thread("", True, (), stack.frames, log.place(stack.offset)) for stack in stacks)


def _frame(fields: dict[str, str | None]) -> NativeFrame:
    path = fields.get("path") or fields.get("module")
    function, file = fields["function"], fields.get("file")
    offset = digits.whole(fields.get("offset"), 16 if fields.get("path") else 10)
    source = f"{base_name(file)}:{fields['line']}" if file else None
    return NativeFrame(
        base_name(path) if path else None, qualified_name(function) if function else None, offset, source=source
    )
