"""What a person means who types some words after `triage explain`: a status, an exception, a name, a line of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from triage import patterns
from triage import status as statuses
from triage.clues.interface import Clue
from triage.clues.log import LogSeen
from triage.crash import ExitStatus, base_name
from triage.knowledge.database import Knowledge

# What a shell prints around the words for an end: `zsh: killed     python train.py`, `Aborted (core dumped)`.
_BY_A_SHELL = (
    r"(?i)^(?:\[\d+\][ +-]*)?(?:-?[\w./]+: )?(?:line \d+: +)?(?:\d+ +)?(?P<words>\w+(?: [\w/]+){0,3}?)"
    r"(?:: \d+)?(?: *\(core dumped\))?(?:  +\S.*)?\.?$"
)
# `exit 139`, `rc=-11`, `returned non-zero exit status 1`, `Process finished with exit code -1073741819`.
_AFTER_EXIT = (
    r"(?i)\b(?:exit(?:ed)?|exitcode|return ?code|returned|status|rc|exception code)[^\w-]{0,3}(?:with )?"
    r"(?:exit ?)?(?:code|status)?[^\w-]{0,3}(?P<status>0x[0-9a-f]{1,16}|-?\d{1,11}|[0-9a-f]{8})\b"
)
_AFTER_SIGNAL = r"(?i)\bsignal[ :=#(]{1,3}(?:(?P<number>\d{1,2})\b|(?P<words>[a-z]+(?: [a-z]+){0,2}))"
_PREFIXES = r"(?i)^(?:fatal python error: |windows fatal exception: |exception_)"
# `0xC0000409 subcode 7`, as WinDbg and our own reports name it.
_SUBCODE = r"(?i)^(?P<status>[^\s,:]+)[ ,:]+(?:\(?sub-?code[ :]*)?(?:0x(?P<hex>[0-9a-f]{1,8})|(?P<number>\d{1,10}))\)?$"
# How the file of a library ends, with the numbers of its version.
_FILE = r"(?i)^(?P<name>.+?)(?P<numbers>[-_.\d]*)(?P<ending>\.(?:dll|pyd|dylib|bc|so))(?:\.[\d.]+)?$"
_NUMBERS = r"[ _.:\d-]+$"
_NUMBERED = r"(?i)\b(?P<kind>errno|winerror|cuda error)[ :=]*(?P<number>\d{1,5})\b"
_AROUND = " \t.:;,!*'\"`()[]<>|"
# What looks like a name in a sentence: it has a capital, a digit or a sign that no plain word has.
_IS_A_NAME = r"[A-Z0-9_.]"
# Between these a message has its own words.
_BETWEEN = r"[\d'\"`()\[\]{}:,|\\^$?*+]+"

# A line that is this much more common with a cause than without it is explained by the cause's page.
_TELLING = 5
_LEAST_PART, _LEAST_PIECE = 9, 14
# Words that say only that something went wrong.
_SAYS_NOTHING = (
    r"^(?:a|an|and|any|are|at|be|can|cannot|code|crash|crashe[ds]|do|does|errors?|exception|fail|failed|failure|fails|"
    r"fix|for|found|from|has|have|help|how|i|in|is|it|its|line|my|no|not|of|on|or|problem|program|than|that|the|to|what|"
    r"when|which|why|with)$"
)
_WORD_OF_A_TITLE = r"[a-z0-9+#]+"


class Sought(NamedTuple):
    """The page of names.yaml that was asked for, or the cause that its words mean."""

    cause: str | None
    page: str | None


def status_of(wanted: str) -> ExitStatus | None:
    """The status that somebody typed: by itself, behind `exit` or `signal`, or as a shell prints it."""
    bare = patterns.compile(_PREFIXES).sub("", wanted)
    if status := statuses.parse(wanted) or statuses.parse(bare) or statuses.from_fast_fail(wanted):
        return status
    match = patterns.compile(_SUBCODE).search(wanted)
    status = statuses.parse(match["status"]) if match else None
    if match and status and status.ntstatus == statuses.FAST_FAIL_STATUS:
        return statuses.with_subcode(status, int(match["hex"], 16) if match["hex"] else int(match["number"]))
    printed = patterns.compile(_BY_A_SHELL).search(bare)
    if printed and (status := statuses.parse(printed["words"])):
        return status
    for pattern in (_AFTER_EXIT, _AFTER_SIGNAL):
        match = patterns.compile("^" + pattern + "$").search(wanted.strip(_AROUND))
        if match and (status := _status_in(match.groupdict())):
            return status
    return None


def status_in_line(line: str) -> ExitStatus | None:
    """The status that a pasted line names behind words such as `exit code`, or by the name of a signal."""
    for pattern in (_AFTER_EXIT, _AFTER_SIGNAL):
        for match in patterns.compile(pattern).finditer(line):
            if status := _status_in(match.groupdict()):
                return status
    names = (word for word in words_of(line) if word.startswith(("SIG", "STATUS_", "0x")))
    # An address is no status.
    return next((s for word in names if (s := statuses.parse(word)) and statuses.has_a_name(s)), None)


def _status_in(groups: Mapping[str, str | None]) -> ExitStatus | None:
    if typed := groups.get("status"):
        return statuses.parse(typed)
    if number := groups.get("number"):
        name = statuses.signal_named_by_number(int(number))
        return statuses.from_signal(name) if name else None
    return statuses.parse(groups.get("words") or "")


def exception_of(wanted: str, knowledge: Knowledge) -> str | None:
    """The exception with this name, with or without its module, or with one of its other names."""
    short = wanted.rsplit(".", 1)[-1]
    asked = {short.lower(), wanted.strip(_AROUND).lower()}
    # `ModuleNotFound`, as people shorten it; `key` is no such name.
    if any(letter.isupper() for letter in short[1:]):
        asked.add(f"{short}Error".lower())
    for name, page in knowledge.exceptions.items():
        if asked & {name.lower(), *(other.lower() for other in page.get("also") or ())}:
            return name
    return None


def exception_in_line(line: str, knowledge: Knowledge) -> str | None:
    """The exception that a pasted line begins with, or whose words it has."""
    if (before := line.partition(":")[0].strip()) and (name := exception_of(before, knowledge)):
        return name
    said = line.lower()
    for name, page in knowledge.exceptions.items():
        if any(" " in other and other.lower() in said for other in page.get("also") or ()):
            return name
    return None


def name_of(wanted: str, knowledge: Knowledge) -> Sought | None:
    """The library, setting, error number or word with this name: as it is written, else without its numbers."""
    known = _names(knowledge)
    return next((known[spelling] for spelling in _spellings(wanted) if spelling in known), None)


def name_in_line(line: str, knowledge: Knowledge) -> Sought | None:
    """What a pasted line names: an error number, else a library or a setting, else the longest known phrase."""
    known = _names(knowledge)
    for match in patterns.compile(_NUMBERED).finditer(line):
        if named := known.get(f"{match['kind']} {match['number']}".lower()):
            return named
    names = (word for word in words_of(line) if len(word) > 3 and patterns.compile(_IS_A_NAME).search(word))
    spelt = (spelling for word in names if not word.isalpha() or word.isupper() for spelling in _spellings(word))
    if named := next((known[spelling] for spelling in spelt if spelling in known), None):
        return named
    said = " ".join(line.lower().split())
    phrases = [phrase for phrase in known if " " in phrase and len(phrase) >= _LEAST_PART and phrase in said]
    return known[max(phrases, key=len)] if phrases else None


def words_of(line: str) -> Iterator[str]:
    """The words of a line without what stands around them."""
    return (word.strip(_AROUND) for word in line.replace("(", " ").replace("=", " ").split())


def _names(knowledge: Knowledge) -> dict[str, Sought]:
    known = {word.lower(): Sought(cause, None) for cause, words in knowledge.words.items() for word in words}
    for name, page in knowledge.names.items():
        known |= {word.lower(): Sought(None, name) for word in (name, *(page.get("also") or ()))}
    return known


def _spellings(wanted: str) -> Iterator[str]:
    """The ways in which a name may be listed, the exact one first."""
    lower = " ".join(wanted.lower().replace("*", " ").split()).strip(_AROUND)
    yield wanted.strip().lower()
    yield lower
    file = patterns.compile(_FILE).search(base_name(lower))
    name = file["name"] if file else base_name(lower)
    if file:
        yield name + file["ending"]
        yield name + file["numbers"]
    stem = patterns.compile(_NUMBERS).sub("", name)
    yield from (name, stem, stem.removeprefix("lib"))


def causes_of_line(line: str, knowledge: Knowledge) -> list[str]:
    """The causes for which a pasted line speaks, as it is written or in any case, the one it speaks for most first."""
    for prefix in ("", "(?i)"):
        if found := _causes(partial(_is_found, line, prefix, knowledge), knowledge):
            return found
    return []


def causes_of_part(line: str, knowledge: Knowledge) -> list[str]:
    """The causes that print these words, or their longest piece without numbers and names, in a longer line."""
    whole = line.lower().strip()
    pieces = (piece.strip() for piece in patterns.compile(_BETWEEN).sub("\n", whole).split("\n"))
    longest = max(pieces, key=len)
    parts = [words for words, least in ((whole, _LEAST_PART), (longest, _LEAST_PIECE)) if len(words) >= least]
    # A single plain word is in the patterns of many causes by chance.
    for part in (words for words in parts if not words.isalpha()):
        if found := _causes(partial(_is_part, part), knowledge):
            return found
    quoted = longest if len(longest) >= _LEAST_PIECE and longest.count(" ") > 1 else None
    return [slug for slug, cause in knowledge.causes.items() if quoted and quoted in _shown(cause.page)]


def _is_found(line: str, prefix: str, knowledge: Knowledge, pattern: str) -> bool:
    return knowledge.may_find(pattern, line.lower()) and patterns.compile(prefix + pattern).search(line) is not None


def _is_part(words: str, pattern: str) -> bool:
    return words in pattern.replace("\\", "").lower()


def _shown(page: Mapping[str, Any]) -> str:
    """What the page of a cause quotes of its messages."""
    shows = page.get("shows") or ""
    return (shows if isinstance(shows, str) else " ".join(shows)).lower()


def _causes(shows: Callable[[str], bool], knowledge: Knowledge) -> list[str]:
    weights: dict[str, float] = {}
    for signature in knowledge.signatures.values():
        for clue in signature.clues:
            if clue.p >= _TELLING * clue.b and any(shows(pattern) for pattern in _log_patterns(clue)):
                weights[signature.cause] = max(weights.get(signature.cause, 0.0), clue.p / clue.b)
    return sorted(weights, key=lambda cause: (-weights[cause], cause))


def _log_patterns(clue: Clue) -> Iterator[str]:
    """What a clue looks for in a log, by itself or as one of several wordings; not what it wants in a sequence."""
    for one in (clue, *(clue.inner if clue.kind == "any" else ())):
        if isinstance(one.sought, LogSeen):
            yield one.sought.pattern


def cause_by_last_part(wanted: str, knowledge: Knowledge) -> str | None:
    """The only cause whose name ends in these words: `openmp-duplicate`, `fork after init`."""
    last = "-".join(wanted.lower().replace("_", " ").replace("-", " ").split())
    found = [slug for slug in knowledge.causes if slug.lower() == wanted.lower() or slug.partition(".")[2] == last]
    return found[0] if last and len(found) == 1 else None


def named_by(wanted: str, knowledge: Knowledge) -> tuple[list[str], list[str]]:
    """The causes and the notices in whose names and titles all these words stand; those that say nothing aside."""
    find = patterns.compile(_WORD_OF_A_TITLE).findall
    sought = set(find(wanted.lower()))
    if not sought or any(patterns.compile(_SAYS_NOTHING).search(word) for word in sought):
        return [], []
    causes = [
        cause for cause in knowledge.causes.values() if sought <= set(find(f"{cause.slug} {cause.title}".lower()))
    ]
    causes.sort(key=lambda cause: -cause.prior)
    notices = [id for id in knowledge.notices if sought <= set(find(id))]
    return [cause.slug for cause in causes], notices


def near(wanted: str, knowledge: Knowledge) -> list[str]:
    """The names that look most like this one."""
    import difflib

    lower = wanted.strip(_AROUND).lower()
    by_lower = {name.lower(): name for name in _all_names(knowledge)}
    short = lower.rsplit(".", 1)[-1]
    close = difflib.get_close_matches(lower, list(by_lower), n=3, cutoff=0.75)
    close = close or difflib.get_close_matches(short, list(by_lower), n=3, cutoff=0.85)
    if not close and len(lower) > 3:
        close = [name for name in by_lower if lower in name][:3]
    return [by_lower[name] for name in close]


def _all_names(knowledge: Knowledge) -> Iterator[str]:
    pages: tuple[Mapping[str, Any], ...] = (knowledge.exceptions, knowledge.names)
    yield from (*knowledge.causes, *knowledge.signatures, *knowledge.notices, *statuses.known_names())
    for table in pages:
        for name, page in table.items():
            yield from (name, *(page.get("also") or ()))
    for words in knowledge.words.values():
        yield from words
