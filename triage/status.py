"""Exit statuses in all their spellings -> one ExitStatus.

139 in a shell, -11 in Python, -1073740791 in PyCharm, 3221226505 in VS Code, 0xC0000409 in a Windows dialog.
"""

from __future__ import annotations

from triage.crash import ExitKind, ExitStatus, Place
from triage.status_tables import EXIT_CODES, FAST_FAIL, MACOS_SIGNALS, NTSTATUS, SIGNALS

FAST_FAIL_STATUS = 0xC0000409
_SIGNAL_NUMBERS = {name: number for number, (name, _) in SIGNALS.items()}
# Signals that end a crashing program: only these count when a launcher prints 256 - n.
_FATAL = {4, 6, 7, 8, 9, 11}
_WORDS = {
    "segmentation fault": "SIGSEGV",
    "segfault": "SIGSEGV",
    "aborted": "SIGABRT",
    "abort": "SIGABRT",
    "abort trap": "SIGABRT",
    "iot instruction": "SIGABRT",
    "illegal instruction": "SIGILL",
    "illegal hardware instruction": "SIGILL",
    "illegal operation": "SIGILL",
    "bus error": "SIGBUS",
    "floating point exception": "SIGFPE",
    "floatingpoint exception": "SIGFPE",
    "killed": "SIGKILL",
    "terminated": "SIGTERM",
    "trace/breakpoint trap": "SIGTRAP",
    "trace trap": "SIGTRAP",
    "bad system call": "SIGSYS",
    "access violation": "0xC0000005",
    "stack overflow": "0xC00000FD",
    "page error": "0xC0000006",
    "float divide by zero": "0xC000008E",
    "float overflow": "0xC0000091",
    "integer overflow": "0xC0000095",
    "int divide by zero": "0xC0000094",
}
# The long words are often misspelt; how the first and the last one begin is enough.
_MISSPELT = (("seg", "fault", "SIGSEGV"), ("il", "instr", "SIGILL"))


def from_code(code: int, subcode: int | None = None, *, place: Place | None = None) -> ExitStatus:
    """The status for a number as a shell, Python, an IDE or Windows gives it."""
    unsigned = code & 0xFFFFFFFF
    if unsigned == 0xFFFFFFFF:
        # -1 comes from a stop button or TerminateProcess; nobody means the hang-up signal by it.
        return ExitStatus(code=-1, name="exit -1", kind="exit", meaning=EXIT_CODES[unsigned], place=place)
    if unsigned in NTSTATUS or 0xC0000000 <= unsigned < 0xFFFFFF00:
        return _from_ntstatus(code, unsigned, subcode, place)
    if -64 <= code < 0:
        return _from_signal_number(-code, code, place)
    if 128 < code <= 192 and code - 128 in SIGNALS:
        return _from_signal_number(code - 128, code, place)
    if 192 < code < 256 and 256 - code in _FATAL:
        return _from_signal_number(256 - code, code, place)
    meaning = EXIT_CODES.get(code, "the program chose this exit code itself")
    return ExitStatus(code=code, name=f"exit {code}", kind="exit", meaning=meaning, place=place)


def from_ntstatus(code: int, subcode: int | None = None, *, place: Place | None = None) -> ExitStatus:
    """The status for the code of a Windows exception, even one that no exit code looks like."""
    return _from_ntstatus(code, code & 0xFFFFFFFF, subcode, place)


def from_signal(name: str, *, place: Place | None = None) -> ExitStatus | None:
    """The status for a signal's name, with or without SIG, or None."""
    upper = name.upper()
    full = upper if upper.startswith("SIG") else "SIG" + upper
    number = _SIGNAL_NUMBERS.get(full)
    return _with_signal(number, 128 + number, place) if number else None


def from_words(words: str, *, place: Place | None = None) -> ExitStatus | None:
    """The status for what a shell or faulthandler writes out, such as `Segmentation fault`."""
    spelt = " ".join(words.lower().replace("_", " ").replace("-", " ").split())
    first, _, last = spelt.rpartition(" ")
    misspelt = (name for start, end, name in _MISSPELT if first.startswith(start) and last.startswith(end))
    known = _WORDS.get(spelt) or next(misspelt, None)
    return parse(known, place=place) if known else None


def parse(text: str, *, place: Place | None = None) -> ExitStatus | None:
    """The status for anything a person types: a number in any base and sign, a signal, an NTSTATUS name."""
    text = text.strip()
    number = _number(text)
    if number is not None:
        return from_code(number, place=place) if -(1 << 31) <= number < 1 << 32 else None
    wanted = text.upper()
    for code, (name, _, _) in NTSTATUS.items():
        if wanted in (name, name.removeprefix("STATUS_")):
            return from_code(code, place=place)
    return from_signal(text, place=place) or from_words(text, place=place)


def with_subcode(status: ExitStatus, subcode: int) -> ExitStatus:
    """The status with its fast-fail subcode, which changes what 0xC0000409 means."""
    name, meaning = FAST_FAIL.get(subcode, (None, f"fast-fail subcode {subcode}, which winnt.h does not name"))
    return status._replace(subcode=subcode, subcode_name=name, meaning=meaning)


def from_fast_fail(name: str) -> ExitStatus | None:
    """The fast-fail status with the subcode of this name (FAST_FAIL_FATAL_APP_EXIT), or None."""
    wanted = name.strip().upper()
    for subcode, (known, _) in FAST_FAIL.items():
        if wanted == known:
            return from_code(FAST_FAIL_STATUS, subcode)
    return None


def has_a_name(status: ExitStatus) -> bool:
    """Whether a status is in our tables, not just a number that looks like one."""
    return status.signal is not None or status.ntstatus in NTSTATUS


def signal_named_by_number(number: int) -> str | None:
    """The signal with this number, for a person who means the signal and not an exit code."""
    return SIGNALS[number][0] if number in SIGNALS else None


def known_names() -> list[str]:
    """Every name that `parse` accepts, for 'did you mean'."""
    return [name for name, _ in SIGNALS.values()] + [name for name, _, _ in NTSTATUS.values()]


def _number(text: str) -> int | None:
    """A decimal or hexadecimal number; eight hex digits are an NTSTATUS even without 0x."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 20:
        return int(text)
    lower = text.lower()
    bare = lower.removeprefix("0x")
    if (bare != lower or len(bare) == 8) and 0 < len(bare) <= 16 and set(bare) <= set("0123456789abcdef"):
        return int(bare, 16)
    return None


def _from_ntstatus(code: int, unsigned: int, subcode: int | None, place: Place | None) -> ExitStatus:
    unlisted: tuple[str, ExitKind, str] = (f"0x{unsigned:08X}", "crash", "a Windows status that is not in our table")
    name, kind, meaning = NTSTATUS.get(unsigned, unlisted)
    status = ExitStatus(code=code, ntstatus=unsigned, name=name, kind=kind, meaning=meaning, place=place)
    if subcode is not None and unsigned == FAST_FAIL_STATUS:
        return with_subcode(status, subcode)
    return status


def _from_signal_number(number: int, code: int, place: Place | None) -> ExitStatus:
    """The status for a number, which may be another signal's on macOS."""
    seen = _with_signal(number, code, place)
    mac = MACOS_SIGNALS.get(number)
    return seen._replace(meaning=f"{seen.meaning} (on macOS this number is {mac})") if mac else seen


def _with_signal(number: int, code: int, place: Place | None) -> ExitStatus:
    name, meaning = SIGNALS.get(number, (f"signal {number}", "a signal that is not in our table"))
    return ExitStatus(
        code=code, signal=name, signal_number=number, name=name, kind="signal", meaning=meaning, place=place
    )
