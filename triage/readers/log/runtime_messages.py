"""The last words of the C and C++ runtimes: a damaged heap, an uncaught C++ exception, a failed assertion."""

from __future__ import annotations

from triage import patterns
from triage.crash import Log, MessageKind, RuntimeMessage

_KINDS: tuple[tuple[MessageKind, tuple[str, ...], str], ...] = (
    (
        "heap",
        ("(): ", "corrupt", "fastbin"),
        r"(?:\b(?:free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate|_int_free)\(\): [a-z].*"
        r"|double free or corruption.*|corrupted (?:size|double-linked|unsorted).*|invalid fastbin entry.*)$",
    ),
    ("terminate", ("terminat",), r"(?:terminate called .*|libc\+\+abi(?:\.dylib)?: terminating .*)$"),
    ("assertion", ("Assertion ",), r"Assertion (?:`.*' |failed: ).*$"),
)


def extract(log: Log) -> tuple[RuntimeMessage, ...]:
    """Every such message in the order of the text."""
    found: list[RuntimeMessage] = []
    for kind, needles, pattern in _KINDS:
        if any(needle in log.text for needle in needles):
            for match in patterns.compile(pattern).finditer(log.text):
                found.append(RuntimeMessage(kind, match.group(), log.place(match.start()), match.start()))
    return tuple(sorted(found, key=lambda message: message.offset))
