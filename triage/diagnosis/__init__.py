"""Crash -> Report: match, rank, compute what can be computed, say why."""

from __future__ import annotations

from triage.clues.facts import Facts
from triage.crash import Crash
from triage.diagnosis.evidence import diagnoses_of
from triage.diagnosis.hearsay import heard
from triage.diagnosis.nearest import nearest
from triage.diagnosis.questions import next_questions
from triage.diagnosis.ranking import rank
from triage.diagnosis.ruling_out import ruled_out
from triage.diagnosis.stack_key import stack_key
from triage.diagnosis.verdict import summarise, topic_of, verdict_of, with_all_gaps
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, UNCERTAIN, UNKNOWN, Diagnosis, OtherCrash, Reliability, Report, Verdict


def diagnose(crash: Crash, knowledge: Knowledge, *, version: str, top: int = 5) -> Report:
    """The whole diagnosis of one incident; `top` is how many causes are told, at least the first."""
    top = max(top, 1)
    facts = Facts(crash, knowledge.literals)
    ranking = rank(facts, knowledge)
    verdict = verdict_of(facts, knowledge, ranking)
    diagnoses = () if verdict == NO_CRASH else diagnoses_of(facts, knowledge, ranking, top)
    seen = with_all_gaps(crash, knowledge)
    return Report(
        version=version,
        signatures=knowledge.digest,
        packs=knowledge.packs,
        verdict=verdict,
        summary=summarise(crash, knowledge, verdict, diagnoses),
        stack_key=stack_key(crash),
        crash=seen,
        diagnoses=diagnoses,
        unknown_confidence=0.0 if verdict == NO_CRASH else round(ranking.unknown, 4),
        ruled_out=() if verdict == NO_CRASH else ruled_out(crash, knowledge, ranking, diagnoses),
        not_observable=tuple(gap.sentence for gap in seen.gaps),
        next=() if verdict == NO_CRASH else next_questions(facts, knowledge, ranking, verdict),
        topic=topic_of(crash, knowledge, verdict, diagnoses),
        reliability=_reliability(crash, knowledge, verdict, diagnoses),
        nearest=nearest(facts, knowledge, ranking, verdict),
        other_crashes=tuple(_in_short(other, knowledge, version) for other in crash.others),
        hearsay=() if verdict == NO_CRASH else heard(facts, knowledge, diagnoses),
    )


def _reliability(
    crash: Crash, knowledge: Knowledge, verdict: Verdict, diagnoses: tuple[Diagnosis, ...]
) -> Reliability | None:
    """How often answers this sure were right; nobody has measured it for a private signature."""
    if verdict not in (DIAGNOSED, UNCERTAIN) or not diagnoses:
        return None
    if knowledge.signatures[diagnoses[0].signature].pack in knowledge.packs:
        return None
    if any(entry.left_out for entry in crash.inputs):
        return None  # what was measured were reports that were read to their end
    figures = knowledge.calibration.reliability
    held = figures.bin_of(diagnoses[0].confidence)
    return Reliability(*held, figures.measured, figures.commit) if held else None


def _in_short(crash: Crash, knowledge: Knowledge, version: str) -> OtherCrash:
    report = diagnose(crash, knowledge, version=version, top=1)
    first = report.diagnoses[0] if report.diagnoses and report.verdict != UNKNOWN else None
    place = crash.exit.place if crash.exit else None
    return OtherCrash(report.verdict, first and first.cause, first.confidence if first else 0.0, report.summary, place)
