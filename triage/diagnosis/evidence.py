"""The ranking in words: for each cause what speaks for it, what against it, and its fix."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from triage.clues.findings import Absent, Hit
from triage.clues.interface import Clue
from triage.crash import Crash
from triage.diagnosis.advice import fix_steps, holding, values_for
from triage.diagnosis.ranking import OTHER_SYSTEM, SURE, Ranking, Scored, Term, says_more_than_how_it_ended
from triage.knowledge.database import Knowledge
from triage.phrases import Phrase, fill, placeholders, quote
from triage.report import Diagnosis, Evidence

# A cause less likely than this is not worth naming.
LEAST_SHARE = 0.01
# Beside an answer that is found, one for which only the way it ended speaks must be likelier than this to be named.
LEAST_BY_ITS_END = 0.05
# An absence that moves the score less than this is not worth a line.
LEAST_AGAINST = -0.4
# Only a clue that is nearly always there speaks against a cause when it is missing; of the others, most are wordings
# or stages of one thing, of which a log shows some.
NEARLY_ALWAYS = 0.9
_QUOTE_LENGTH = 160


def diagnoses_of(crash: Crash, knowledge: Knowledge, ranking: Ranking, top: int) -> tuple[Diagnosis, ...]:
    """The named causes, most likely first."""
    found = bool(ranking.named) and ranking.named[0][1] >= SURE
    named = [
        (scored, share)
        for scored, share in ranking.named
        if share >= (LEAST_BY_ITS_END if found and not says_more_than_how_it_ended(scored) else LEAST_SHARE)
    ][:top]
    return tuple(_diagnosis(rank, scored, share, crash, knowledge) for rank, (scored, share) in enumerate(named, 1))


def _diagnosis(rank: int, scored: Scored, share: float, crash: Crash, knowledge: Knowledge) -> Diagnosis:
    signature = scored.signature
    caught = _caught(scored)
    fixes = holding(signature.fix, _seen(scored), crash)
    values = values_for(fixes, caught, crash, knowledge)
    return Diagnosis(
        rank=rank,
        cause=signature.cause,
        signature=signature.id,
        title=_title(scored, share, knowledge),
        # No evidence in a log makes anything certain.
        confidence=round(min(share, 0.99), 4),
        because=tuple(_because(term, values) for term in sorted(scored.hits, key=lambda term: -term.weight)),
        against=_against(scored, values),
        fix=fix_steps(fixes, values, caught, crash, signature.os),
        grade=signature.grade,
        sources=tuple(source_name(source) for source in signature.sources),
    )


def _title(scored: Scored, share: float, knowledge: Knowledge) -> str:
    """The signature's; in a guess for which only the end speaks, that says more than anybody knows, and the cause's is
    told."""
    signature = scored.signature
    found = share >= SURE or says_more_than_how_it_ended(scored)
    return signature.title if found else knowledge.causes[signature.cause].title


def _caught(scored: Scored) -> dict[str, str]:
    """The named values of all hits; of two with the same name that of the first clue."""
    caught: dict[str, str] = {}
    for term in reversed(scored.hits):
        assert isinstance(term.finding, Hit)
        caught.update(term.finding.values)
    return caught


def _seen(scored: Scored) -> set[str]:
    """The ids of the clues that were found, and of their wordings."""
    wordings = {id for term in scored.hits if isinstance(term.finding, Hit) for id in term.finding.wordings}
    return wordings | {term.clue.id for term in scored.hits}


def source_name(source: object) -> str:
    """A source as one short text: `document NAME, claim 7` or the reproducer's path or the issue's name."""
    if not isinstance(source, dict):
        return str(source)
    return ", ".join(f"{kind} {name}" for kind, name in source.items())


def _because(term: Term, values: Mapping[str, str]) -> Evidence:
    assert isinstance(term.finding, Hit)
    return Evidence(shown(term, values), term.finding.place, round(term.weight, 2))


def shown(term: Term, values: Mapping[str, str] = MappingProxyType({})) -> str:
    """What was seen: the clue's sentence with the values that it caught, else the words of the log."""
    assert isinstance(term.finding, Hit)
    says = term.finding.says or term.clue.says
    sentence = fill(says, {**values, **term.finding.values}) if says else None
    return sentence or _shorten(term.finding.quote)


def _against(scored: Scored, values: Mapping[str, str]) -> tuple[Evidence, ...]:
    reasons = [_because(term, values) for term in scored.against]
    for term in scored.explained:
        assert isinstance(term.finding, Hit)
        text = Phrase.of("'", _shorten(term.finding.quote), f"' is explained by {term.explained_by}")
        reasons.append(Evidence(text, term.finding.place, 0.0))
    for term in scored.terms:
        if isinstance(term.finding, Absent) and term.weight <= LEAST_AGAINST and term.clue.p >= NEARLY_ALWAYS:
            missing = not_shown(term.clue) or f"not seen: {in_words(term.clue)}"
            reasons.append(Evidence(missing, None, round(term.weight, 2)))
    if scored.on_other_system:
        systems = ", ".join(scored.signature.os)
        reasons.append(Evidence(f"this cause is known on {systems} only", None, OTHER_SYSTEM))
    return tuple(reasons)


def not_shown(clue: Clue) -> str | None:
    """A sentence that a clue is missing, worded so that nobody reads it the other way round; None without words."""
    return f"nothing shows that {clue.says}" if clue.says and not placeholders(clue.says) else None


def in_words(clue: Clue) -> str:
    """A clue in words, where nothing was caught that could fill its placeholders."""
    if clue.says and not placeholders(clue.says):
        return clue.says
    return clue.id.replace("-", " ")


def _shorten(text: str) -> str:
    """A quotation cut to a readable length; it stays marked as the input's words."""
    short = " ".join(text.split())
    short = short if len(short) <= _QUOTE_LENGTH else short[: _QUOTE_LENGTH - 1].rstrip() + "…"
    return text if short == text else quote(short) if isinstance(text, Phrase) else short
