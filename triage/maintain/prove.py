"""Whether signatures hold: lint over packs, and every signature's own tests through the whole diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from triage import NotAnExitCode, analyze
from triage.clues.facts import Facts
from triage.clues.findings import Hit
from triage.crash import Log
from triage.diagnosis.advice.arithmetic import CALCULATORS
from triage.diagnosis.advice.exceptions import PLACEHOLDERS as FROM_EXCEPTIONS
from triage.diagnosis.advice.missing_modules import PLACEHOLDERS as FROM_DISTRIBUTIONS
from triage.diagnosis.advice.releases import PLACEHOLDERS as FROM_VERSIONS
from triage.diagnosis.advice.system_libraries import PLACEHOLDERS as FROM_LIBRARIES
from triage.knowledge.database import Knowledge, assemble
from triage.knowledge.lint import lint, long_lines
from triage.knowledge.pack import PackData, Problem, our_directory
from triage.knowledge.pack_files import our_pack, read_pack
from triage.knowledge.signature import ExampleLog, Signature
from triage.readers import Source, read
from triage.report import NO_CRASH, UNKNOWN, Report

Result = Literal["passed", "failed", "not checked"]
PASSED, FAILED, NOT_CHECKED = get_args(Result)
_HEALTHY = Path("fixtures/logs/healthy")
# The report on a log and an exit status.
_Analysis = Callable[[Path, str | None], Report]


class Outcome(NamedTuple):
    """One test of one signature: passed, failed or not checked, with the reason."""

    signature: str
    log: str
    result: Result
    why: str = ""


class LintResult(NamedTuple):
    """What lint found, how many signatures it looked at, and what it could not check."""

    problems: tuple[Problem, ...]
    signatures: int
    not_checked: tuple[str, ...]


def lint_packs(directories: tuple[str, ...] = ()) -> LintResult:
    """Lint the given private packs, or ours where none is given."""
    ours = our_pack()
    packs = [read_pack(directory) for directory in directories]
    knowledge = assemble([ours, *packs])
    healthy = {name: log for pack in (ours, *packs) for name, log in _healthy_logs(pack).items()}
    from_tables = {**FROM_VERSIONS, **FROM_DISTRIBUTIONS, **FROM_LIBRARIES}
    computed = {given: calculator.needs for calculator in CALCULATORS.values() for given in calculator.gives}
    computed |= {**from_tables, **FROM_EXCEPTIONS}
    looked_at = packs or [ours]
    problems = [
        problem for pack in looked_at for problem in lint(pack, knowledge, healthy, computed, from_tables.keys())
    ]
    if not packs:
        # What a private pack is only warned of, because it was written before the rule, ours must not do.
        problems = [problem._replace(warning=False) for problem in problems]
        problems += long_lines(ours)
    not_checked = () if healthy else ("healthy logs: there are no fixtures in this installation",)
    return LintResult(tuple(problems), sum(len(pack.signatures) for pack in looked_at), not_checked)


def test_signatures(knowledge: Knowledge, wanted: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Run the tests that signatures carry, and the healthy logs on which none may fire."""
    packs = [_pack_of(directory) for directory in knowledge.directories]
    # One log is often the test of several signatures.
    analysis = cache(lambda path, exit: analyze(path, exit_code=exit, knowledge=knowledge))
    for pack in packs:
        for id in pack.signatures:
            signature = knowledge.signatures.get(id)
            # A private pack may replace a signature of ours; then only the replacement's tests count.
            if signature is not None and signature.pack == pack.name and (not wanted or id in wanted):
                yield from _run_tests(signature, Path(pack.root), knowledge, analysis)
        if not wanted:
            yield from _run_healthy(pack, analysis)


def _pack_of(directory: str) -> PackData:
    return our_pack() if directory == our_directory() else read_pack(directory)


def _run_tests(signature: Signature, root: Path, knowledge: Knowledge, analysis: _Analysis) -> Iterator[Outcome]:
    for example in signature.matches:
        yield _judge(signature, example, root, knowledge, analysis, matches=True)
    for example in signature.differs:
        yield _judge(signature, example, root, knowledge, analysis, matches=False)


def _judge(
    signature: Signature, example: ExampleLog, root: Path, knowledge: Knowledge, analysis: _Analysis, *, matches: bool
) -> Outcome:
    if example.live:
        return Outcome(signature.id, example.log, NOT_CHECKED, "a program to run, which the crasher tests do")
    path = root / example.log
    if not path.is_file():
        return Outcome(signature.id, example.log, NOT_CHECKED, "the log is not in this installation")
    try:
        report = analysis(path, example.exit)
    except NotAnExitCode as error:
        return Outcome(signature.id, example.log, FAILED, str(error))
    first = report.diagnoses[0] if report.diagnoses else None
    named = first.cause if first and report.verdict not in (UNKNOWN, NO_CRASH) else report.verdict
    if matches:
        # Another signature of the same cause may fit better, but this one must have found something too.
        facts = Facts(report.crash, knowledge.literals, knowledge.versions)
        has_hit = any(isinstance(facts.find(clue.sought), Hit) for clue in signature.clues if clue.kind != "exit")
        wanted = signature.cause if has_hit else f"{signature.cause} through a clue of this signature"
        right = named == signature.cause and has_hit
    else:
        wanted = example.cause or f"anything but {signature.cause}"
        right = named == example.cause if example.cause else named != signature.cause
    return Outcome(
        signature.id, example.log, PASSED if right else FAILED, "" if right else f"wanted {wanted}, got {named}"
    )


def _run_healthy(pack: PackData, analysis: _Analysis) -> Iterator[Outcome]:
    for path in sorted((Path(pack.root) / _HEALTHY).glob("*.log")):
        report = analysis(path, None)
        right = not report.diagnoses
        why = "" if right else f"wanted silence, got {report.diagnoses[0].cause}"
        yield Outcome("(healthy)", str(_HEALTHY / path.name), PASSED if right else FAILED, why)


def _healthy_logs(pack: PackData) -> Mapping[str, Log]:
    paths = sorted((Path(pack.root) / _HEALTHY).glob("*.log"))
    return {path.name: read(Source(str(path)), 0).logs[0] for path in paths}
