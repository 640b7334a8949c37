"""Exit statuses as a shell, an IDE, a container or a person writes them."""

from __future__ import annotations

from collections.abc import Callable

from triage import digits, patterns, status
from triage.crash import ExitStatus, Log, Place
from triage.patterns import Match

_WORDS = (
    "[Ss]egmentation fault|[Aa]borted|[Aa]bort(?: trap)?|[Ii]llegal (?:hardware )?instruction|[Bb]us error|"
    "[Ff]loating[ -]point exception|[Kk]illed|[Tt]erminated|[Tt]race/breakpoint trap|trace trap|IOT instruction"
)


def _by_number(match: Match, place: Place) -> ExitStatus | None:
    return status.parse(match.group("code"), place=place)


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


# Each form with a text that must be in the log before the pattern is even compiled. Every pattern is tied to the
# way a tool phrases it: prose that only mentions a signal ("may be killed by SIGKILL") must not count.
_FORMS: tuple[tuple[tuple[str, ...], str, Callable[[Match, Place], ExitStatus | None]], ...] = (
    # PyCharm, Kubernetes, GitHub Actions, torch's elastic launcher, subprocess.CalledProcessError, a person
    (
        ("xit code", "xit status", "xitCode", "xitcode", "xited with", "return code", "eturncode", "xit Code"),
        r"(?:[Ee]xit(?: ?[Cc]ode| status)|exited with(?: code| status)?|return ?code)"
        r"['\"]?(?: of| was| is)?[:=]?[ \t]{0,12}(?P<code>-?\d{1,10}|0[xX][0-9a-fA-F]{1,8})\b",
        _by_number,
    ),
    # docker ps
    (("Exited (",), r"\bExited \((?P<code>\d{1,3})\)", _by_number),
    # the shell's own words, alone on a line, after a job number or behind `line 3:  4711`
    (
        ("ault", "bort", "nstruction", "us error", "xception", "illed", "erminated", " trap"),
        rf"^(?:(?:[\w./-]+: )?line \d+:\s+\d+ |\[\d+\]\s*(?:[-+]\s+)?(?:\d+\s+)?|(?:zsh|bash|sh|fish): )?"
        rf"(?P<words>{_WORDS})(?:: \d+)?(?:\s+\(core dumped\))?(?:\s{{2,}}\S.*|\s*)$",
        _by_words,
    ),
    # the same behind `line 3: 4711` where a form or a chat has taken the columns out
    ((": line ", "line "), rf"^(?:[\w./-]+: )?line \d+:\s+\d+ (?P<words>{_WORDS})\b", _by_words),
    # the words behind a prompt's output or a path, made certain by "(core dumped)"
    (("(core dumped)",), rf"(?P<words>{_WORDS})\s+\(core dumped\)", _by_words),
    # the shell's words right behind a progress bar, which ends in no line feed: `loss: 2.1371Killed`, `ETA: 12sKilled`
    (
        ("Killed", "Segmentation", "Aborted", "Illegal", "Bus error", "Floating"),
        r"[\d\]%](?:s|ms|it/s|s/it|s/step)?(?P<words>Killed|Segmentation fault|Aborted|Illegal instruction|Bus error|"
        r"Floating point exception)\s*$",
        _by_words,
    ),
    # gdb, lldb, celery, fish, subprocess
    (
        ("signal",),
        r"(?:received signal|(?:terminated (?:by|with)|exited on) signal|interrupted by signal \d+:) ?"
        r"(?P<signal>SIG[A-Z]{2,6})",
        _by_name,
    ),
    (("<Signals.",), r"<Signals\.(?P<signal>SIG[A-Z]{2,6}): \d+>", _by_name),
    (
        ("signal",),
        r"(?:exited on|exited prematurely:|interrupted by|terminated (?:by|with)|was killed by|^Killed by) signal:? "
        r"(?P<number>\d{1,2})\b",
        _by_signal_number,
    ),
    # systemd, Go, cargo, Android, Julia, TensorFlow's own handler, qemu, R
    (("code=",), r"\bcode=(?:dumped|killed), status=\d{1,2}/(?P<signal>[A-Z]{2,6})\b", _by_name),
    (
        ("SIG",),
        r"^(?:fatal error: unexpected signal[^\n]*\n)?(?:\[signal )?(?P<signal>SIG[A-Z]{2,5}): "
        r"(?:illegal instruction|segmentation violation|abort|floating-point exception|bus error)\b",
        _by_name,
    ),
    (("signal: ",), r"\bsignal: (?P<number>\d{1,2}), SIG[A-Z]{2,6}: ", _by_signal_number),
    (("ignal ",), r"(?:Fatal signal|\bsignal) (?P<number>\d{1,2}) \(SIG[A-Z]{2,6}\)", _by_signal_number),
    (("signal (",), r"^(?:\[\d+\] )?signal \((?P<number>\d{1,2})\): [A-Z]", _by_signal_number),
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


def extract(log: Log) -> list[ExitStatus]:
    """Every exit status in the log, one a line, in the order of the text."""
    return [seen for _, seen in placed(log)]


def placed(log: Log) -> list[tuple[int, ExitStatus]]:
    """Every exit status with the offset at which it stands."""
    found: dict[int, tuple[int, ExitStatus]] = {}
    for needles, pattern, reading in _FORMS:
        if not any(needle in log.text for needle in needles):
            continue
        for match in patterns.compile(pattern).finditer(log.text):
            at = match.start()
            seen = reading(match, log.place(at))
            line = log.text.rfind("\n", 0, at)
            # One line often says the same thing twice (`-1073740791 (0xC0000409)`): what the person saw comes first.
            if seen is not None and (line not in found or at < found[line][0]):
                found[line] = (at, seen)
    return [found[line] for line in sorted(found)]
