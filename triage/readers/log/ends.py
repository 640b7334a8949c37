"""How processes ended, as a text has it: exit statuses, faulthandler's dump, last words, kills for memory.

One log may hold several runs, because people paste what they tried one after the other; their ends tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from triage import digits, patterns, status
from triage.crash import ExitStatus, Log, MessageKind, Place, PythonFrame, RuntimeMessage, Thread
from triage.patterns import Match
from triage.readers.log.victims import tells_of_another_program

# ---------------------------------------------------------------- exit statuses

# What shells write for a signal. People copy it from the screen by hand, so the long words may be misspelt and in any
# case; `killed` in capitals is a state in other programs' tables.
_SHELL_WORDS = (
    r"(?i:seg(?:[em][a-z]{3,11})?[ -]?fault|il+eg[a-z]{1,3} (?:hardware )?instr[a-z]{3,8}|bus error|"
    r"floating[ -]?point exception|trace/breakpoint trap|IOT instruction)|"
    r"[Aa]borted|[Aa]bort(?: trap)?|[Kk]illed|[Tt]erminated|trace trap"
)
# "core dumped" as shells write it, and as forms and people leave it.
_CORE = r"[(（](?i:core[ -]dump(?:ed)?)[)）]"
# Marks that forums and mail put around a line.
_MARKS = r"[`*_'\"]{0,3}"
# Words of a launcher between `exited` and the number. What else may end in a number needs more words than `exited`.
_ENDED = (
    r"(?:exit(?:s|ed)?(?: \w{4,12}ly)? with(?: an?| the)?(?: non-?zero)?(?: exit| error| return)?(?: code"
    r"| status| value)?|"
    r"(?:quits?|terminate[sd]?|died|finished|ended|stopped|crashe[sd]|fail(?:s|ed))(?: \w{4,12}ly)?"
    r" with(?: an?| the)?(?: non-?zero)? (?:exit|return) ?(?:code|status|value)|"
    r"(?:terminated|died|crashed|quit) with (?:error )?code)"
)
_BY = (
    r"(?:(?:exited|exits|stopped|died|ended|crashed|failed|quit) (?:on|with|by|due to|from|after)|"
    r"(?:terminated|killed|aborted|interrupted) (?:by|with|due to|on|via|using)(?: an?| the)?(?: fatal"
    r"| uncaught| deadly)?|"
    r"exited prematurely:|exited on|because of)"
)
_WORD_NEEDLES = (
    "ault",
    "AULT",
    "bort",
    "nstr",
    "NSTR",
    "us error",
    "US ERROR",
    "xception",
    "XCEPTION",
    "illed",
    "erminated",
    " trap",
)
_CODE = r"(?P<code>-?\d{1,10}|0[xX][0-9a-fA-F]{1,8})\b"


def _by_number(match: Match, place: Place) -> ExitStatus | None:
    return status.parse(match.group("code"), place=place)


def _by_deadly_number(match: Match, place: Place) -> ExitStatus | None:
    """A terse `exit 139`; a script has `exit 1` in it too."""
    seen = status.parse(match.group("code"), place=place)
    return seen if seen is not None and seen.is_death else None


def _by_known_code(match: Match, place: Place) -> ExitStatus | None:
    seen = status.parse(match.group("code"), place=place)
    return seen if seen is not None and status.has_a_name(seen) else None


def _by_name(match: Match, place: Place) -> ExitStatus | None:
    return status.from_signal(match.group("signal"), place=place)


def _by_signal_number(match: Match, place: Place) -> ExitStatus | None:
    number = digits.whole(match.group("number"))
    return None if number is None else status.from_code(-number, place=place)


def _by_words(match: Match, place: Place) -> ExitStatus | None:
    return status.from_words(match.group("words"), place=place)


# A handler catches these because the program is broken; whoever sends one of the others may be asking it to end.
_OF_A_CRASH = ("SIGSEGV", "SIGABRT", "SIGILL", "SIGBUS", "SIGFPE", "SIGKILL", "SIGTRAP", "SIGSYS", "SIGTERM", "SIGXCPU")
# A sentence with one of these speaks of what may happen.
_HYPOTHETICAL = (
    r"(?i)\b(?:if|may|might|could|can|would|should|whether|unless|either|e\.g\.|such as|for example"
    r"|possibl[ey]|causes?|"
    r"potential|typically|usually|often|sometimes|means|handler|handling|ignor\w+|not)\b"
)


def _by_certain_name(match: Match, place: Place) -> ExitStatus | None:
    seen = _by_name(match, place)
    return seen if seen is not None and seen.signal in _OF_A_CRASH else None


def _by_certain_number(match: Match, place: Place) -> ExitStatus | None:
    seen = _by_signal_number(match, place)
    return seen if seen is not None and seen.signal in _OF_A_CRASH else None


# A sentence that teaches what a code means, or tells what a change mends.
_TAUGHT = (
    r"(?i)\b(?:do(?:es)? [^\n]{0,60}\bmean|what(?:'s| is| are) [^\n]{0,60}exit (?:code|status)s? \d+|"
    r"bedeutet|on purpose|returns? 128|then reports|128 ?\+ ?n|"
    r"if (?:you|your|the|a)\b[^\n]*\bexit|fix(?:e[sd])? (?:a |the )?crash)\b"
)
# One entry of a list that says what codes mean; a text with several of them is such a list.
_DEFINITION = (
    r"^\W{0,8}(?i:exit(?:ed|s)?(?: with)?(?: exit)? (?:code|status)) (?P<code>\d{1,3})\W{0,4}[:–—-] \W?[A-Za-z]"
)
_FEWEST_DEFINITIONS = 3
# docker compose names the container whose end it tells; those of a database and the like are not the program.
_OF_A_CONTAINER = r"^(?P<container>[\w.-]+) exited with code "
_SERVICE = (
    r"(?i)(?:^|[_-])(?:db|database|postgres\w*|pg|mysql|maria\w*|mongo\w*|redis|rabbitmq|kafka|zookeeper|elastic\w*"
    r"|memcached|minio|nginx|proxy|traefik|cache|broker|queue)(?:[_-]|$)"
)
# A tool that the program starts and can do without.
# make itself ends with 2 whatever its command ended with, so what node-gyp and pip say of it is no program's end.
_OF_A_HELPER = (
    r"\b(?:ptxas|nvlink|fatbinary|\S*symbolizer\S*)\b|[`'\"]make['\"`]? (?:failed (?:with )?|exited (?:with )?)?$"
)
# These forms are near to prose, so the rest of their line must not turn them into a possibility.
_NEAR_PROSE = (_by_certain_name, _by_certain_number)


# Each form with texts of which one must be in the log before the pattern is even compiled. Every pattern is tied to
# the way a tool phrases it: prose that only mentions a signal ("may be killed by SIGKILL") must not count.
_EXIT_FORMS: tuple[tuple[tuple[str, ...], str, Callable[[Match, Place], ExitStatus | None]], ...] = (
    # PyCharm, Kubernetes, GitHub Actions, torch's elastic launcher, subprocess.CalledProcessError, Gradle, a person
    (
        ("xit", "XIT", "eturn", "ETURN", " with ", "errorlevel", "ERRORLEVEL"),
        rf"(?i:\bexit[ _-]?(?:code|status|value)|\b{_ENDED}|\breturn[ _-]?code|\berrorlevel)"
        rf"['\"`*]{{0,3}}(?: of| was| is| were)?[ \t]{{0,2}}[:=]{{0,2}}[ \t]{{0,12}}['\"`*(<]{{0,3}}{_CODE}",
        _by_number,
    ),
    # as shells in other languages and people's scripts write it
    (
        (
            "uscita",
            "salida",
            "sortie",
            "xit-Code",
            "ückgabewert",
            "завершения",
            "возврата",
            "終了コード",
            "退出",
            "saída",
            "wyjścia",
        ),
        r"(?i:codice di uscita|código de salida|código de saída|code de sortie|exit-code|rückgabewert|код завершения|"
        rf"код возврата|終了コード|退出代码|退出码|kod wyjścia)[ \t]*[:=：]?[ \t]*{_CODE}",
        _by_number,
    ),
    # a line of nothing else, and what `echo $?` showed
    (
        ("xit", "rc", "tatus", "$?"),
        rf"^(?:[\w./-]+ )?(?i:exit(?:ed)?|process exited|rc|status|\$\?)[ \t]*[:=]?[ \t]*{_CODE}[ \t]*$",
        _by_deadly_number,
    ),
    (("echo $?",), r"\becho \$\?[ \t]*\n[ \t]*(?P<code>\d{1,3})[ \t]*$", _by_deadly_number),
    (("]+  Exit ", "]-  Exit "), r"^\[\d+\][+-]?\s+Exit (?P<code>\d{1,3})\s", _by_number),
    # make's last line
    (("*** [",), r"^\S*make\S*: \*\*\* \[[^\n]*\] Error (?P<code>\d{1,3})$", _by_number),
    # the same where the command died of a signal
    (
        ("*** [",),
        rf"^\S*make\S*: \*\*\* \[[^\n]*\] (?P<words>{_SHELL_WORDS})(?:: ?\d+)?(?:\s*{_CORE})?\s*$",
        _by_words,
    ),
    # docker ps
    (("Exited (",), r"\bExited \((?P<code>\d{1,3})\)", _by_number),
    # the shell's own words, alone on a line, after a job number or behind `line 3:  4711`
    (
        _WORD_NEEDLES,
        rf"^{_MARKS}(?:(?:[\w./-]+: )?line \d+:\s+\d+ |\[\d+\]\s*(?:[-+]\s+)?(?:\d+\s+)?|"
        rf"(?:\S*/)?(?:zsh|bash|sh|ksh|fish|csh|tcsh|dash): )?"
        rf"(?P<words>{_SHELL_WORDS})(?:: ?\d+)?(?:\s*{_CORE})?(?:\s{{2,}}\S.*|[.!]?{_MARKS}\s*)$",
        _by_words,
    ),
    # a job's number and words, where the bracket before them was cut off
    (
        _WORD_NEEDLES,
        rf"^[ \t]*\d{{2,7}} {{1,3}}(?P<words>{_SHELL_WORDS})(?:\s*{_CORE})? {{2,12}}[a-z./~][^\s]*",
        _by_words,
    ),
    # the same behind `line 3: 4711` where a form or a chat has taken the columns out
    ((": line ", "line "), rf"(?:^|[`'\"])(?:[\w./-]+: )?line \d+:\s+\d+ (?P<words>{_SHELL_WORDS})\b", _by_words),
    # the words behind a prompt's output or a path, made certain by "(core dumped)"
    (("ump",), rf"(?P<words>{_SHELL_WORDS})[.:]?\s*{_CORE}", _by_words),
    # the shell's words right behind a progress bar, which ends in no line feed (`loss: 2.1371Killed`, `ETA: 12sKilled`)
    # or behind a test's dots
    (
        _WORD_NEEDLES,
        r"(?:[\d\]%|](?:s|ms|it/s|s/it|s/step|/?s)?|\.{3} ?|[=>.]{8})(?P<words>Killed|[Ss]egmentation fault|Aborted|"
        r"[Ii]llegal instruction|[Bb]us error|[Ff]loating point exception)(?:: \d+)?\s*$",
        _by_words,
    ),
    # the word that a person quotes as all that was printed
    (
        ("Killed",),
        r"(?:\b(?:just|only|says?|said|prints?|printed|outputs?|shows?|see|saw|message|word|with):? (?:the word )?"
        r"[\"'`](?P<words>Killed)[.\"'`])",
        _by_words,
    ),
    (
        ("Killed",),
        r"[\"'`](?P<words>Killed)[\"'`] (?:without|gets|is printed|is shown|appears|and nothing)\b",
        _by_words,
    ),
    # after the name of the program that a script, a test runner or cron puts before it
    (
        ("ault", "us error", "nstruction", "xception"),
        r"^(?:(?:(?i:error|fatal|fatal error|crash(?:ed)?(?: message)?|panic|FAIL(?:ED)?|exception|make|cron|sh)"
        r"|[\w./-]{1,60}\.(?:py|sh|exe)"
        r"|\.?/[\w./-]{1,60}|python[\d.]*)(?:\[\d+\])?: ){1,2}(?P<words>(?i:segmentation fault|bus error|"
        r"illegal instruction|floating point exception))(?:: \d+)?[.!]?\s*$",
        _by_words,
    ),
    # gdb, lldb, celery, fish, subprocess, crash handlers
    (
        ("ignal", "IGNAL"),
        rf"(?i:(?:received|caught|uncaught|fatal|exit|got) signal:?|{_BY} signal:?|interrupted by signal \d+:) ?"
        r"['\"(]?(?:\d{1,2} ?[(/:=] ?)?(?P<signal>SIG[A-Z]{2,6})\b",
        _by_name,
    ),
    (("SIG",), rf"(?i:{_BY}) (?:a |an )?(?P<signal>SIG[A-Z]{{2,6}})\b", _by_certain_name),
    (("<Signals.",), r"<Signals\.(?P<signal>SIG[A-Z]{2,6}): \d+>", _by_name),
    (
        ("ignal", "IGNAL"),
        rf"(?i:{_BY} signal:?|interrupted by signal|^killed by signal|\bexit signal:?|\bdied (?:by|of|from"
        rf"|with) signal) ?"
        r"#?(?P<number>\d{1,2})\b",
        _by_certain_number,
    ),
    # crash handlers' headings, each at the beginning of its line or of a log message
    (
        ("ignal", "IGNAL"),
        r"^(?:[^\n]{0,60}[\]:*] ?)?(?i:(?:received|caught|got|fatal) (?:fatal )?signal:? ?(?:#|number )?|signal[:=] ?)"
        r"(?P<number>\d{1,2})(?:\b[ :,.(<*!-][^\n]*|\b)$",
        _by_certain_number,
    ),
    # ctest
    (
        ("SegFault", "(SEGFAULT)"),
        r"\*\*\*Exception: (?P<words>SegFault)\b|^\s*\d+ - \S+ \(SEGFAULT\)",
        lambda match, place: status.from_signal("SIGSEGV", place=place),
    ),
    # MySQL's and MariaDB's handler, Ruby's, Mono's
    (("got signal ",), r"\b\w+ got signal (?P<number>\d{1,2}) ?;", _by_signal_number),
    (("[BUG] ",), r"\[BUG\] (?P<words>[Ss]egmentation fault|[Bb]us [Ee]rror|[Ii]llegal instruction)\b", _by_words),
    (("while executing native code",), r"\bGot a (?P<signal>SIG[A-Z]{2,6}) while executing native code", _by_name),
    (("caught", "Caught"), r"^\W{0,4}(?i:signal) (?P<number>\d{1,2}) (?:was )?caught\b", _by_signal_number),
    # systemd, Go, cargo, Android, Julia, TensorFlow's own handler, qemu, R
    (("status=",), r"\bstatus=\d{1,2}/(?P<signal>[A-Z]{2,6})\b", _by_name),
    (("code=exited",), r"\bcode=exited, status=(?P<code>\d{1,3})\b", _by_number),
    # Go's os/exec, and what prints its error
    (
        ("signal: ",),
        r"\b(?:exit status|error|failed|exited)?:? ?signal: (?P<words>[a-z][a-z /-]{4,30}?)(?: \(core dumped\))?$",
        _by_words,
    ),
    # Windows' own name for it: Julia, Node, crash dialogs
    (
        ("EXCEPTION_",),
        r"\bEXCEPTION_(?P<words>ACCESS_VIOLATION|STACK_OVERFLOW|ILLEGAL_INSTRUCTION|INT_DIVIDE_BY_ZERO)\b",
        _by_words,
    ),
    (
        ("SIG",),
        r"^(?:fatal error: unexpected signal[^\n]*\n)?(?:\[signal )?(?P<signal>SIG[A-Z]{2,5}): "
        r"(?:illegal instruction|segmentation violation|abort|floating-point exception|bus error)\b",
        _by_name,
    ),
    (("signal: ",), r"\bsignal: (?P<number>\d{1,2}), SIG[A-Z]{2,6}: ", _by_signal_number),
    (("ignal ",), r"(?:Fatal signal|\bsignal) (?P<number>\d{1,2}) \(SIG[A-Z]{2,6}\)", _by_signal_number),
    (
        ("signal ",),
        r"^(?:\[?\d+\] )?signal \(?(?P<number>\d{1,2})(?:\.\d+)?\)?(?: \(\d+\))?: [A-Z][a-z]",
        _by_signal_number,
    ),
    (("terminating on signal",), r": terminating on signal (?P<number>\d{1,2}) from pid \d", _by_signal_number),
    (("*** Received signal ",), r"\*\*\* Received signal (?P<number>\d{1,2}) \*\*\*", _by_signal_number),
    (("uncaught target signal",), r"qemu: uncaught target signal (?P<number>\d{1,2}) \(", _by_signal_number),
    (("*** caught ",), r"^ *\*\*\* caught (?P<words>segfault|illegal operation|bus error) \*\*\*", _by_words),
    # Windows Error Reporting, faulthandler on Windows
    (
        ("xception", "Fatal error"),
        r"(?:[Ee]xception [Cc]ode|fatal exception|Fatal error)[:=]?\s*(?:code )?"
        r"(?P<code>0[xX][cCeE][0-9a-fA-F]{7}|[cC]0[0-9a-fA-F]{6})\b",
        _by_number,
    ),
    (
        ("Windows fatal exception: ",),
        r"Windows fatal exception: (?P<words>access violation|stack overflow|page error|int divide by zero|"
        r"float divide by zero|float overflow|integer overflow)",
        _by_words,
    ),
    # a bare code; a number of bytes may look like one, so only codes that have a name count
    (
        ("-10737", "32212", "0xC0000", "0xc0000"),
        r"(?P<code>-10737\d{5}|\b32212\d{5}|\b0[xX][cC]0000[0-9a-fA-F]{3})\b",
        _by_known_code,
    ),
)


_LINE_OF_SUCCESS = "echo $?"
_ASKED_WITHIN = 3


class Placed(NamedTuple):
    """An exit status and the offset in the log at which it was read."""

    offset: int
    status: ExitStatus


def exit_statuses(log: Log) -> list[Placed]:
    """Every exit status in the log, one a line, in the order of the text."""
    found: dict[int, Placed] = {}
    definitions = definitions_of_codes(log)
    for needles, form, read in _EXIT_FORMS:
        if not any(needle in log.text for needle in needles):
            continue
        for match in patterns.compile(form).finditer(log.text):
            at = match.start()
            seen = read(match, log.place(at))
            line = log.text.rfind("\n", 0, at)
            if patterns.compile(_OF_A_HELPER).search(log.text[line + 1 : at]):
                continue
            if read is _by_number and patterns.compile(_TAUGHT).search(log.line(at)):
                continue
            if line + 1 in definitions:
                continue
            if read in _NEAR_PROSE and patterns.compile(_HYPOTHETICAL).search(log.text[line + 1 : match.end(1)]):
                continue
            # A line often gives the same status twice (`-1073740791 (0xC0000409)`): the first is what the person saw.
            if seen is not None and (line not in found or at < found[line].offset):
                found[line] = Placed(at, seen)
    return _of_the_program(log, [found[line] for line in sorted(found) if not _is_denied(log, found[line])])


def _is_denied(log: Log, placed: Placed) -> bool:
    """Whether the shell was asked right below, and says that the command ended well: the words were only printed."""
    below = log.text[placed.offset :].split("\n", _ASKED_WITHIN + 1)[1:]
    asked = (_LINE_OF_SUCCESS in line and following.strip() == "0" for line, following in pairwise(below))
    return placed.status.is_death and any(asked)


def definitions_of_codes(log: Log) -> frozenset[int]:
    """Where the lines begin that say what a code means, if the text is a list of codes."""
    found = list(patterns.compile(_DEFINITION).finditer(log.text))
    if len({match["code"] for match in found}) < _FEWEST_DEFINITIONS:
        return frozenset()
    return frozenset(log.text.rfind("\n", 0, match.start(1)) + 1 for match in found)


def _of_the_program(log: Log, exits: list[Placed]) -> list[Placed]:
    """The statuses without those of the containers beside it, where docker compose tells the program's own."""
    named = [(placed, patterns.compile(_OF_A_CONTAINER).search(log.line(placed.offset))) for placed in exits]
    beside = [bool(match and patterns.compile(_SERVICE).search(match["container"])) for _, match in named]
    if not any(match and not is_beside for (_, match), is_beside in zip(named, beside, strict=True)):
        return exits
    return [placed for placed, is_beside in zip(exits, beside, strict=True) if not is_beside]


# ---------------------------------------------------------------- several runs in one log

# What only a new process prints: a prompt with a command, TensorFlow's first lines, the first epoch.
_RUN_STARTS = (
    r"^(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[:~\w/.\-]* ?)?[$#%>] ?(?:\w+=\S+ )*(?:python|pytest|bash|sh|\./)[\w./-]* \S"
    r"|^(?:PS )?[A-Z]:\\[^>\n]*> ?python\S* \S"
    r"|oneDNN custom operations are on|cpu_feature_guard\.cc:\d+\] This TensorFlow binary is optimized"
    r"|^Epoch 1/\d+"
)
_RUN_NEEDLES = ("python", "pytest", "bash", "oneDNN custom", "This TensorFlow binary is optimized", "Epoch 1/")
_FATAL_LINE = r"^Fatal Python error: "
# A log with more runs than this is a service's; only its last ones are looked at.
_MOST_RUNS = 8


class Run(NamedTuple):
    """One run of a program: its part of the log, and the exit statuses in it."""

    log: Log
    exits: tuple[ExitStatus, ...]


def runs(log: Log) -> list[Run]:
    """The runs in the order of the text: a new one begins between two failures, where a new process starts."""
    exits = exit_statuses(log)
    starts = _run_starts(log, exits)
    if len(starts) == 1:
        return [Run(log, tuple(placed.status for placed in exits))]
    bounds = zip(starts, [*starts[1:], len(log.text)], strict=True)
    return [_run(log, exits, start, stop) for start, stop in bounds][-_MOST_RUNS:]


def _run_starts(log: Log, exits: list[Placed]) -> list[int]:
    """The offsets at which runs begin; the first is that of the text."""
    fatal = [match.start() for match in patterns.compile(_FATAL_LINE).finditer(log.text)]
    failures = sorted({*(placed.offset for placed in exits if placed.status.is_failure), *fatal})
    if len(failures) < 2 or not any(needle in log.text for needle in _RUN_NEEDLES):
        return [0]
    starts = [match.start() for match in patterns.compile(_RUN_STARTS).finditer(log.text)]
    between = (
        next((start for start in starts if failure < start < following), None)
        for failure, following in pairwise(failures)
    )
    return [0, *(start for start in between if start is not None)]


def _run(log: Log, exits: list[Placed], start: int, stop: int) -> Run:
    """The run whose lines begin between two offsets; a status belongs to the run that has its line."""
    own = (placed for placed in exits if start <= log.text.rfind("\n", 0, placed.offset) + 1 < stop)
    return Run(log.part(start, stop), tuple(placed.status for placed in own))


# ---------------------------------------------------------------- faulthandler's dump

_FATAL = r"Fatal Python error: (?:.*: )?(.+)$"
_FATAL_WORDS = r"Segmentation fault|Aborted|Floating[ -]point exception|Illegal instruction|Bus error"
_THREAD = r"^\s*(Current thread|Thread) (0x[0-9a-fA-F]+)(?: \[(.*?)\])? .*\(most recent call first\)"
_FRAME = r'^\s*File "(.*)", line (\d+|\?\?\?) in (.+)$'
_LONGEST_LINE = 4096


class FaultDump(NamedTuple):
    """What faulthandler printed: the signal as a status, and every thread's Python stack."""

    exit: ExitStatus | None
    threads: tuple[Thread, ...]


def fatal_signal(line: str, place: Place | None = None) -> ExitStatus | None:
    """The signal that the first line of a dump names, as a status."""
    fatal = patterns.compile(_FATAL).search(line)
    words = patterns.compile(_FATAL_WORDS).search(fatal[1]) if fatal else None
    return status.from_words(words[0], place=place) if words else None


def fault_dump(log: Log) -> FaultDump:
    """The fatal error and the thread stacks of a faulthandler dump, if the log has one."""
    if "most recent call first" not in log.text and "Fatal Python error" not in log.text:
        return FaultDump(None, ())
    exit_status: ExitStatus | None = None
    threads: list[Thread] = []
    frames: list[PythonFrame] | None = None
    open_thread: tuple[str, bool, Place] | None = None

    def close() -> None:
        nonlocal open_thread, frames
        if open_thread is not None:
            name, crashed, place = open_thread
            threads.append(Thread(name, crashed, tuple(frames or ()), place=place))
        open_thread = frames = None

    for offset, line in log.lines():
        if len(line) > _LONGEST_LINE:
            close()
        elif "Fatal Python error: " in line:
            exit_status = fatal_signal(line, log.place(offset)) or exit_status
        elif head := patterns.compile(_THREAD).match(line):
            close()
            open_thread = (head[3] or head[2], head[1] == "Current thread", log.place(offset))
            frames = []
        elif frames is not None:
            if frame := patterns.compile(_FRAME).match(line):
                frames.append(PythonFrame(frame[1], digits.whole(frame[2]), frame[3]))
            elif line.strip() not in ("", "...", "<no Python frame>", "Garbage-collecting"):
                close()
    close()
    return FaultDump(exit_status, tuple(threads))


# ---------------------------------------------------------------- last words of the C and C++ runtimes

_MESSAGES: tuple[tuple[MessageKind, tuple[str, ...], str], ...] = (
    (
        "heap",
        ("(): ", "corrupt", "fastbin", "*** Error in"),
        # The last one is how glibc began until 2.26; a paste may end there.
        r"(?:\b(?:free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate|_int_free)\(\): [a-z].*"
        r"|double free or corruption.*|corrupted (?:size|double-linked|unsorted).*|invalid fastbin entry.*"
        r"|^\*\*\* Error in(?: `[^':\n]*'?:? ?)?)$",
    ),
    (
        "terminate",
        ("terminat", "ure virtual", "Fatal Python error: ", "may have been in progress in another thread"),
        # Python's and Objective-C's runtimes end the process after such words, too.
        r"(?:terminate called .*|^pure virtual method called"
        r"|libc\+\+abi(?:\.dylib)?: (?:terminating|Pure virtual) .*|Fatal Python error: .*"
        r"|\+\[\w+ initialize\] may have been in progress in another thread when fork\(\) was called\.[^\n]*Crashing "
        r".*)$",
    ),
    ("assertion", ("Assertion ",), r"Assertion (?:`.*' |failed: ).*$"),
)


def runtime_messages(log: Log) -> list[RuntimeMessage]:
    """A damaged heap, an uncaught C++ exception, a failed assertion: every message in the order of the text."""
    found: list[RuntimeMessage] = []
    for kind, needles, form in _MESSAGES:
        if any(needle in log.text for needle in needles):
            for match in patterns.compile(form).finditer(log.text):
                # A signal that Python names is the status.
                if fatal_signal(match.group()) is None:
                    found.append(RuntimeMessage(kind, match.group(), log.place(match.start()), match.start()))
    return sorted(found, key=lambda message: message.offset)


# ---------------------------------------------------------------- kills for memory

# Each of these records a kill that happened, unlike a list of things that may have happened.
_KERNEL_S_KILLS = (
    r"invoked oom-killer",
    r"[Oo]ut of memory: Kill(?:ed)? process \d+|Memory cgroup out of memory: Kill",
    r"oom-kill:constraint=",
    r"oom_reaper: reaped process",
)
_LAUNCHERS_KILLS = (r"[Dd]etected \d+ oom[-_]kill event", r"[Rr]eason:\s+OOMKilled")


def oom_kills(log: Log) -> int | None:
    """How many processes the kernel or a container killed for memory; None where the log mentions no such kill.

    The kernel's log is that of a whole machine: a kill of another program says nothing about this one.
    """
    if not any(word in log.text for word in ("oom", "OOMKilled", "ut of memory: Kill")):
        return None
    forms = _LAUNCHERS_KILLS if tells_of_another_program(log) else (*_KERNEL_S_KILLS, *_LAUNCHERS_KILLS)
    # The kernel writes several lines about one kill, so the most frequent form counts.
    return max(sum(1 for _ in patterns.compile(form).finditer(log.text)) for form in forms) or None
