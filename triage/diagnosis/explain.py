"""The pages of `triage explain` (an exit code, a signal, an exception, a library, a setting, a cause, a family, a
signature, a line that frightens) and of `triage signatures sources`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from triage import status as statuses
from triage.clues.exit import ExitSeen
from triage.clues.interface import Clue
from triage.crash import Command, ExitStatus, Harm
from triage.diagnosis import topics
from triage.diagnosis.evidence import in_words, source_name
from triage.diagnosis.notices import notice_of
from triage.knowledge.database import Cause, Knowledge
from triage.knowledge.notice import Notice
from triage.knowledge.signature import GRADES, Signature
from triage.phrases import quote
from triage.report import Page

Sections = list[tuple[str, tuple[str, ...]]]
# These causes stand for all that has no other: what a line names besides says more.
_ANY_EXCEPTION = "other.python-exception"
_GENERAL = (_ANY_EXCEPTION, "other.pytorch", "other.jax")
# A longer list is not read.
_MOST_LISTED = 12


class UnknownTopic(Exception):
    """No page has this name; `near` holds similar names."""

    def __init__(self, topic: str, near: list[str]) -> None:
        super().__init__(topic)
        self.topic, self.near = topic, near


def explain(topic: str, knowledge: Knowledge) -> Page:
    """The page for a topic; raises UnknownTopic with similar names."""
    wanted = topic.strip()
    page = _page_of_name(wanted, knowledge) or _page_of_line(wanted, knowledge) or _page_of_words(wanted, knowledge)
    if page is None:
        raise UnknownTopic(topic, topics.near(wanted, knowledge))
    return page


def _page_of_name(wanted: str, knowledge: Knowledge) -> Page | None:
    """The page of something that has this name."""
    if wanted in knowledge.causes:
        return _cause_page(knowledge.causes[wanted], knowledge)
    if wanted in knowledge.signatures:
        return _signature_page(knowledge.signatures[wanted])
    if wanted in knowledge.notices:
        return _notice_page(knowledge.notices[wanted], knowledge)
    if family := _families(knowledge).get(wanted.lower()):
        return _family_page(wanted.lower(), family)
    if status := topics.status_of(wanted):
        return _status_page(status, wanted, knowledge)
    if exception := topics.exception_of(wanted, knowledge):
        return _exception_page(exception, knowledge)
    if name := topics.name_of(wanted, knowledge):
        return _page_of_sought(name, wanted, knowledge)
    if slug := topics.cause_by_last_part(wanted, knowledge):
        return _cause_page(knowledge.causes[slug], knowledge)
    return None


def _page_of_line(wanted: str, knowledge: Knowledge) -> Page | None:
    """The page of a pasted line: what it is, else what it speaks for, else what it names."""
    notice = notice_of(wanted, knowledge)
    if notice and not notice.fallback:
        return _notice_page(notice, knowledge)
    causes = topics.causes_of_line(wanted, knowledge)
    if causes and causes[0] not in _GENERAL:
        return _cause_page(knowledge.causes[causes[0]], knowledge)
    if status := topics.status_in_line(wanted):
        return _status_page(status, wanted, knowledge)
    parts = [] if causes else topics.causes_of_part(wanted, knowledge)
    if len(parts) == 1 and parts[0] not in _GENERAL:
        return _cause_page(knowledge.causes[parts[0]], knowledge)
    if name := topics.name_in_line(wanted, knowledge):
        return _page_of_sought(name, name.page or "", knowledge)
    if causes and causes[0] != _ANY_EXCEPTION:
        return _cause_page(knowledge.causes[causes[0]], knowledge)
    if exception := topics.exception_in_line(wanted, knowledge):
        return _exception_page(exception, knowledge)
    if notice:
        return _notice_page(notice, knowledge)
    causes = causes or parts
    if len(causes) == 1:
        return _cause_page(knowledge.causes[causes[0]], knowledge)
    return _causes_page(wanted, causes, knowledge) if causes else None


def _page_of_words(wanted: str, knowledge: Knowledge) -> Page | None:
    """The pages in whose titles these words stand: the page itself if it is the only one, else a list."""
    causes, notices = topics.named_by(wanted, knowledge)
    if not causes and not notices:
        return None
    if len(causes) == 1 and not notices:
        return _cause_page(knowledge.causes[causes[0]], knowledge)
    if len(notices) == 1 and not causes:
        return _notice_page(knowledge.notices[notices[0]], knowledge)
    return _list_page(wanted, causes, notices, knowledge)


# ---------------------------------------------------------------- a status, an exception, a signature


def _status_page(status: ExitStatus, asked: str, knowledge: Knowledge) -> Page:
    page = knowledge.status_page(status)
    subcodes = page.get("subcodes") or {}
    meaning = page.get("means") or _sentence(status.meaning)
    if status.subcode is not None:
        named = f"{status.subcode_name}: {status.meaning}" if status.subcode_name else status.meaning
        meaning = subcodes.get(status.subcode) or _sentence(named)
    sections: Sections = [("means", (meaning, *_spellings(status)))]
    if page.get("not"):
        sections.append(("does not mean", (page["not"],)))
    if subcodes and status.subcode is None:
        sections.append(("with a subcode", tuple(f"{code}: {text}" for code, text in subcodes.items())))
    causes = _causes_for(status, page, knowledge)
    if causes:
        sections.append(("likely causes", tuple(causes)))
    _add_ending(sections, page)
    signal = statuses.signal_named_by_number(status.code or 0) if status.signal is None and asked.isdigit() else None
    if signal:
        sections.append(("note", (f"As a signal number, {status.code} is {signal}: triage explain {signal}",)))
    title = f"{status.label}  {status.name}" if status.ntstatus is not None else status.label
    if status.signal_number and status.code not in (128 + status.signal_number, -status.signal_number):
        title = f"exit {status.code} ({status.signal})"
    more = Command(("triage", "analyze", "LOG", "--exit-code", status.typed)) if status.is_failure else None
    return Page(title, tuple(sections), more)


def _add_ending(sections: Sections, page: Mapping[str, Any]) -> None:
    """The last sections of statuses and exceptions: what to look for, what to do, where it is documented."""
    if page.get("look"):
        looks = tuple(f"{number}. {text}" for number, text in enumerate(page["look"], 1))
        sections.append(("what to look for, in this order", looks))
    if page.get("next"):
        sections.append(("next", (page["next"],)))
    if page.get("documented"):
        sections.append(("documented in", _documents(page)))


def _spellings(status: ExitStatus) -> tuple[str, ...]:
    """Other ways to write the same status."""
    if status.ntstatus is not None:
        signed = status.ntstatus - (1 << 32) if status.ntstatus >= 1 << 31 else status.ntstatus
        return (f"Also written 0x{status.ntstatus:08X}, {signed} and {status.ntstatus}.",)
    if number := status.signal_number:
        return (f"Also written {128 + number} (shell), -{number} (Python) and signal {number}.",)
    return ()


def _causes_for(status: ExitStatus, page: Mapping[str, Any], knowledge: Knowledge) -> list[str]:
    """The likely causes in order: those of the page, then those whose signatures expect this status."""
    names = {status.name, status.signal or "", f"0x{status.ntstatus or 0:08X}", f"exit {status.code}"}
    slugs = list(page.get("causes") or ())
    expecting = [
        s.cause
        for s in knowledge.signatures.values()
        for clue in s.clues
        if isinstance(clue.sought, ExitSeen) and names.intersection(clue.sought.statuses)
    ]
    expecting.sort(key=lambda slug: -knowledge.causes[slug].prior)
    slugs += [slug for slug in dict.fromkeys(expecting) if slug not in slugs]
    return _cause_lines(slugs, knowledge)


def _cause_lines(slugs: list[str], knowledge: Knowledge) -> list[str]:
    known = [slug for slug in slugs if slug in knowledge.causes]
    return [f"{i}. {slug}: {knowledge.causes[slug].title}" for i, slug in enumerate(known, 1)]


def _exception_page(name: str, knowledge: Knowledge) -> Page:
    page = knowledge.exceptions[name]
    sections: Sections = [("means", (page["means"],))]
    if page.get("not"):
        sections.append(("does not mean", (page["not"],)))
    causes = _cause_lines(list(page.get("causes") or ()), knowledge)
    if causes:
        sections.append(("likely causes", tuple(causes)))
    _add_ending(sections, page)
    return Page(name, tuple(sections), Command(("triage", "analyze", "LOG")))


def _page_of_sought(sought: topics.Sought, asked: str, knowledge: Knowledge) -> Page:
    """The page of a library, a setting, an error number or a word of a failure."""
    if sought.page is None:
        return _cause_page(knowledge.causes[sought.cause or ""], knowledge)
    page = knowledge.names[sought.page]
    sections: Sections = [("means", (page["means"],))]
    if page.get("not"):
        sections.append(("what it is not", (page["not"],)))
    if causes := _cause_lines(list(page.get("causes") or ()), knowledge):
        sections.append(("causes that it has to do with", tuple(causes)))
    _add_ending(sections, page)
    return Page(f"{asked}  {page['title']}", tuple(sections), Command(("triage", "analyze", "LOG")))


def _causes_page(wanted: str, slugs: list[str], knowledge: Knowledge) -> Page:
    """The causes that print the same words, the commonest first."""
    slugs = sorted(slugs, key=lambda slug: -knowledge.causes[slug].prior)
    section = _first_of("printed with these causes, the commonest first", _cause_lines(slugs, knowledge))
    return Page(f"{wanted}  {len(slugs)} causes", (section,), Command(("triage", "analyze", "LOG")))


def _list_page(wanted: str, causes: list[str], notices: list[str], knowledge: Knowledge) -> Page:
    """The pages whose titles have the same words."""
    sections: Sections = []
    if causes:
        lines = [f"{slug}: {knowledge.causes[slug].title}" for slug in causes]
        sections.append(_first_of("causes, the commonest first", lines))
    if notices:
        lines = [f"{id}: {quote(knowledge.notices[id].lines[0])}" for id in notices]
        sections.append(_first_of("lines that frighten and end nothing", lines))
    more = Command(("triage", "explain", (causes or notices)[0]))
    return Page(f"{wanted}  {len(causes) + len(notices)} pages", tuple(sections), more)


def _first_of(heading: str, lines: list[str]) -> tuple[str, tuple[str, ...]]:
    """A section of as many lines as are read, and how many more there are."""
    more = len(lines) - _MOST_LISTED
    return heading, (*lines[:_MOST_LISTED], *((f"and {more} more",) if more > 0 else ()))


def _signature_page(signature: Signature) -> Page:
    clues = tuple(f"{in_words(clue)} ({clue.kind}, seen in {clue.p:.0%})" for clue in signature.clues)
    fixes = tuple(f"{i}. {fix.otherwise or fix.do}" for i, fix in enumerate(signature.fix, 1))
    sections: Sections = [("cause", (signature.cause,)), ("clues", clues), ("fix", fixes)]
    if signature.note:
        sections.append(("note", (signature.note,)))
    sections.append(("documented in", tuple(source_name(source) for source in signature.sources)))
    more = Command(("triage", "explain", signature.cause))
    return Page(f"{signature.id}  {signature.title}", tuple(sections), more)


_HARMS: Mapping[Harm, str] = {
    "none": "Harmless.",
    "numbers-differ": "Results may differ a little.",
    "slower": "It is slower than it could be.",
    "feature-off": "A feature is off.",
    "no-gpu": "The GPU is not used.",
    "check": "It depends; look.",
}


def _notice_page(notice: Notice, knowledge: Knowledge) -> Page:
    """What a frightening line means, what it costs, how to silence it, and of what it may be the root."""
    sections: Sections = [
        ("what is printed", notice.lines),
        ("who prints it", (notice.who + (f" ({notice.versions})" if notice.versions else ""),)),
        ("means", (notice.means,)),
        ("what it costs", (notice.cost or _HARMS[notice.harm],)),
        ("to silence it", (notice.silence,)),
    ]
    if notice.becomes:
        root = f"{notice.becomes}: {knowledge.causes[notice.becomes].title}"
        sections.append(("if something did fail, it may be the root", (root,)))
    sections.append(("documented in", notice.sources))
    more = Command(("triage", "explain", notice.becomes)) if notice.becomes else Command(("triage", "analyze", "LOG"))
    return Page(f"{notice.id}  {_HARMS[notice.harm]}", tuple(sections), more)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""


# ---------------------------------------------------------------- a cause, a family of causes

_GRADE_SAYS = {
    "reproduced": "a script in fixtures/crashers makes it happen",
    "confirmed": "somebody who had it was cured",
    "documented": "read in public reports and manuals, not tried here",
    "claimed": "somebody says so, nobody has shown it",
    "different": "it fails, but otherwise than claimed",
    "partly": "it holds in part",
    "untested": "it could not be tried",
    "refuted": "tried, and it does not hold",
}
_WITHOUT_STATUS = {"hang": "no end: it hangs", "timeout": "no end: it hangs"}
_SOURCE_WORDS = {"issue": "reports", "reproducer": "scripts", "document": "claims in"}


def _cause_page(cause: Cause, knowledge: Knowledge) -> Page:
    """What happens inside, how it shows and ends, how to be sure, the fix, similar causes, and the proof."""
    page = cause.page
    own = [s for s in knowledge.signatures.values() if s.cause == cause.slug]
    sections: Sections = [
        ("what happens inside", _listed(page.get("inside"))),
        ("how it shows", _listed(page.get("shows"))),
        ("how it ends", _endings(page, own)),
        ("how to be sure", _listed(page.get("sure"))),
        ("fix", _numbered(page.get("fix"))),
        ("mistaken for", tuple(f"{slug}: {why}" for slug, why in (page.get("mistaken_for") or {}).items())),
        ("how well it is proven", _proof(own)),
        ("signatures", tuple(f"{s.id} ({s.grade}): {s.title}" for s in own)),
        ("documented in", (*_documents(page), *_sources(own))),
    ]
    best = min(own, key=lambda s: GRADES.index(s.grade), default=None)
    more = ("signatures", "show", best.id) if best else ("run", "--framework-log", "train.py")
    title = f"{cause.slug}  {cause.title}"
    return Page(title, tuple(section for section in sections if section[1]), Command(("triage", *more)))


def _families(knowledge: Knowledge) -> dict[str, list[Cause]]:
    """The families of causes (`gpu`, `host`, ...), in each the commonest cause first."""
    found: dict[str, list[Cause]] = {}
    for cause in sorted(knowledge.causes.values(), key=lambda cause: -cause.prior):
        family, dot, _ = cause.slug.partition(".")
        if dot:
            found.setdefault(family, []).append(cause)
    return found


def _family_page(family: str, causes: list[Cause]) -> Page:
    """Every cause of a family, the commonest first."""
    lines = tuple(f"{cause.slug}: {cause.title}" for cause in causes)
    more = Command(("triage", "explain", causes[0].slug))
    return Page(f"{family}  {len(causes)} causes", (("the commonest first", lines),), more)


def _documents(page: Mapping[str, Any]) -> tuple[str, ...]:
    """The public documents that a page names."""
    return tuple(f"{entry['title']}: {entry['where']}" for entry in page.get("documented") or ())


def _listed(text: str | list[str] | None) -> tuple[str, ...]:
    """One text as it is, several with a dash each."""
    if isinstance(text, list):
        return tuple(f"- {one}" for one in text)
    return (text,) if text else ()


def _numbered(text: str | list[str] | None) -> tuple[str, ...]:
    if isinstance(text, list):
        return tuple(f"{number}. {one}" for number, one in enumerate(text, 1))
    return (text,) if text else ()


def _endings(page: Mapping[str, Any], own: list[Signature]) -> tuple[str, ...]:
    """The exit statuses that the page names, else those that the cause's signatures look for."""
    names = page.get("exits") or list(dict.fromkeys(name for s in own for clue in s.clues for name in _expected(clue)))
    endings = [_WITHOUT_STATUS.get(name) or _label(name) for name in names]
    return ("; ".join(endings),) if endings else ()


def _label(name: str) -> str:
    status = statuses.parse(name.removeprefix("exit "))
    return status.label if status and status.is_death else name


def _expected(clue: Clue) -> Iterator[str]:
    """The exit statuses that a clue looks for, those inside a combinator included."""
    if isinstance(clue.sought, ExitSeen):
        yield from clue.sought.statuses
    for inner in clue.inner:
        yield from _expected(inner)


def _proof(own: list[Signature]) -> tuple[str, ...]:
    """How many signatures have which grade, the best first."""
    counts = Counter(s.grade for s in own)
    return tuple(
        f"{grade}: {counts[grade]} of {len(own)} signature{'s' * (len(own) > 1)} ({_GRADE_SAYS[grade]})"
        for grade in GRADES
        if counts[grade]
    )


def _sources(own: list[Signature]) -> tuple[str, ...]:
    """What the signatures rest on, one line for each kind of source."""
    kinds: dict[str, dict[str, None]] = {}
    for signature in own:
        for source in signature.sources:
            kind, name = next(iter(source.items()))
            claim = f" ({source['claim']})" if "claim" in source else ""
            kinds.setdefault(kind, {})[f"{name}{claim}"] = None
    return tuple(f"{_SOURCE_WORDS.get(kind, kind)}: {', '.join(names)}" for kind, names in kinds.items())


# ---------------------------------------------------------------- what the knowledge rests on

_VERDICTS = {
    "reproduced": "holds",
    "partly": "holds in part",
    "different": "fails, but otherwise than claimed",
    "refuted": "does not hold",
    "untested": "could not be tested",
}


def sources_page(knowledge: Knowledge) -> Page:
    """Every document's claims by verdict, each with its proof, then the sources outside documents."""
    cited: dict[int, list[str]] = defaultdict(list)
    others: list[str] = []
    for signature in sorted(knowledge.signatures.values(), key=lambda s: s.id):
        for source in signature.sources:
            if "claim" in source:
                cited[source["claim"]].append(signature.id)
            else:
                others.append(f"{signature.id}: {source_name(source)}")
    claims = knowledge.documents.get("claims") or {}
    sections: list[tuple[str, tuple[str, ...]]] = []
    documents = [
        (name, f"{name}  {about['title']}") for name, about in knowledge.documents.get("documents", {}).items()
    ]
    for document, heading in (*documents, (None, "heard everywhere")):
        own = {number: claim for number, claim in claims.items() if claim["document"] == document}
        for grade, verdict in _VERDICTS.items():
            entries = [_entry(number, claim, cited[number]) for number, claim in own.items() if claim["grade"] == grade]
            if entries:
                sections.append((f"{heading}: {verdict}", tuple(entries)))
    sections.append(("outside these documents", tuple(others)))
    counts = {grade: sum(claim["grade"] == grade for claim in claims.values()) for grade in _VERDICTS}
    by_grade = ", ".join(f"{count} {grade}" for grade, count in counts.items())
    return Page(f"{len(claims)} claims: {by_grade}", tuple(sections), Command(("triage", "signatures", "list")))


def _entry(number: int, claim: Mapping[str, Any], cited: list[str]) -> str:
    """A claim, what really happens, and the signatures and the reproducer that show it."""
    proof = [f"see {', '.join(dict.fromkeys([*(claim.get('supports') or ()), *cited]))}"]
    proof = [] if proof == ["see "] else proof
    if "reproducer" in claim:
        proof.append(f"tried in {claim['reproducer']}")
    if "not_run" in claim:
        proof.append(claim["not_run"])
    if "also_in" in claim:
        proof.append(f"also in {', '.join(claim['also_in'])}")
    return f"{number}. {claim['says']} Really: {claim['outcome']}" + (f" ({'; '.join(proof)})" if proof else "")
