"""A signature drafted from one log: its error lines as patterns, that log as its test, healthy logs as negative ones.

A draft has been proved before it is returned: it lints clean, its tests pass, and it is the log's first cause.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import triage
from triage.knowledge.database import Knowledge
from triage.knowledge.pack import CAUSES, our_directory
from triage.knowledge.pack_files import our_pack, read_pack
from triage.maintain.draft.candidates import Candidate, candidates, exit_clue
from triage.maintain.draft.template import cause_text, signature_text
from triage.maintain.prove import FAILED, lint_packs, test_signatures
from triage.readers import Source, Unreadable
from triage.readers.log.lines import read_lines
from triage.readers.magic import SNIFF_BYTES, sniff
from triage.redaction import redacted_text
from triage.report import DIAGNOSED, NO_CRASH, UNKNOWN, Report

# This cause only says that a program raised something: naming the failure itself is better.
_CATCH_ALL = "other.python-exception"
_HEALTHY = Path("fixtures/logs/healthy")
# Of a long log, the beginning and the end are enough for an example.
_KEEP_HEAD, _KEEP_TAIL = 100_000, 300_000
_TEXT_CLUES = 2
_PRIORS = (0.01, 0.05)
_SLUG_WORDS = 5
_TITLE = 80


class NothingToLearn(Exception):
    """No signature can be made from this log; the text says why, and what to do."""


class Draft(NamedTuple):
    """A signature with all the files it needs, by their path in the pack; `notes` are for the person."""

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
    source = Source.of(log)
    text, name = _text_of(source), source.label
    in_tree = into is not None and _is_ours(into)
    target = (into,) if into and (Path(into) / "pack.yaml").is_file() and not in_tree else ()
    knowledge = triage.load_knowledge(target)
    report = triage.analyze(text.encode(), exit_code=exit_code, knowledge=knowledge, redact=False)
    _refuse_what_needs_none(report, name, force)
    healthy = _healthy_logs()
    found = candidates(report.crash, knowledge, list(healthy.values()))
    if not found:
        raise NothingToLearn(
            f"Nothing in {name} sets this failure apart: no error line, exception or native frame that healthy runs "
            "do not print too. Get more of its log (triage run --framework-log SCRIPT) and try again."
        )
    nearest = _nearest(report)
    if in_tree and cause is None:
        near = ", ".join(nearest) or "none"
        raise NothingToLearn(f"This pack takes known causes: give one with --cause. The nearest here: {near}.")
    family = cause.split(".")[0] if cause else "own"
    id = id or f"{family}/{_slug(found[0].gist)}"
    has_new_cause = cause is None and id.replace("/", ".") not in knowledge.causes
    cause = cause or id.replace("/", ".")
    title = title or _title(found[0])
    where = f"{'fixtures/logs/composed' if in_tree else 'logs'}/{id.split('/')[1]}.log"
    files, differ = _example_logs(where, text, found, healthy)
    framework = report.crash.program.framework if report.crash.program else None
    clues = _clues(found, report)
    signature = signature_text(title, cause, framework, clues, found[0].gist, where, exit_code, differ)
    fault = ""
    for prior in _PRIORS if has_new_cause else (None,):
        page = cause_text(cause, title, found[0].gist, prior) if prior is not None else None
        draft = Draft(id, cause, signature, page, files, nearest, _notes(healthy))
        fault = _fault_of(draft, target, exit_code, where)
        if not fault:
            return draft
    raise NothingToLearn(f"A signature made from {name} does not hold: {fault}.")


def _example_logs(
    where: str, text: str, found: list[Candidate], healthy: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The logs that a draft is tested on by their path in the pack, and those on which it must stay silent."""
    files = {where: text} | {str(_HEALTHY / name): content for name, content in healthy.items()}
    differ = [f"{{log: {_HEALTHY / name}, cause: no-crash}}" for name in healthy if name.startswith("fit-")]
    without = _without(text, found)
    if without.strip():
        path = where.replace(".log", "-without.log")
        files[path] = without
        differ.append(f"{{log: {path}}}   # the same log without the lines above")
    return files, differ


def write(draft: Draft, into: str) -> list[str]:
    """Write a draft into a pack, made if there is none; raises FileExistsError rather than overwrite a file."""
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
    """The log as text, redacted, and without its middle where it is long."""
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
    if first and report.verdict == DIAGNOSED and first.cause != _CATCH_ALL and not force:
        raise NothingToLearn(
            f"{name} is diagnosed already: {first.cause}, {first.confidence:.0%}, by the signature {first.signature}. "
            "To draft another one anyway, add --force."
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
    # Two exceptions of one type would have the same id.
    ids = [clue["id"] for clue in clues]
    return [{**clue, "id": clue["id"] + ("-2" if clue["id"] in ids[:at] else "")} for at, clue in enumerate(clues)]


def _without(text: str, found: list[Candidate]) -> str:
    """The log without the lines that the clues match: the rest must not be taken for this failure."""
    words = [candidate.words for candidate in found]
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in words))


def _nearest(report: Report) -> tuple[str, ...]:
    causes = [near.cause for near in report.nearest] + [d.cause for d in report.diagnoses if report.verdict != UNKNOWN]
    return tuple(dict.fromkeys(causes))[:3]


def _title(candidate: Candidate) -> str:
    """One line; what is in brackets is mostly a detail."""
    text = candidate.gist.split(" (")[0]
    text = text if len(text) <= _TITLE else text[:_TITLE].rsplit(" ", 1)[0]
    return text[:1].upper() + text[1:].rstrip(" .:,")


def _slug(words: str) -> str:
    parts = re.findall(r"[a-z]+", words.lower())
    meaningful = [part for part in parts if len(part) > 2 and part not in ("the", "and", "for", "with", "not", "was")]
    slug = "-".join((meaningful or parts)[:_SLUG_WORDS])
    return slug if slug and slug != CAUSES else "failure"


def _fault_of(draft: Draft, target: tuple[str, ...], exit_code: str | None, where: str) -> str:
    """What is wrong with a draft when it is tried in a pack of its own; empty where nothing is."""
    with tempfile.TemporaryDirectory(prefix="triage-draft-") as folder:
        pack = str(Path(folder) / "draft")
        write(draft, pack)
        for problem in lint_packs((*target, pack)).problems:
            if problem.file.startswith(pack):
                return problem.what
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
    """What the person should know about a draft."""
    if draft.cause_page is not None:
        near = f" The nearest known ones: {', '.join(draft.nearest)} (--cause)." if draft.nearest else ""
        yield f"{draft.cause} is a new cause in this pack; its page is a draft too.{near}"
    yield from draft.notes
