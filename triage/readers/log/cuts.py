"""Whether a log was cut before it came to us: it starts in the middle of something, or stops there."""

from __future__ import annotations

from triage.patterns import compile as pattern

# A frame has its function behind the line; without one it is a SyntaxError, which starts so by itself.
_MIDDLE = (
    r'^(?:\s+File ".*", line \d+,? in |\s+@\s+0x[0-9a-f]+|#[1-9]\d?\s+0x|\.\.\. ?(?:\d+ more|truncated)|[\[<]truncated)'
)
_UNFINISHED = r'^\s+File ".*", line \d+(?:, in .+)?$|^Traceback \(most recent call last\):$|\.\.\.$|…$'
_SAID = (
    r"(?i)(?:output|log|lines?) (?:was |were |has been )?(?:truncated|omitted|cut)\b|^\[\.\.\.\]$|truncated \d+ lines"
)


def notes(lines: list[str]) -> tuple[str, ...]:
    """Sentences about a beginning or an end that is missing."""
    written = [line for line in (*lines[:40], *lines[40:][-40:]) if line.strip()]
    if not written:
        return ()
    found = []
    if pattern(_MIDDLE).match(written[0]):
        found.append("the beginning of the log: it starts in the middle of a stack")
    if pattern(_UNFINISHED).search(written[-1]):
        found.append("the end of the log: it stops in the middle of something")
    if any(pattern(_SAID).search(line) for line in written):
        found.append("a part of the log: it says itself that it was cut")
    return tuple(found)
