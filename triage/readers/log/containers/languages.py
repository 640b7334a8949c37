"""Uncaught exceptions and panics of other languages' runtimes, with the frames that they print below.

Java, .NET, JavaScript, Go, Rust, Ruby, PHP, Julia, R, Perl, Swift, Haskell, OCaml, Lua and Erlang each say in words of
their own that the program is over. An exception that was only logged is none of these, so a heading counts only in the
form that the runtime itself writes.
"""

from __future__ import annotations

from typing import NamedTuple

from triage import digits, patterns
from triage.crash import Log, NativeFrame, RuntimeMessage, Thread, base_name
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, longest_line

TRIGGERS = (
    "Exception in thread ",
    "FATAL EXCEPTION: ",
    "Java Exception: ",
    "\tat ",
    "    at ",
    "   at ",
    "nhandled exception",
    "nhandled Exception",
    "Process terminated.",
    "Fatal error. ",
    "Exception Info: System",
    "Uncaught ",
    "UnhandledPromiseRejection",
    "panic: ",
    "goroutine ",
    "fatal error: ",
    "' panicked at ",
    "panicked at ",
    "Execution halted",
    ".rb:",
    "PHP Fatal error",
    "Fatal error: ",
    "ERROR: LoadError",
    "Stacktrace:",
    "Stack overflow.",
    "HasCallStack",
    ": Prelude.",
    "<<loop>>",
    "stack traceback:",
    "Kernel pid terminated",
    "erl_crash.dump",
    "eheap_alloc: ",
    "init terminating in do_boot",
    "** (",
    ".pl line ",
    ".pm line ",
)
_MOST_FRAMES = 200
_LONGEST = 400


class _Runtime(NamedTuple):
    """How one runtime announces the end, and how it prints a frame below."""

    heading: str
    frame: str
    # Lines that may stand between the heading and its frames, and between frames.
    between: int = 4


_JAVA_FRAME = (
    r"^\s*at (?:[\w.@-]+//?)*(?P<function>[\w.$]+\.(?:<init>|<clinit>|[\w$]+))\((?:"
    r"(?P<file>[^():\n]+)(?::(?P<line>\d+))?)?\)"
)
_JAVA_CLASS = r"(?:[a-z]\w*\.){1,8}[A-Z][\w$]*(?:Exception|Error|Throwable|Failure|Finding\w*|SecurityIssue\w*)\w*"
_RUNTIMES = (
    # Java and Kotlin; Jazzer's heading; Android's
    _Runtime(
        r'^(?:[^\n]{0,80}?)(?:Exception in thread "[^"\n]*" |== Java Exception: |Uncaught exception: )'
        rf"{_JAVA_CLASS}[^\n]*$"
        rf"|^[^\n]{{0,80}}?FATAL EXCEPTION: [^\n]*(?:\n[^\n]*){{0,2}}?\n[^\n]{{0,80}}?{_JAVA_CLASS}[^\n]*$",
        _JAVA_FRAME,
    ),
    _Runtime(rf"^{_JAVA_CLASS}(?:: [^\n]*)?$", _JAVA_FRAME, between=1),
    # .NET
    _Runtime(
        r"^(?:[^\n]{0,60}?)(?:Unhandled [Ee]xception[.:] ?(?:\n[^\n]+|[^\n]+)|Process (?:is )?terminated[. ][^\n]*"
        r"|Fatal error\. [^\n]*|Stack overflow\.|Exception Info: System\.[^\n]+)$",
        r"^\s*at (?P<function>[\w.<>`|+$\[\],]+)\([^\n]*?\)(?: in (?P<file>[^\n]+?):line (?P<line>\d+))?\s*$",
    ),
    # PHP
    _Runtime(
        r"^(?:[^\n]{0,60}?)(?:PHP )?Fatal error:  ?[^\n]+(?:PHP|\.php|Uncaught|Allowed memory|Maximum execution)[^\n]*$"
        r"|^(?:[^\n]{0,60}?)PHP Fatal error:  ?[^\n]+$",
        r"^#\d+ (?P<file>[^\n(]+)\((?P<line>\d+)\): (?P<function>[\w\\>:-]+)\(",
    ),
    # Node and browsers
    _Runtime(
        r"^[^\n]{0,80}?(?:Uncaught (?:\(in promise\) ?)?(?:[A-Z]\w*(?:Error|Exception)?|Exception)\b[^\n]*"
        r"|(?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?: [^\n]+|UnhandledPromiseRejection: [^\n]+)$",
        r"^\s+at (?:async )?(?:(?P<function>(?:new )?[\w.$<>\[\] ]+?) \()?(?P<file>(?:file://|node:|[A-Za-z]:)?[^\s():]+):"
        r"(?P<line>\d+)(?::\d+)?\)?$",
        between=3,
    ),
    # Go: the function and, below it, its place
    _Runtime(
        r"^(?:[^\n]{0,40}?)(?:panic: [^\n]+|fatal error: [^\n]+|runtime: goroutine stack exceeds[^\n]*)$",
        r"^(?:created by )?(?P<function>[\w./·%~-]+(?:\(\*?[\w.\[\]]+\)\.[\w.·-]+)*)(?:\([^\n]*\))?"
        r"(?: in goroutine \d+)?\n+[^\w\n]+(?P<file>\S[^\n]*?\.(?:go|s|c)):(?P<line>\d+)",
        between=8,
    ),
    # Rust
    _Runtime(
        r"^[^\n]{0,60}?thread '[^'\n]*' (?:\(\d+\) )?panicked at [^\n]+(?:\n[^\n]+)?$",
        r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<function>[^\n]+?)(?:\n\s+at (?P<file>[^\n]+?):(?P<line>\d+)(?::\d+)?)?$",
        between=6,
    ),
    # Ruby
    _Runtime(
        r"^[^\s:]+\.rb:\d+:in [`'][^'\n]*': [^\n]+ \([A-Z][\w:]*\)$",
        r"^\s*from (?P<file>[^\n:]+):(?P<line>\d+):in [`'](?P<function>[^'\n]+)'",
    ),
    # Julia
    _Runtime(
        r"^ERROR: (?:LoadError: )?[^\n]+$",
        r"^\s*\[\d+\] (?P<function>[^\s(]+)(?:\([^\n]*\))?(?:\n?\s+@?(?:at )? ?(?:[\w.]+ )?(?P<file>[^\s:]+):"
        r"(?P<line>\d+))?",
        between=3,
    ),
    # Swift, whose traps are illegal instructions to the system
    _Runtime(
        r"^[^\n]{0,120}?\.swift:\d+: (?:Fatal error|Precondition failed|Assertion failed)[^\n]*$"
        r"|^[^\n]{0,60}?Fatal error: [^\n]{1,300}: file [^\n]{1,200}\.swift, line \d+$",
        "",
        0,
    ),
    # Haskell; the message may have several lines
    _Runtime(
        r"^[\w.-]+: [^\n]+(?:\n[^\n]+){0,5}?\n\s*CallStack \(from HasCallStack\):$"
        r"|^[\w.-]+: (?:Prelude\.\w+: [^\n]+|<<loop>>|stack overflow)$",
        r"^\s+(?P<function>[\w'.]+), called at (?P<file>[^\s:]+):(?P<line>\d+):\d+ in ",
        between=1,
    ),
    # OCaml
    _Runtime(
        r"^Fatal error: exception [^\n]+$",
        r"^(?:Raised|Called|Re-raised)(?: by primitive operation)? (?:at|from) (?:(?P<function>[\w.']+) in )?"
        r"file \"(?P<file>[^\"\n]+)\"(?: \(inlined\))?, lines? (?P<line>\d+)",
        between=1,
    ),
    # Lua, also inside another program
    _Runtime(
        r"^[^\n]{0,200}?\.lua:\d+: [^\n]+$|^lua[\w.]*: [^\n]+$",
        r"^\s+(?P<file>[^\s:][^\n:]*\.lua):(?P<line>\d+): in (?:(?:function|method|upvalue|local|field|global) )?"
        r"(?P<function>[^\n]+)$",
        between=2,
    ),
    # Erlang and Elixir
    _Runtime(
        r"^[^\n]{0,80}?(?:Kernel pid terminated|init terminating in do_boot|eheap_alloc: Cannot (?:re)?allocate"
        r"|Crash dump (?:is being|was) written to: )[^\n]*$"
        r"|^\*\* \((?:Mix|EXIT|EXIT from [^)\n]{1,80}|[A-Z]\w*(?:\.\w+)*(?:Error|Exception))\) [^\n]+$",
        r"^\s+(?:\([\w ]+ [\d.]+\) )?(?P<file>[\w/.-]+\.(?:exs?|erl)):(?P<line>\d+): (?P<function>[^\n]+)$",
        between=12,
    ),
    # Perl; what it only warns of has other words
    _Runtime(
        r"^(?:Can't |Cannot |Died|BEGIN failed|Compilation failed|Undefined subroutine|Illegal division|Attempt to"
        r"|Modification of|Not an? \w+ reference|syntax error)[^\n]* at \S+ line \d+[.,][^\n]*$",
        "",
        0,
    ),
    # R, which stops a script with two lines
    _Runtime(r"^Error(?: in [^\n]+? ?)?: ?[^\n]*(?:\n[^\n]+){0,6}?\n(?:Calls: [^\n]+\n)?Execution halted$", "", 0),
)
# Headings that are certain by themselves; the others need frames below them.
_CERTAIN = (
    r"Exception in thread \"|FATAL EXCEPTION: |== Java Exception: |[Uu]nhandled [Ee]xception|UnhandledPromiseRejection"
    r"|Process (?:is )?terminated|Fatal error\. |Uncaught |' (?:\(\d+\) )?panicked at |Execution halted|PHP Fatal error"
    r"|\.rb:\d+:in |LoadError|\.php(?: on line |:)\d|\.swift[:,]|HasCallStack"
    r"|^[\w.-]+: (?:Prelude\.|<<loop>>|stack over)"
    r"|^Fatal error: exception |Kernel pid terminated|init terminating|eheap_alloc: |Crash dump |^\*\* \((?:Mix|EXIT)"
    r"| line \d+[.,]"
)
# A logger prints an exception that the program went on after.
_LOGGED = r"(?i)\b(?:WARN(?:ING)?|INFO|DEBUG|TRACE|caught|ignor\w+|retry\w*)\b"


def extract(log: Log) -> ContainerFacts:
    """The headings as messages, and the frames of each as a crashed thread."""
    messages: list[RuntimeMessage] = []
    threads: list[Thread] = []
    for runtime in _RUNTIMES:
        for match in patterns.compile(runtime.heading).finditer(log.text):
            if any(match.start() <= message.offset < match.end() for message in messages):
                continue
            frames = _frames(log, match.end(), runtime) if runtime.frame else ()
            if not frames and not patterns.compile(_CERTAIN).search(match.group()):
                continue
            if not patterns.compile(_CERTAIN).search(match.group()) and _is_logged(log, match):
                continue
            at, text = longest_line(log, match.start(), match.end())
            messages.append(RuntimeMessage("exception", text[:_LONGEST], log.place(at), at))
            if frames:
                threads.append(Thread("", True, (), frames, log.place(match.start())))
    return ContainerFacts(messages=tuple(messages), threads=tuple(threads))


def _is_logged(log: Log, match: Match) -> bool:
    """Whether the line with the heading, or the one above it, is a logger's."""
    start = max(0, log.text.rfind("\n", 0, max(0, log.text.rfind("\n", 0, match.start()))))
    return patterns.compile(_LOGGED).search(log.text[start : match.start()]) is not None


def _frames(log: Log, start: int, runtime: _Runtime) -> tuple[NativeFrame, ...]:
    """The frames below a heading, as long as not more than a few other lines come between."""
    frames: list[NativeFrame] = []
    end = start
    for match in patterns.compile(runtime.frame).finditer(log.text[start : start + 64 * 1024]):
        at = start + match.start()
        if log.text.count("\n", end, at) > (runtime.between if not frames else 2) + 1 or len(frames) >= _MOST_FRAMES:
            break
        frames.append(_frame(match))
        end = start + match.end()
    return tuple(frames)


def _frame(match: Match) -> NativeFrame:
    place = f"{base_name(match['file'])}:{match['line']}" if match["file"] and digits.whole(match["line"]) else None
    function = match["function"].strip() if match["function"] else None
    # Go puts the address of the package before it; what Elixir puts behind it is the number of arguments.
    if function and "/" in function and not function.rsplit("/", 1)[-1].isdigit():
        function = function.rsplit("/", 1)[-1]
    return NativeFrame(None, function, source=place)
