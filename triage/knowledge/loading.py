"""Packs -> Knowledge: signatures, causes and tables ready to be used, with what was wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from triage.crash import ExitStatus
from triage.knowledge.clues import SignatureError
from triage.knowledge.pack import PackData, Problem, our_directory
from triage.knowledge.signature import Signature, parse_signature

UNKNOWN_CAUSE_PRIOR = 0.002


class Cause(NamedTuple):
    """A cause's page and how common it is."""

    slug: str
    prior: float
    title: str
    page: Mapping[str, Any]


class Knowledge(NamedTuple):
    """Everything known, ours and private packs together."""

    signatures: Mapping[str, Signature]
    causes: Mapping[str, Cause]
    noise: tuple[str, ...]
    life: tuple[str, ...]
    statuses: Mapping[str, Any]
    exceptions: Mapping[str, Any]
    documents: Mapping[str, Any]
    literals: Mapping[str, tuple[str, ...]]
    digest: str
    packs: tuple[str, ...]
    directories: tuple[str, ...]
    problems: tuple[Problem, ...]

    def status_page(self, status: ExitStatus | None) -> Mapping[str, Any]:
        """The page of an exit status, empty where there is none."""
        if status is None:
            return {}
        if status.ntstatus is not None:
            key = f"0x{status.ntstatus:08X}"
        else:
            key = status.signal or f"exit {status.code}"
        return self.statuses.get(key) or {}


def load(private: tuple[str, ...] = ()) -> Knowledge:
    """Our knowledge with private packs laid over it; what is broken in those is named and left out."""
    ours, literals = _ours()
    packs = [ours]
    if private:
        from triage.knowledge.yaml_packs import read_pack

        packs += [read_pack(directory) for directory in private]
    return assemble(packs, literals)


def assemble(packs: list[PackData], literals: Mapping[str, tuple[str, ...]] | None = None) -> Knowledge:
    """Lay packs over one another, the first lowest."""
    causes: dict[str, Cause] = {}
    signatures: dict[str, Signature] = {}
    problems: list[Problem] = []
    for number, pack in enumerate(packs):
        problems += pack.problems
        if number:
            # Ours is linted when it is built; what somebody laid over it is checked each time.
            from triage.knowledge.private import checked

            pack, found = checked(pack)
            problems += found
        for id in pack.tables.get("pack", {}).get("disables") or ():
            signatures.pop(id, None)
        for slug, page in pack.tables.get("causes", {}).items():
            causes[slug] = Cause(slug, page.get("prior", UNKNOWN_CAUSE_PRIOR), page.get("title", slug), page)
        for id, data in pack.signatures.items():
            try:
                signatures[id] = _known(parse_signature(id, pack.name, data), causes, private=number > 0)
            except SignatureError as error:
                problems.append(_located(pack, id, error))
    return Knowledge(
        signatures=signatures,
        causes=causes,
        noise=tuple(pattern for pack in packs for pattern in pack.tables.get("noise", {}).get("noise") or ()),
        life=tuple(pattern for pack in packs for pattern in pack.tables.get("noise", {}).get("life") or ()),
        statuses=_laid_over(packs, "explanations", "statuses"),
        exceptions=_laid_over(packs, "explanations", "exceptions"),
        documents={part: _laid_over(packs, "documents", part) for part in ("documents", "claims")},
        literals=literals or {},
        digest=packs[0].digest,
        packs=tuple(pack.name for pack in packs[1:]),
        directories=tuple(pack.directory for pack in packs),
        problems=tuple(problems),
    )


def _laid_over(packs: list[PackData], table: str, part: str) -> dict[str, Any]:
    return {key: value for pack in packs for key, value in (pack.tables.get(table, {}).get(part) or {}).items()}


def _known(signature: Signature, causes: Mapping[str, Cause], *, private: bool) -> Signature:
    """The signature, if its cause is known and, for a private one, its patterns can be used."""
    if signature.cause not in causes:
        instead = "a slug that 'triage signatures list --causes' prints"
        raise SignatureError(("cause",), f"unknown cause '{signature.cause}'", instead)
    if private:
        from triage.knowledge.private import refuse_bad_patterns

        refuse_bad_patterns(signature)
    return signature


def _located(pack: PackData, id: str, error: SignatureError) -> Problem:
    """The error with its file and line; YAML is read again for the line, which only happens when something is wrong."""
    from pathlib import Path

    from triage.knowledge.places import line_of

    file = Path(pack.directory) / f"{id}.yaml"
    return Problem(str(file), line_of(file, error.path), error.what, error.instead)


def _ours() -> tuple[PackData, Mapping[str, tuple[str, ...]]]:
    """Our pack from the index built into the wheel, else from its YAML."""
    try:
        data = import_module("triage.knowledge.built_index").DATA
    except ImportError:
        from triage.knowledge.yaml_packs import read_pack

        return read_pack(our_directory(), "triage"), {}
    return PackData("triage", our_directory(), data["signatures"], data["tables"], data["digest"]), data["literals"]
