"""Packs -> Knowledge: signatures, causes and tables ready to be used, with what was wrong in them."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from triage.clues import patterns_of
from triage.clues.interface import SignatureError
from triage.clues.log import LogPatterns
from triage.crash import ExitStatus
from triage.knowledge.calibration import (
    UNFITTED,
    Calibration,
    calibrated,
    calibrated_priors,
    parse_calibration,
)
from triage.knowledge.hearsay import Hearsay, parse_hearsay
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
    """Everything known, ours and private packs together.

    `literals` has every pattern that is looked for in logs, with the texts that it needs where the index has them.
    """

    signatures: Mapping[str, Signature]
    causes: Mapping[str, Cause]
    noise: tuple[str, ...]
    life: tuple[str, ...]
    statuses: Mapping[str, Any]
    exceptions: Mapping[str, Any]
    documents: Mapping[str, Any]
    versions: Mapping[str, Any]
    literals: LogPatterns
    digest: str
    packs: tuple[str, ...]
    directories: tuple[str, ...]
    problems: tuple[Problem, ...]
    calibration: Calibration = UNFITTED
    hearsay: tuple[Hearsay, ...] = ()
    distributions: Mapping[str, Any] = MappingProxyType({})

    def status_page(self, status: ExitStatus | None) -> Mapping[str, Any]:
        """The page of an exit status, of its fast-fail subcode where that has one; empty where there is none."""
        if status is None:
            return {}
        if status.ntstatus is not None:
            key = f"0x{status.ntstatus:08X}"
            return self.statuses.get(f"{key} subcode {status.subcode}") or self.statuses.get(key) or {}
        # 247 is a signal in other clothes, and has a page of its own.
        return self.statuses.get(f"exit {status.code}") or self.statuses.get(status.signal or "") or {}


NOTHING = Knowledge({}, {}, (), (), {}, {}, {}, {}, {}, "", (), (), ())


def load(private: tuple[str, ...] = ()) -> Knowledge:
    """Our knowledge with private packs laid over it; what is broken in those is named and left out."""
    knowledge = _ours()
    if private:
        from triage.knowledge.yaml_packs import read_pack

        for directory in private:
            knowledge = lay_over(knowledge, read_pack(directory))
    return knowledge


def assemble(packs: list[PackData]) -> Knowledge:
    """The knowledge of several packs, the first lowest."""
    knowledge = NOTHING
    for pack in packs:
        knowledge = lay_over(knowledge, pack)
    return knowledge


def lay_over(below: Knowledge, pack: PackData) -> Knowledge:
    """The knowledge with one more pack on top of it."""
    problems = [*below.problems, *pack.problems]
    is_private = bool(below.directories)
    if is_private:
        # Ours is linted when it is built; what somebody laid over it is checked each time.
        from triage.knowledge.private import checked

        pack, found = checked(pack)
        problems += found
    disabled = set(pack.tables.get("pack", {}).get("disables") or ())
    # Only our own numbers were fitted; what is laid over them stands as it is written.
    fitted = below.calibration if is_private else parse_calibration(pack.tables.get("calibration", {}))
    own = UNFITTED if is_private else fitted
    causes = dict(below.causes)
    pages_of_causes = pack.tables.get("causes", {})
    written = {slug: page.get("prior", UNKNOWN_CAUSE_PRIOR) for slug, page in pages_of_causes.items()}
    priors = calibrated_priors(written, own)
    for slug, page in pages_of_causes.items():
        causes[slug] = Cause(slug, priors[slug], page.get("title", slug), page)
    signatures = {id: signature for id, signature in below.signatures.items() if id not in disabled}
    for id, data in pack.signatures.items():
        try:
            signature = _known(parse_signature(id, pack.name, data), causes, private=is_private)
            signatures[id] = calibrated(signature, own)
        except SignatureError as error:
            problems.append(_located(pack, id, error))
    hearsay = []
    for number, claim in (pack.tables.get("documents", {}).get("claims") or {}).items():
        try:
            hearsay.append(_heard(number, claim, private=is_private))
        except SignatureError as error:
            problems.append(_located(pack, "documents", error))
    noise, pages = pack.tables.get("noise", {}), pack.tables.get("explanations", {})
    documents = pack.tables.get("documents", {})
    clues = [clue for id in pack.signatures if (s := signatures.get(id)) for clue in (*s.clues, *s.against)]
    clues += [clue for one in hearsay if one for clue in (one.when, one.unless) if clue]
    searched = [pattern for clue in clues for kind, pattern in patterns_of(clue) if kind == "log"]
    searched += [*(noise.get("noise") or ()), *(noise.get("life") or ())]
    return Knowledge(
        signatures=signatures,
        causes=causes,
        noise=(*below.noise, *(noise.get("noise") or ())),
        life=(*below.life, *(noise.get("life") or ())),
        statuses={**below.statuses, **(pages.get("statuses") or {})},
        exceptions={**below.exceptions, **(pages.get("exceptions") or {})},
        documents={p: {**below.documents.get(p, {}), **(documents.get(p) or {})} for p in ("documents", "claims")},
        versions={**below.versions, **pack.tables.get("versions", {})},
        literals={**dict.fromkeys(searched), **below.literals},
        digest=below.digest or pack.digest,
        packs=(*below.packs, pack.name) if is_private else (),
        directories=(*below.directories, pack.directory),
        problems=tuple(problems),
        calibration=fitted,
        hearsay=(*below.hearsay, *(one for one in hearsay if one)),
        distributions=_rows_added(below.distributions, pack.tables.get("distributions", {})),
    )


def _rows_added(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of rows with those of another pack added: a company's own modules leave ours as they are."""
    names = (*below, *(name for name in above if name not in below))
    tables = {name: {**below.get(name, {}), **above.get(name, {})} for name in names}
    return {
        name: {**table, "rows": {**below.get(name, {}).get("rows", {}), **above.get(name, {}).get("rows", {})}}
        for name, table in tables.items()
    }


def _known(signature: Signature, causes: Mapping[str, Cause], *, private: bool) -> Signature:
    """The signature, if its cause is known and, for a private one, its patterns can be used."""
    if signature.cause not in causes:
        instead = "a slug that 'triage signatures list --causes' prints"
        raise SignatureError(("cause",), f"unknown cause '{signature.cause}'", instead)
    if private:
        from triage.knowledge.private import refuse_bad_patterns

        refuse_bad_patterns(signature)
    return signature


def _heard(number: int, claim: Mapping[str, Any], *, private: bool) -> Hearsay | None:
    """What a claim says to who has heard it, if, for a private one, its patterns can be used."""
    one = parse_hearsay(number, claim)
    if private and one is not None:
        from triage.knowledge.private import refuse_patterns

        for part, clue in (("heard_when", one.when), ("unless", one.unless)):
            if clue is not None:
                refuse_patterns(clue, ("claims", number, part))
    return one


def _located(pack: PackData, id: str, error: SignatureError) -> Problem:
    """The error with its file and line; YAML is read again for the line, which only happens when something is wrong."""
    from pathlib import Path

    from triage.knowledge.places import line_of

    file = Path(pack.directory) / f"{id}.yaml"
    return Problem(str(file), line_of(file, error.path), error.what, error.instead)


def _ours() -> Knowledge:
    """Our knowledge from the index built into the wheel, else from its YAML."""
    try:
        built: Knowledge = import_module("triage.knowledge.built_index").KNOWLEDGE
    except ImportError:
        from triage.knowledge.yaml_packs import our_pack

        return assemble([our_pack()])
    return built._replace(directories=(our_directory(),))
