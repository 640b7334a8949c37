"""Packs -> Knowledge: signatures, causes and tables ready to be used, with what was wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
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


@dataclass(slots=True)
class Knowledge:
    """Everything known, ours and private packs together."""

    signatures: dict[str, Signature] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    noise: tuple[str, ...] = ()
    life: tuple[str, ...] = ()
    statuses: Mapping[str, Any] = field(default_factory=dict)
    exceptions: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)
    literals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""
    packs: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

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

        packs += [read_pack(Path(directory)) for directory in private]
    return assemble(packs, literals)


def assemble(packs: list[PackData], literals: Mapping[str, tuple[str, ...]] | None = None) -> Knowledge:
    """Lay packs over one another, the first lowest."""
    knowledge = Knowledge(literals=literals or {}, digest=packs[0].digest)
    problems = [problem for pack in packs for problem in pack.problems]
    for pack in packs:
        for id in (pack.tables.get("pack") or {}).get("disables") or ():
            knowledge.signatures.pop(id, None)
        for slug, page in (pack.tables.get("causes") or {}).items():
            prior = page.get("prior", UNKNOWN_CAUSE_PRIOR)
            knowledge.causes[slug] = Cause(slug, prior, page.get("title", slug), page)
        for id, data in pack.signatures.items():
            try:
                signature = parse_signature(id, pack.name, data)
                if signature.cause not in knowledge.causes:
                    raise SignatureError(
                        ("cause",),
                        f"unknown cause '{signature.cause}'",
                        "a slug that 'triage signatures list --causes' prints",
                    )
                knowledge.signatures[id] = signature
            except SignatureError as error:
                problems.append(_located(pack, id, error))
        noise = pack.tables.get("noise") or {}
        knowledge.noise += tuple(noise.get("noise") or ())
        knowledge.life += tuple(noise.get("life") or ())
        pages = pack.tables.get("explanations") or {}
        knowledge.statuses = {**knowledge.statuses, **(pages.get("statuses") or {})}
        knowledge.exceptions = {**knowledge.exceptions, **(pages.get("exceptions") or {})}
        knowledge.documents = {**knowledge.documents, **(pack.tables.get("documents") or {})}
    knowledge.packs = tuple(pack.name for pack in packs[1:])
    knowledge.directories = tuple(pack.directory for pack in packs)
    knowledge.problems = tuple(problems)
    return knowledge


def _located(pack: PackData, id: str, error: SignatureError) -> Problem:
    """The error with its file and line; YAML is read again for the line, which only happens when something is wrong."""
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
    return PackData("triage", str(our_directory()), data["signatures"], data["tables"], data["digest"]), data[
        "literals"
    ]
