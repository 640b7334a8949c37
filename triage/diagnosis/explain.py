"""Pages for everything a person may have in hand: an exit code, a signal, an exception, a cause, a signature."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from triage import status as statuses
from triage.clues.exit import ExitSeen
from triage.crash import Command, ExitStatus
from triage.diagnosis.cause_page import Sections, cause_page, documents, families, family_page
from triage.diagnosis.evidence import in_words, source_name
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import Signature
from triage.report import Page


class UnknownTopic(Exception):
    """Nothing is known by this name; `near` are names that are close to it."""

    def __init__(self, topic: str, near: list[str]) -> None:
        super().__init__(topic)
        self.topic, self.near = topic, near


def explain(topic: str, knowledge: Knowledge) -> Page:
    """The page for a topic; raises UnknownTopic with what was perhaps meant."""
    wanted = topic.strip()
    if wanted in knowledge.causes:
        return cause_page(knowledge.causes[wanted], knowledge)
    if wanted in knowledge.signatures:
        return _signature_page(knowledge.signatures[wanted])
    family = families(knowledge).get(wanted.lower())
    if family:
        return family_page(wanted.lower(), family)
    status = statuses.parse(wanted) or _from_exit_words(wanted)
    if status is not None:
        return _status_page(status, wanted, knowledge)
    name = _exception_name(wanted, knowledge)
    if name is not None:
        return _exception_page(name, knowledge)
    raise UnknownTopic(topic, _near(wanted, knowledge))


def _from_exit_words(wanted: str) -> ExitStatus | None:
    match = re.fullmatch(r"(?i)exit(?: code| status)?[ :]*([^\s:]\S*)", wanted)
    if match:
        return statuses.parse(match[1])
    # `0xC0000409 subcode 7`, as WinDbg and our own reports name it; or the subcode's name.
    match = re.fullmatch(r"(?i)([^\s,:]+)[ ,:]+(?:\(?sub-?code[ :]*)?(?:0x([0-9a-f]{1,8})|(\d{1,10}))\)?", wanted)
    status = statuses.parse(match[1]) if match else None
    if match and status and status.ntstatus == statuses.FAST_FAIL_STATUS:
        return statuses.with_subcode(status, int(match[2], 16) if match[2] else int(match[3]))
    return statuses.from_fast_fail(wanted)


def _exception_name(wanted: str, knowledge: Knowledge) -> str | None:
    short = wanted.rsplit(".", 1)[-1].lower()
    for name, page in knowledge.exceptions.items():
        if short in (name.lower(), *(other.lower() for other in page.get("also") or ())):
            return name
    return None


def _near(wanted: str, knowledge: Knowledge) -> list[str]:
    also = [other for page in knowledge.exceptions.values() for other in page.get("also") or ()]
    names = [*knowledge.causes, *knowledge.signatures, *knowledge.exceptions, *also, *statuses.known_names()]
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(wanted.lower(), list(by_lower), n=3, cutoff=0.6)
    if not near:
        near = [lower for lower in by_lower if len(wanted) > 3 and wanted.lower() in lower][:3]
    return [by_lower[lower] for lower in near]


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
    more = Command(("triage", "analyze", "LOG", "--exit-code", status.typed)) if status.is_failure else None
    return Page(title, tuple(sections), more)


def _add_ending(sections: Sections, page: Mapping[str, Any]) -> None:
    """What statuses and exceptions end with: what to look for, what to do, where it is documented."""
    if page.get("look"):
        looks = tuple(f"{number}. {text}" for number, text in enumerate(page["look"], 1))
        sections.append(("what to look for, in this order", looks))
    if page.get("next"):
        sections.append(("next", (page["next"],)))
    if page.get("documented"):
        sections.append(("documented in", documents(page)))


def _spellings(status: ExitStatus) -> tuple[str, ...]:
    """The other ways in which the same status is written."""
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


def _signature_page(signature: Signature) -> Page:
    clues = tuple(f"{in_words(clue)} ({clue.kind}, seen in {clue.p:.0%})" for clue in signature.clues)
    fixes = tuple(f"{i}. {fix.otherwise or fix.do}" for i, fix in enumerate(signature.fix, 1))
    sections: Sections = [("cause", (signature.cause,)), ("clues", clues), ("fix", fixes)]
    if signature.note:
        sections.append(("note", (signature.note,)))
    sections.append(("documented in", tuple(source_name(source) for source in signature.sources)))
    more = Command(("triage", "explain", signature.cause))
    return Page(f"{signature.id}  {signature.title}", tuple(sections), more)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""
