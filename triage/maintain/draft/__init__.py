"""A signature learned from one log: its telling lines as patterns, a test on that log, the healthy logs as others.

Whatever is handed out was proved: it lints clean, its tests pass, and the log's first cause is the drafted one.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import triage
from triage.knowledge.loading import Knowledge
from triage.knowledge.pack import CAUSES, our_directory
from triage.knowledge.yaml_packs import our_pack, read_pack
from triage.maintain.draft.candidates import Candidate, candidates, exit_clue
from triage.maintain.draft.writing import cause_text, signature_text
from triage.maintain.prove import FAILED, lint_packs, test_signatures
from triage.readers import Source, Unreadable
from triage.readers.log.lines import read_lines
from triage.readers.magic import SNIFF_BYTES, sniff
from triage.redaction import redacted_text
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Report

# Causes that say no more than that a program raised something: naming the failure itself is better.
_ANYBODYS = "other.python-exception"
_HEALTHY = Path("fixtures/logs/healthy")
# A log in a pack is an example: of a long one the beginning and the end are enough.
_KEEP_HEAD, _KEEP_TAIL = 100_000, 300_000
_TEXT_CLUES = 2
_PRIORS = (0.01, 0.05)
_SLUG_WORDS = 5
_TITLE = 80


class NothingToLearn(Exception):
    """No signature can be made of this log; the text says why, and what to do."""


class Draft(NamedTuple):
    """A signature with all the files it needs, by their path in the pack; `notes` is what the person should know."""

    id: str
    cause: str
    signature: str
    cause_page: str | None
    files: Mapping[str, str]
    nearest: tuple[str, ...]
    notes: tuple[str, ...]


def learn(
    log: str | PathLike[str],
    *,
    id: str | None = None,
    cause: str | None = None,
    title: str | None = None,
    exit_code: str | None = None,
    into: str | None = None,
    force: bool = False,
) -> Draft:
    """Draft a signature from a log; raises NothingToLearn."""
    text = _text_of(Source.of(log))
    name = Source.of(log).label
    target = (into,) if into and (Path(into) / "pack.yaml").is_file() and not _is_ours(into) else ()
    knowledge = triage.load_knowledge(target)
    report = triage.analyze(text.encode(), exit_code=exit_code, knowledge=knowledge, redact=False)
    _refuse_what_needs_none(report, name, force)
    healthy = _healthy_logs()
    found = candidates(report.crash, knowledge, list(healthy.values()))
    if not found:
        raise NothingToLearn(
            f"Nothing in {name} sets this failure apart: no error line, exception or native frame that healthy runs "
            "do not print too. Get more of its log (triage run --tf-log SCRIPT) and try again."
        )
    in_tree = bool(into) and _is_ours(into or "")
    if in_tree and cause is None:
        near = ", ".join(_nearest(report)) or "none"
        raise NothingToLearn(f"This pack takes known causes: give one with --cause. The nearest here: {near}.")
    slug = _slug(found[0].gist)
    family = cause.split(".")[0] if cause else "own"
    id = id or f"{family}/{slug}"
    new_cause = cause is None
    cause = cause or id.replace("/", ".")
    if new_cause and cause in knowledge.causes:
        new_cause = False
    title = title or _title(found[0])
    where = f"fixtures/logs/composed/{id.split('/')[1]}.log" if in_tree else f"logs/{id.split('/')[1]}.log"
    files = {where: text}
    differ = []
    for file, content in list(healthy.items()):
        files[str(_HEALTHY / file)] = content
        if file.startswith("fit-"):
            differ.append(f"{{log: {_HEALTHY / file}, cause: no-crash}}")
    without = _without(text, found)
    if without.strip():
        files[where.replace(".log", "-without.log")] = without
        differ.append(f"{{log: {where.replace('.log', '-without.log')}}}   # the same log without the lines above")
    last = ""
    for prior in _PRIORS:
        clues = _clues(found, report)
        signature = signature_text(title, cause, clues, found[0].gist, where, exit_code, differ)
        page = cause_text(cause, title, found[0].gist, prior) if new_cause else None
        nearest = _nearest(report)
        draft = Draft(id, cause, signature, page, files, nearest, _notes(healthy))
        last = _fault_of(draft, target, exit_code, where)
        if not last:
            return draft
        if page is None:
            break
    raise NothingToLearn(f"A signature made of {name} does not hold: {last}.")


def write(draft: Draft, into: str) -> list[str]:
    """Write a draft into a pack, which is made where there is none; raises FileExistsError for what is there."""
    directory = Path(into)
    root = Path(read_pack(into).root) if (directory / "pack.yaml").is_file() else directory
    signature = directory / f"{draft.id}.yaml"
    own = [path for path in draft.files if not path.startswith(str(_HEALTHY))]
    for path in (signature, *(root / path for path in own)):
        if path.exists():
            raise FileExistsError(str(path))
    written = [signature, *(root / path for path in own)]
    _write(signature, draft.signature)
    for name, content in draft.files.items():
        if name in own or not (root / name).exists():
            _write(root / name, content)
    if draft.cause_page is not None:
        causes = directory / draft.cause.split(".")[0] / f"{CAUSES}.yaml"
        before = causes.read_text("utf-8") if causes.exists() else ""
        _write(causes, before + ("\n" if before and not before.endswith("\n\n") else "") + draft.cause_page)
        written.append(causes)
    if not (directory / "pack.yaml").exists():
        _write(directory / "pack.yaml", f"schema: 1\nname: {directory.resolve().name}\n")
        written.append(directory / "pack.yaml")
    return [str(path) for path in written]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _is_ours(into: str) -> bool:
    return Path(into).resolve() == Path(our_directory()).resolve()


def _text_of(source: Source) -> str:
    """The log as text without anything private, its middle left out where it is long."""
    try:
        with source.open() as stream:
            head = stream.read(SNIFF_BYTES)
            kind = sniff(head)
            if kind != "log":
                raise NothingToLearn(f"{source.label} is not a log in plain text but {kind}; give the console output.")
            lines = read_lines(head, stream).lines
    except Unreadable as error:
        raise NothingToLearn(str(error)) from None
    text = redacted_text("\n".join(lines) + "\n")
    if len(text) > _KEEP_HEAD + _KEEP_TAIL:
        beginning, end = text[:_KEEP_HEAD], text[-_KEEP_TAIL:]
        text = beginning.rsplit("\n", 1)[0] + "\n" + end.split("\n", 1)[-1]
    return text


def _refuse_what_needs_none(report: Report, name: str, force: bool) -> None:
    if report.crash.is_empty or not any(not log.is_blank for log in report.crash.logs):
        raise NothingToLearn(f"{name} is empty, so there is nothing to draft from.")
    if report.verdict == NO_CRASH:
        raise NothingToLearn(
            f"{name} shows no crash ({report.summary[0].lower()}{report.summary[1:-1]}): no signature."
        )
    first = report.diagnoses[0] if report.diagnoses else None
    if first and report.verdict == DIAGNOSED and first.cause != _ANYBODYS and not force:
        raise NothingToLearn(
            f"{name} is diagnosed already: {first.cause}, {first.confidence:.0%}, by the signature {first.signature}. "
            "To draft another one all the same, add --force."
        )


def _healthy_logs() -> dict[str, str]:
    root = Path(our_pack().root)
    return {path.name: path.read_text("utf-8") for path in sorted((root / _HEALTHY).glob("*.log"))}


def _notes(healthy: Mapping[str, str]) -> tuple[str, ...]:
    if healthy:
        return ()
    return (
        "There are no healthy logs in this installation: the patterns were not tried on any, so try them yourself.",
    )


def _clues(found: list[Candidate], report: Report) -> list[Mapping[str, Any]]:
    texts = [candidate for candidate in found if candidate.is_text][:_TEXT_CLUES]
    frames = [candidate for candidate in found if not candidate.is_text]
    ended = exit_clue(report.crash)
    clues = [candidate.clue for candidate in (*texts, *frames)] + ([ended] if ended else [])
    # Two exceptions of one type would have one name.
    ids = [clue["id"] for clue in clues]
    return [{**clue, "id": clue["id"] + ("-2" if clue["id"] in ids[:at] else "")} for at, clue in enumerate(clues)]


def _without(text: str, found: list[Candidate]) -> str:
    """The log without the lines that the clues are about: what is left must not be taken for this failure."""
    words = [candidate.words for candidate in found]
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in words))


def _nearest(report: Report) -> tuple[str, ...]:
    told = [near.cause for near in report.nearest] + [d.cause for d in report.diagnoses if report.verdict != UNKNOWN]
    return tuple(dict.fromkeys(told))[:3]


def _title(candidate: Candidate) -> str:
    """One line; what stands in brackets is mostly a detail."""
    text = candidate.gist.split(" (")[0]
    text = text if len(text) <= _TITLE else text[:_TITLE].rsplit(" ", 1)[0]
    return text[:1].upper() + text[1:].rstrip(" .:,")


def _slug(words: str) -> str:
    parts = re.findall(r"[a-z]+", words.lower())
    telling = [part for part in parts if len(part) > 2 and part not in ("the", "and", "for", "with", "not", "was")]
    slug = "-".join((telling or parts)[:_SLUG_WORDS])
    return slug if slug and slug != CAUSES else "failure"


def _fault_of(draft: Draft, target: tuple[str, ...], exit_code: str | None, where: str) -> str:
    """What is wrong with a draft when it is used, or nothing: it is tried in a pack of its own."""
    with tempfile.TemporaryDirectory(prefix="triage-draft-") as folder:
        pack = str(Path(folder) / "draft")
        write(draft, pack)
        for problem in lint_packs((*target, pack)).problems:
            if problem.file.startswith(pack):
                return f"{problem.what}"
        knowledge = triage.load_knowledge((*target, pack))
        for outcome in test_signatures(knowledge, (draft.id,)):
            if outcome.result == FAILED:
                return f"{outcome.log}: {outcome.why}"
        return _not_first(draft, Path(pack) / where, exit_code, knowledge)


def _not_first(draft: Draft, log: Path, exit_code: str | None, knowledge: Knowledge) -> str:
    report = triage.analyze(log, exit_code=exit_code, knowledge=knowledge)
    first = report.diagnoses[0]
    return "" if first.cause == draft.cause else f"{first.cause} still comes before it"


def suggestions(draft: Draft) -> Iterator[str]:
    """What to tell beside a draft."""
    if draft.cause_page is not None:
        near = f" The nearest known ones: {', '.join(draft.nearest)} (--cause)." if draft.nearest else ""
        yield f"{draft.cause} is a new cause of this pack; its page is a draft too.{near}"
    yield from draft.notes
