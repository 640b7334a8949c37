"""Crash -> Report: match the signatures, rank the causes, decide whether anything died, reach a verdict, then say why,
what to do and what else it could be."""

from __future__ import annotations

from triage.clues.facts import Facts
from triage.crash import Crash
from triage.diagnosis.alternatives import nearest, refuted_claims, ruled_out
from triage.diagnosis.evidence import diagnoses_of
from triage.diagnosis.next_steps import next_steps
from triage.diagnosis.notices import Explained
from triage.diagnosis.outcome import outcome_of
from triage.diagnosis.ranking import SURE, match, rank
from triage.diagnosis.verdict import reliability_of, summary_of, topic_of, verdict_of, with_all_gaps
from triage.frames import stack_key
from triage.knowledge.database import Knowledge
from triage.report import NO_CRASH, UNKNOWN, Diagnosis, OtherCrash, Report, SeenNotice


def diagnose(crash: Crash, knowledge: Knowledge, *, version: str, top: int = 5) -> Report:
    """The whole diagnosis of one incident; `top` is how many causes to name, at least the first."""
    facts = Facts(crash, knowledge.literals, knowledge.versions)
    matches = match(facts, knowledge)
    ranking = rank(matches, knowledge, crash)
    explained = Explained(facts, knowledge)
    outcome = outcome_of(facts, knowledge, ranking, explained)
    verdict = verdict_of(crash, outcome, ranking)
    failed = verdict != NO_CRASH
    diagnoses = diagnoses_of(crash, knowledge, ranking, max(top, 1)) if failed else ()
    notices = _not_told_yet(explained.seen, diagnoses) if not failed or outcome.end == "not-told" else ()
    seen = with_all_gaps(crash, outcome, knowledge)
    return Report(
        version=version,
        signatures=knowledge.digest,
        packs=knowledge.packs,
        crash=seen,
        stack_key=stack_key(crash),
        not_observable=tuple(gap.sentence for gap in seen.gaps),
        verdict=verdict,
        summary=summary_of(crash, outcome, notices, verdict, diagnoses),
        diagnoses=diagnoses,
        unknown_confidence=round(ranking.unknown, 4) if failed else 0.0,
        reliability=reliability_of(crash, knowledge, verdict, diagnoses),
        ruled_out=ruled_out(crash, knowledge, ranking, diagnoses) if failed else (),
        nearest=nearest(facts, knowledge, ranking, verdict),
        hearsay=refuted_claims(facts, knowledge, diagnoses) if failed else (),
        next=next_steps(facts, knowledge, ranking, verdict, outcome) if failed else (),
        topic=topic_of(crash, knowledge, verdict, diagnoses),
        outcome=outcome,
        notices=notices,
        other_crashes=tuple(_in_short(other, knowledge, version) for other in crash.others),
    )


def _not_told_yet(notices: tuple[SeenNotice, ...], diagnoses: tuple[Diagnosis, ...]) -> tuple[SeenNotice, ...]:
    """The notices without those whose line is evidence of the first answer, or which only say that it may come."""
    first = diagnoses[0] if diagnoses and diagnoses[0].confidence >= SURE else None
    if first is None:
        return notices
    evidence = {reason.place for reason in first.because if reason.place is not None}
    return tuple(one for one in notices if one.becomes != first.cause and one.place not in evidence)


def _in_short(crash: Crash, knowledge: Knowledge, version: str) -> OtherCrash:
    report = diagnose(crash, knowledge, version=version, top=1)
    first = report.diagnoses[0] if report.diagnoses and report.verdict != UNKNOWN else None
    place = crash.exit.place if crash.exit else None
    return OtherCrash(report.verdict, first and first.cause, first.confidence if first else 0.0, report.summary, place)
