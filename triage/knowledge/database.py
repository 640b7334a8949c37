"""The knowledge base: packs laid over each other and ready to use, with what was wrong in them.

A wheel carries ours as Python source, so that a run reads no YAML, checks nothing and compiles no pattern it does not
need. Everything in it is a named tuple, a mapping, a string or a number, so its repr is its own source.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from triage import patterns
from triage.clues import KINDS, patterns_of
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
from triage.knowledge.claim import Claim, parse_claim
from triage.knowledge.notice import Notice, parse_notice
from triage.knowledge.pack import CAUSES, NOTICES, PARTS, PackData, Problem, our_directory
from triage.knowledge.parts import parts_over, with_parts
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

    `names` are the pages of libraries, settings, error numbers and words of a failure, `words` those that mean a cause.
    `literals` has every pattern that is searched for in logs; in the built index, also the literal texts each needs.
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
    claims: tuple[Claim, ...] = ()
    distributions: Mapping[str, Any] = MappingProxyType({})
    parts: Mapping[str, str] = MappingProxyType({})
    notices: Mapping[str, Notice] = MappingProxyType({})
    names: Mapping[str, Any] = MappingProxyType({})
    words: Mapping[str, Any] = MappingProxyType({})

    def status_page(self, status: ExitStatus | None) -> Mapping[str, Any]:
        """The page of an exit status, or of its fast-fail subcode where there is one; empty where there is none."""
        if status is None:
            return {}
        if status.ntstatus is not None:
            key = f"0x{status.ntstatus:08X}"
            return self.statuses.get(f"{key} subcode {status.subcode}") or self.statuses.get(key) or {}
        # Exit 247 stands for a signal and still has its own page.
        return self.statuses.get(f"exit {status.code}") or self.statuses.get(status.signal or "") or {}

    def may_find(self, pattern: str, text: str) -> bool:
        """Whether a lower-case text holds, in any case, a word that the pattern needs; true where that is not known."""
        needed = self.literals.get(pattern)
        return not needed or any(literal.lower() in text for literal in needed)


_NOTHING = Knowledge({}, {}, (), (), {}, {}, {}, {}, {}, "", (), (), ())


def load(private: tuple[str, ...] = ()) -> Knowledge:
    """Our knowledge with private packs laid over it; what is broken in those is listed in `problems` and left out."""
    knowledge = _ours()
    if private:
        from triage.knowledge.pack_files import read_pack

        for directory in private:
            knowledge = _lay_over(knowledge, read_pack(directory))
    return knowledge


def _ours() -> Knowledge:
    """Our knowledge from the index built into the wheel, else from its YAML."""
    try:
        built: Knowledge = import_module("triage.knowledge.built_index").KNOWLEDGE
    except ImportError:
        from triage.knowledge.pack_files import our_pack

        return assemble([our_pack()])
    return built._replace(directories=(our_directory(),))


def assemble(packs: list[PackData]) -> Knowledge:
    """The knowledge of several packs, each laid over those before it."""
    knowledge = _NOTHING
    for pack in packs:
        knowledge = _lay_over(knowledge, pack)
    return knowledge


def _lay_over(below: Knowledge, pack: PackData) -> Knowledge:
    """The knowledge with one more pack on top of it."""
    problems = [*below.problems, *pack.problems]
    is_private = bool(below.directories)
    if is_private:
        # Ours is linted before it is built; a private pack is checked every time.
        from triage.knowledge.pack_files import usable

        pack, found = usable(pack)
        problems += found
    # Only our own numbers were fitted; those of a private pack stay as written.
    calibration = below.calibration if is_private else parse_calibration(pack.tables.get("calibration", {}))
    own_calibration = UNFITTED if is_private else calibration
    causes = {**below.causes, **_causes(pack, own_calibration)}
    parts = _parts(pack, below.parts, problems)
    own = _signatures(pack, parts, causes, own_calibration, is_private, problems)
    claims = _claims(pack, is_private, problems)
    notices = _notices(pack, causes, is_private, problems)
    disabled = set(pack.tables.get("pack", {}).get("disables") or ())
    noise, pages = pack.tables.get("noise", {}), pack.tables.get("explanations", {})
    documents, names = pack.tables.get("documents", {}), pack.tables.get("names", {})
    clues = [clue for signature in own.values() for clue in (*signature.clues, *signature.against)]
    clues += [clue for claim in claims for clue in (claim.when, claim.unless) if clue]
    searched = [pattern for clue in clues for kind, pattern in patterns_of(clue) if kind == "log"]
    searched += [pattern for notice in notices.values() for pattern in notice.match]
    searched += [*(noise.get("noise") or ()), *(noise.get("life") or ())]
    return Knowledge(
        signatures={**{id: s for id, s in below.signatures.items() if id not in disabled}, **own},
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
        calibration=calibration,
        claims=(*below.claims, *claims),
        distributions=_rows_added(below.distributions, pack.tables.get("distributions", {})),
        parts=parts,
        notices={**below.notices, **notices},
        names={**below.names, **(names.get("pages") or {})},
        words={**below.words, **(names.get("causes") or {})},
    )


def _parts(pack: PackData, below: Mapping[str, str], problems: list[Problem]) -> Mapping[str, str]:
    try:
        return parts_over(below, pack.tables.get(PARTS, {}))
    except SignatureError as error:
        problems.append(_located(pack, PARTS, error))
        return below


def _causes(pack: PackData, calibration: Calibration) -> dict[str, Cause]:
    pages = pack.tables.get(CAUSES, {})
    written = {slug: page.get("prior", UNKNOWN_CAUSE_PRIOR) for slug, page in pages.items()}
    priors = calibrated_priors(written, calibration)
    return {slug: Cause(slug, priors[slug], page.get("title", slug), page) for slug, page in pages.items()}


def _signatures(
    pack: PackData,
    parts: Mapping[str, str],
    causes: Mapping[str, Cause],
    calibration: Calibration,
    is_private: bool,
    problems: list[Problem],
) -> dict[str, Signature]:
    signatures = {}
    for id, data in pack.signatures.items():
        try:
            signature = parse_signature(id, pack.name, with_parts(data, parts))
            if signature.cause not in causes:
                instead = "a slug that 'triage signatures list --causes' prints"
                raise SignatureError(("cause",), f"unknown cause '{signature.cause}'", instead)
            if is_private:
                from triage.knowledge.pack_files import refuse_bad_patterns

                refuse_bad_patterns(signature)
            signatures[id] = calibrated(signature, calibration)
        except SignatureError as error:
            problems.append(_located(pack, id, error))
    return signatures


def _claims(pack: PackData, is_private: bool, problems: list[Problem]) -> list[Claim]:
    claims = []
    for number, data in (pack.tables.get("documents", {}).get("claims") or {}).items():
        try:
            claim = parse_claim(number, data)
            if claim is not None:
                if is_private:
                    _refuse_bad_patterns(claim)
                claims.append(claim)
        except SignatureError as error:
            problems.append(_located(pack, "documents", error))
    return claims


def _notices(
    pack: PackData, causes: Mapping[str, Cause], is_private: bool, problems: list[Problem]
) -> dict[str, Notice]:
    notices = {}
    for id, data in pack.tables.get(NOTICES, {}).items():
        try:
            notice = parse_notice(id, data)
            if notice.becomes is not None and notice.becomes not in causes:
                instead = "a slug that 'triage signatures list --causes' prints"
                raise SignatureError(("becomes",), f"unknown cause '{notice.becomes}'", instead)
            for number, pattern in enumerate(notice.match if is_private else ()):
                if refused := patterns.check(pattern):
                    raise SignatureError(("match", number), f"RE2 does not take {pattern!r}: {refused}")
            notices[id] = notice
        except SignatureError as error:
            source, _, name = id.partition("/")
            inside = SignatureError((name, *error.path), f"{id}: {error.what}", error.instead)
            problems.append(_located(pack, f"{NOTICES}/{source}", inside))
    return notices


def _refuse_bad_patterns(claim: Claim) -> None:
    from triage.knowledge.pack_files import refuse_patterns

    for part, clue in (("heard_when", claim.when), ("unless", claim.unless)):
        if clue is not None:
            refuse_patterns(clue, ("claims", claim.number, part))


def _rows_added(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of rows with those of another pack added: a company's own modules leave ours as they are."""
    names = (*below, *(name for name in above if name not in below))
    tables = {name: {**below.get(name, {}), **above.get(name, {})} for name in names}
    return {
        name: {**table, "rows": {**below.get(name, {}).get("rows", {}), **above.get(name, {}).get("rows", {})}}
        for name, table in tables.items()
    }


def _located(pack: PackData, id: str, error: SignatureError) -> Problem:
    """The error with its file and line; only now is the YAML read again, to find the line."""
    from pathlib import Path

    from triage.knowledge.pack_files import line_of

    file = Path(pack.directory) / f"{id}.yaml"
    return Problem(str(file), line_of(file, error.path), error.what, error.instead)


# The index that setup.py builds into a wheel


def built_knowledge(pack: PackData) -> Knowledge:
    """The knowledge of a pack with the literal texts of each pattern; raises ValueError when anything is wrong."""
    knowledge = assemble([pack])
    if knowledge.problems:
        raise ValueError("\n".join(str(problem) for problem in knowledge.problems))
    literals = {pattern: patterns.literals(pattern) for pattern in sorted(knowledge.literals)}
    # The counts are in the signatures' numbers by now.
    calibration = knowledge.calibration._replace(causes={}, counts={})
    return knowledge._replace(literals=literals, directories=(), calibration=calibration)


def index_source(pack: PackData) -> str:
    """The source of `built_index.py`."""
    clue_forms = "".join(f"from {kind.form.__module__} import {kind.form.__name__}\n" for kind in KINDS.values())
    return f'''\
"""Made by setup.py from signatures/; do not edit."""

{clue_forms}from triage.clues.interface import Clue
from triage.knowledge.calibration import Bin, Calibration, Counts, Reliability, Weights
from triage.knowledge.claim import Claim
from triage.knowledge.database import Cause, Knowledge
from triage.knowledge.notice import Notice
from triage.knowledge.signature import Audience, ExampleLog, Fix, Signature

KNOWLEDGE = {built_knowledge(pack)!r}
'''
