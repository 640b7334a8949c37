"""gdb: the backtraces of `bt`, `thread apply all bt` and `py-bt`."""

from __future__ import annotations

from triage import digits, patterns, status
from triage.crash import ExitStatus, Log, NativeFrame, PythonFrame, Thread, base_name
from triage.frames import module_owner, name_of, source_is_own
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, statuses
from triage.readers.log.containers.printed_stacks import FrameLine, Stack, by_number, crashed_first, without_values

TRIGGERS = ("#0  ", "received signal SIG", "terminated with signal SIG")
# A terminal of 80 columns breaks a frame before its arguments, `at` or `from`, and indents what follows.
_FRAME = (
    r"^[ \t]{0,4}#(?P<number>\d+)[ \t]+(?P<address>0x[0-9a-f]+ in )?"
    r"(?P<call>(?:[^\s0]|0[^x\n])[^\n]*?(?:\n {3,4}[^\s#][^\n]*){0,12}?\)|<signal handler called>|[^\s(0][^\n(]*)"
    r"(?:\s+from (?P<module>/[^\n]+?|\S+)|\s+at (?P<file>[^\n]+?):(?P<line>\d+))?[ \t]*$"
)
_PYTHON_FRAME = r"^#\d+ Frame 0x[0-9a-f]+, for file (?P<file>[^\n]+?), line (?P<line>\d+), in (?P<function>[\w<>.]+) \("
_HEAD = r'^Thread (?P<number>\d+) \((?:Thread 0x|LWP )[^\n"]*(?:"(?P<name>[^"\n]*)")?\)'
_STOPPED = r'^Thread (?P<number>\d+) "[^"\n]*" received signal SIG'
_CURRENT = r"^\[Current thread is (?P<number>\d+) \("
# The exit lines have it as well; here because gdb's signal counts more than that of the wrapper around it.
_SIGNAL = r"(?:received signal|[Tt]erminated with signal) (?P<signal>SIG[A-Z]{2,6})"


# A process that ends itself: the signal is an argument of the innermost frame, or that is below abort.
_RAISED = (
    r"^[ \t]{0,4}#0 [^\n]*(?:\b|_)(?:raise|gsignal|pthread_kill\w*) \([^\n)]*\bsig(?:no)?=(?:sig(?:no)?@entry=)?"
    r"(?P<number>\d{1,2})\b"
)
_SENDS = r"^_*(?:GI_+)?(?:raise|gsignal|pthread_kill\w*)$"
_ABORTS = r"^_*(?:GI_+)?abort$"
_AT_THE_TOP = 5


def extract(log: Log) -> ContainerFacts:
    """The stacks of all threads; the crashed one is the one that gdb was stopped in."""
    stacks = by_number(_frames(log))
    heads = [(match.start(), match["number"], match["name"]) for match in patterns.compile(_HEAD).finditer(log.text)]
    stopped = patterns.compile(_STOPPED).search(log.text) or patterns.compile(_CURRENT).search(log.text)
    # A core's thread 1 is the one that died.
    stopped_in = stopped["number"] if stopped else "1"
    found: list[Thread] = []
    previous = -1
    for stack in stacks:
        head = next(((n, name) for at, n, name in reversed(heads) if previous < at < stack.offset), None)
        previous = stack.offset
        found.append(_thread(log, stack, head, stopped_in))
    threads = crashed_first(found)
    if threads and (python := _python_stack(log)):
        threads = (threads[0]._replace(python_stack=python), *threads[1:])
    exits = statuses(log, _SIGNAL) or statuses(log, _RAISED)
    if not exits and threads and (aborted := _aborted(threads[0])):
        exits = (aborted,)
    return ContainerFacts(exits=exits, threads=threads)


def _aborted(thread: Thread) -> ExitStatus | None:
    """SIGABRT, where the crashed thread was sending it to itself."""
    names = [name_of(frame) for frame in thread.native_stack[:_AT_THE_TOP]]
    if not (thread.crashed and names and patterns.compile(_SENDS).match(names[0])):
        return None
    aborts = any(patterns.compile(_ABORTS).match(name) for name in names)
    return status.from_signal("SIGABRT", place=thread.place) if aborts else None


def _thread(log: Log, stack: Stack, head: tuple[str, str | None] | None, stopped_in: str) -> Thread:
    """A stack without a heading belongs to the thread gdb was stopped in."""
    name = head[1] or "" if head else ""
    return Thread(name, head is None or head[0] == stopped_in, (), stack.frames, log.place(stack.offset))


def _frames(log: Log) -> list[FrameLine]:
    found: list[FrameLine] = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        function = without_values(" ".join(match["call"].split()))
        # An innermost or inlined frame has a source instead of an address; `#12 Fix it (again)` has neither.
        is_frame = match["address"] or match["module"] or match["file"] or function.startswith("<signal")
        if not is_frame or function.startswith("Frame 0x"):
            continue
        number = digits.whole(match["number"])
        if number is None:
            continue
        if number and found and not match["address"] and match["file"] and found[-1].number == number - 1:
            # gdb has no address for a function that the one before was inlined into
            found[-1] = found[-1]._replace(frame=found[-1].frame._replace(inlined=True))
        found.append(FrameLine(number, match.start(), _frame(match, None if function == "??" else function)))
    return found


def _frame(match: Match, function: str | None) -> NativeFrame:
    """A frame with its library, or with its source where gdb knows that."""
    if match["file"]:
        source = f"{base_name(match['file'])}:{match['line']}"
        return NativeFrame(None, function, source=source, own=source_is_own(match["file"]))
    module = match["module"] or ""
    own = bool(module) and module_owner(module) == "own"
    return NativeFrame(base_name(module) if module else None, function, own=own)


def _python_stack(log: Log) -> tuple[PythonFrame, ...]:
    return tuple(
        PythonFrame(match["file"], digits.whole(match["line"]), match["function"])
        for match in patterns.compile(_PYTHON_FRAME).finditer(log.text)
    )
