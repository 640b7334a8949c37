"""The ranking in words: for each cause what speaks for it, what against it, and its fix with the numbers filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from triage import patterns
from triage.clues.facts import Facts
from triage.clues.findings import Absent, Hit
from triage.clues.interface import Clue
from triage.crash import Command, Crash
from triage.diagnosis.arithmetic import calculate
from triage.diagnosis.commands import for_system
from triage.diagnosis.ranking import OTHER_SYSTEM, Ranking, Scored, Term
from triage.knowledge.database import Knowledge
from triage.knowledge.signature import Fix
from triage.phrases import Phrase, quote, quoting
from triage.report import Diagnosis, Evidence, FixStep

# What is less likely than this helps nobody.
LEAST_SHARE = 0.01
# An absence that moves the score less than this is not worth a line.
LEAST_AGAINST = -0.4
PLACEHOLDER = r"\{([a-z_]+)\}"
_QUOTE_LENGTH = 160
_A_WORD = r"[A-Za-z0-9_][\w.+-]*"


def diagnoses_of(facts: Facts, knowledge: Knowledge, ranking: Ranking, top: int) -> tuple[Diagnosis, ...]:
    """The named causes, most likely first."""
    told = [(scored, share) for scored, share in ranking.named if share >= LEAST_SHARE][:top]
    return tuple(_diagnosis(rank, scored, share, facts, knowledge) for rank, (scored, share) in enumerate(told, 1))


def _diagnosis(rank: int, scored: Scored, share: float, facts: Facts, knowledge: Knowledge) -> Diagnosis:
    signature = scored.signature
    values: dict[str, str] = {}
    for term in reversed(scored.hits):
        if isinstance(term.finding, Hit):
            values.update(term.finding.values)
    filled = calculate(values, facts.crash.memory)
    missing = _wanted(signature.fix) - filled.keys()
    if missing:
        # Most fixes name no versions, and then the tables are not needed.
        from triage.diagnosis.compatibility import fitting

        filled = fitting(facts.crash.environment, values, knowledge.versions) | filled
    if "fixed_advice" in missing:
        # This one looks through the log, so only fixes that speak of repaired bugs pay for it.
        from triage.diagnosis.repaired import repaired

        filled = repaired(facts.crash, values.get("op"), knowledge.versions) | filled
    if "module_advice" in missing and "module" in values:
        from triage.diagnosis.missing_modules import missing_module

        filled = missing_module(values["module"], facts.crash, knowledge.distributions) | filled
    # What a log says may stand in a sentence, but in a command only where no shell takes it for more than a word.
    in_commands = {name: text for name, text in filled.items() if name not in values or re.fullmatch(_A_WORD, text)}
    return Diagnosis(
        rank=rank,
        cause=signature.cause,
        signature=signature.id,
        title=signature.title,
        # No evidence in a log makes anything certain.
        confidence=round(min(share, 0.99), 4),
        because=tuple(_because(term, filled) for term in sorted(scored.hits, key=lambda term: -term.weight)),
        against=_against(scored, filled),
        fix=tuple(step for fix in signature.fix if (step := _step(fix, filled, in_commands, facts.crash))),
        grade=signature.grade,
        sources=tuple(source_name(source) for source in signature.sources),
    )


def source_name(source: object) -> str:
    """A source as one short text: `document NAME, claim 7` or the reproducer's path or the issue's name."""
    if not isinstance(source, dict):
        return str(source)
    return ", ".join(f"{kind} {name}" for kind, name in source.items())


def fill(text: str, values: Mapping[str, str]) -> Phrase | None:
    """The text with its placeholders filled, or None when one cannot be."""
    parts: list[str] = []
    at = 0
    for match in patterns.compile(PLACEHOLDER).finditer(text):
        if match[1] not in values:
            return None
        parts += [text[at : match.start()], values[match[1]]]
        at = match.end()
    return Phrase.of(*parts, text[at:])


def placeholders(text: str) -> set[str]:
    """The names of a text's placeholders."""
    return set(patterns.compile(PLACEHOLDER).findall(text))


def _because(term: Term, values: dict[str, str]) -> Evidence:
    assert isinstance(term.finding, Hit)
    return Evidence(shown(term, values), term.finding.place, round(term.weight, 2))


def shown(term: Term, values: Mapping[str, str] = MappingProxyType({})) -> str:
    """What was seen: the clue's sentence with the values that it caught, else the words of the log."""
    assert isinstance(term.finding, Hit)
    said = fill(term.clue.says, {**values, **term.finding.values}) if term.clue.says else None
    return said or _shorten(term.finding.quote)


def _against(scored: Scored, values: dict[str, str]) -> tuple[Evidence, ...]:
    told = [_because(term, values) for term in scored.against]
    for term in scored.explained:
        assert isinstance(term.finding, Hit)
        told.append(
            Evidence(
                Phrase.of("'", _shorten(term.finding.quote), f"' is explained by {term.explained_by}"),
                term.finding.place,
                0.0,
            )
        )
    for term in scored.terms:
        if isinstance(term.finding, Absent) and term.weight <= LEAST_AGAINST:
            told.append(Evidence(f"not seen: {in_words(term.clue)}", None, round(term.weight, 2)))
    if scored.on_other_system:
        told.append(Evidence("this cause is known on " + ", ".join(scored.signature.os) + " only", None, OTHER_SYSTEM))
    return tuple(told)


def in_words(clue: Clue) -> str:
    """A clue in words, where nothing was caught that could fill its placeholders."""
    if clue.says and not placeholders(clue.says):
        return clue.says
    return clue.id.replace("-", " ")


def _step(fix: Fix, values: dict[str, str], in_commands: dict[str, str], crash: Crash) -> FixStep | None:
    do = fill(fix.do, values) or fix.otherwise
    if do is None:
        return None
    filled = {system: text for system, command in fix.run.items() if (text := fill(command, in_commands))}
    run = for_system(filled, crash.environment.os)
    if run:
        caught = [values[name] for command in fix.run.values() for name in placeholders(command) if name in values]
        theirs: list[str] = [value for value in caught if isinstance(value, Phrase)]
        if crash.rerun and crash.rerun.argv[0] != "--":
            system = crash.environment.os
            rerun, script = crash.rerun.line(system), Command(crash.rerun.argv[:1]).line(system)
            run = _for_this_program(run, rerun, script, Command(crash.run_options).line(system))
            theirs += [rerun, script]
        run = quoting(run, *theirs)
    return FixStep(do, run, fix.risk, fill(fix.verify, values) or fix.verify, fix.if_not)


def _wanted(fixes: tuple[Fix, ...]) -> set[str]:
    """The placeholders that the steps of a signature have."""
    return placeholders(" ".join(text for fix in fixes for text in (fix.do, fix.verify, *fix.run.values())))


def _for_this_program(run: str, rerun: str, script: str, options: str) -> str:
    """A command with the person's own script in it, where we ran it and know its name, arguments and options."""
    if "SCRIPT.js" in run:
        return run
    run = run.replace("SCRIPT.py", "SCRIPT")
    if options:
        run = run.replace("triage run ", f"triage run {options} ")
    for before in ("python ", "triage run ", "--tf-log ", "continue "):
        run = run.replace(f"{before}SCRIPT", f"{before}{rerun}")
    return run.replace("SCRIPT", script)


def _shorten(text: str) -> str:
    """A quotation of bearable length; what is cut was the input's, and so is what is left."""
    short = " ".join(text.split())
    short = short if len(short) <= _QUOTE_LENGTH else short[: _QUOTE_LENGTH - 1].rstrip() + "…"
    return text if short == text else quote(short) if isinstance(text, Phrase) else short
