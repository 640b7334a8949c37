"""Our signatures against every labelled log, and what they must hold taken together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from building import exit_status
from conftest import LOGS, REPOSITORY
from fixture_logs import ROWS, report_of

import triage
from triage.clues.interface import Clue
from triage.clues.module import ModuleSeen
from triage.crash import Memory, Process, Resources
from triage.diagnosis import diagnose
from triage.diagnosis.verdict import SURE
from triage.knowledge.database import Knowledge
from triage.knowledge.pack_files import read_pack
from triage.readers import Source, read
from triage.report import NO_CRASH, UNKNOWN, Report

TENSORFLOW = [
    row for row in ROWS if row["cause"] not in ("unknown", "not-a-crash") and not row["cause"].startswith("other.")
]
HEALTHY = [row for row in ROWS if row["cause"] == "not-a-crash"]
ELSEWHERE = [row for row in ROWS if row["cause"] == "unknown" or row["cause"].startswith("other.")]


def by_file(rows: list[dict[str, Any]]) -> Any:
    """A test for each row, named by its log."""
    return pytest.mark.parametrize("row", rows, ids=[row["file"] for row in rows])


def report_on(row: dict[str, Any]) -> Report:
    return report_of(LOGS / row["file"], row["exit"])


def clues_of(knowledge: Knowledge) -> Iterator[Clue]:
    """Every clue of every signature, those inside combinators too."""
    waiting = [clue for s in knowledge.signatures.values() for clue in (*s.clues, *s.against)]
    while waiting:
        clue = waiting.pop()
        yield clue
        waiting += clue.inner


# every labelled log


@by_file(TENSORFLOW)
def test_a_labelled_log_gets_its_cause_first(row: dict[str, Any]) -> None:
    report = report_on(row)
    assert report.verdict not in (UNKNOWN, NO_CRASH)
    assert report.diagnoses[0].cause == row["cause"]


@by_file(HEALTHY)
def test_a_log_of_a_run_that_ended_well_is_no_crash(row: dict[str, Any]) -> None:
    report = report_on(row)
    assert (report.verdict, report.diagnoses) == (NO_CRASH, ())


@by_file(ELSEWHERE)
def test_a_log_that_names_no_cause_of_ours_is_not_given_one(row: dict[str, Any]) -> None:
    report = report_on(row)
    sure = [d.cause for d in report.diagnoses if d.confidence >= SURE and not d.cause.startswith("other.")]
    assert sure == []
    assert report.verdict != NO_CRASH


@pytest.mark.parametrize(
    ("bare", "telling", "cause"),
    [
        ("Killed", "Epoch 3/10\n120/500 [==>...] - loss: 0.53\nKilled", "host.out-of-memory"),
        ("./app: line 3: 123 Killed  ./server --port 80", "$ docker run trainer\nKilled", "host.out-of-memory"),
        ("Illegal instruction (core dumped)", ">>> import tensorflow\nIllegal instruction", "cpu.missing-instructions"),
    ],
)
def test_a_bare_signal_names_a_cause_only_where_something_else_speaks_for_it(
    bare: str, telling: str, cause: str, knowledge: Knowledge
) -> None:
    report = triage.analyze(bare.encode(), knowledge=knowledge)
    assert all(diagnosis.confidence < 0.5 for diagnosis in report.diagnoses)
    first = triage.analyze(telling.encode(), knowledge=knowledge).diagnoses[0]
    assert (first.cause, first.confidence >= 0.5) == (cause, True)


def test_the_index_lists_every_log_that_was_made() -> None:
    made = {
        str(path.relative_to(LOGS))
        for path in LOGS.rglob("*.log")
        # Each of the others has an index of its own.
        if path.parent.name not in ("composed", "containers", "exceptions", "frameworks", "quiet")
    }
    assert {row["file"] for row in ROWS} == made


def test_every_kind_of_label_is_there() -> None:
    assert TENSORFLOW and HEALTHY and ELSEWHERE


@by_file(TENSORFLOW)
def test_what_is_told_about_a_log_holds_no_unfilled_placeholder(row: dict[str, Any]) -> None:
    for told in report_on(row).diagnoses:
        texts = [e.text for e in (*told.because, *told.against)]
        texts += [text for step in told.fix for text in (step.do, step.run or "", step.verify)]
        assert [text for text in texts if re.search(r"\{[a-z_]+\}", text)] == []
        assert told.because
        assert told.fix


# an ordinary Python program, run live


@pytest.mark.parametrize(
    ("error", "title"),
    [
        ("RuntimeError: no rate", "The program's own code raised an exception"),
        ("KeyError: 'image'", "The program's own code raised an exception"),
        ("MyError: not this way", "The program's own code raised an exception"),
        ("RecursionError: maximum recursion depth exceeded", "The program's own code raised an exception"),
        (
            "OSError: [Errno 24] Too many open files: 'a'",
            "The process has as many files open as it may (too many open files)",
        ),
        ("ModuleNotFoundError: No module named 'tqdm'", "A Python package or module of the program is not there"),
        ("ModuleNotFoundError: No module named 'tensorflow'", "A Python package or module of the program is not there"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'settings.yaml'",
            "The program's own code raised an exception",
        ),
        (
            "RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly",
            "The program's own code raised an exception",
        ),
    ],
)
def test_an_exception_of_the_programs_own_code_is_named_for_what_it_is(
    error: str, title: str, knowledge: Knowledge
) -> None:
    report = triage.analyze(own_traceback(error), exit_code=1, knowledge=knowledge)
    first = report.diagnoses[0]
    assert (first.cause, first.title) == ("other.python-exception", title)
    assert first.confidence >= SURE
    assert len(report.diagnoses) == 1 or report.diagnoses[1].cause == "data.file-missing"


@pytest.mark.parametrize(
    "error",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/weights.h5'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'images/train'",
    ],
)
def test_a_missing_file_of_data_comes_second_after_the_programs_own_exception(error: str, knowledge: Knowledge) -> None:
    own, data = triage.analyze(own_traceback(error), exit_code=1, knowledge=knowledge).diagnoses[:2]
    assert own.cause == "other.python-exception", "no frame of TensorFlow's opened it"
    assert data.cause == "data.file-missing"
    path = re.findall("'(.*)'", error)[0].split("\\")[0].split("/")[-1]
    assert path in data.fix[0].do


def test_a_loss_that_became_nan_is_no_crash(knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "composed" / "loss-nan-goes-on.log", knowledge=knowledge)
    assert (report.verdict, report.diagnoses) == ("no-crash", ())


def own_traceback(error: str) -> bytes:
    frames = '  File "/srv/job/prepare.py", line 9, in <module>\n    work()\n'
    return f"Traceback (most recent call last):\n{frames}{error}\n".encode()


def test_a_missing_module_is_installed_by_its_name(knowledge: Knowledge) -> None:
    report = triage.analyze(
        own_traceback("ModuleNotFoundError: No module named 'tqdm'"), exit_code=1, knowledge=knowledge
    )
    assert "python -m pip install tqdm" in [step.run for step in report.diagnoses[0].fix]


@pytest.mark.parametrize("error", ["MemoryError", "RuntimeError: can't start new thread"])
def test_under_a_limit_on_address_space_that_limit_is_named(error: str, knowledge: Knowledge) -> None:
    crash = read(Source.of(own_traceback(error)), 0)
    crash = crash._replace(
        processes=(Process(exit=exit_status("1")),),
        memory=Memory(limit_bytes=400 << 20, limit_source="RLIMIT_AS", oom_kills=0),
        resources=Resources(threads=86, thread_limit=32768),
    )
    first = diagnose(crash, knowledge, version="test").diagnoses[0]
    assert (first.cause, first.signature) == ("host.out-of-memory", "host/address-space-limit")
    assert first.confidence >= SURE
    assert any("400.0 MiB" in evidence.text for evidence in first.because)


def test_without_such_a_limit_a_memory_error_is_about_the_size_that_was_asked_for(knowledge: Knowledge) -> None:
    first = triage.analyze(own_traceback("MemoryError"), exit_code=1, knowledge=knowledge).diagnoses[0]
    assert (first.cause, first.signature) == ("host.out-of-memory", "host/memory-error")


# all signatures together


@pytest.mark.parametrize(
    "kind",
    ["log", "exception", "exit", "native", "python", "module", "memory", "environment", "any", "sequence", "thread"],
)
def test_every_clue_kind_and_combinator_of_the_design_is_used(kind: str, knowledge: Knowledge) -> None:
    assert kind in {clue.kind for clue in clues_of(knowledge)}


def test_consequence_of_is_used(knowledge: Knowledge) -> None:
    assert any(clue.consequence_of for clue in clues_of(knowledge))


def test_modules_are_sought_as_present_as_absent_and_by_version(knowledge: Knowledge) -> None:
    modules = [clue.sought for clue in clues_of(knowledge) if isinstance(clue.sought, ModuleSeen)]
    assert {module.absent for module in modules} == {True, False}
    assert any(module.version for module in modules)


def test_every_document_is_cited_by_a_signature(knowledge: Knowledge) -> None:
    cited = {source.get("document") for s in knowledge.signatures.values() for source in s.sources}
    assert set(knowledge.documents["documents"]) <= cited


def test_every_claim_that_is_cited_is_one_of_the_document_that_is_named(knowledge: Knowledge) -> None:
    claims = knowledge.documents["claims"]
    for signature in knowledge.signatures.values():
        for source in signature.sources:
            if "claim" in source:
                assert claims[source["claim"]]["document"] == source["document"], signature.id


def test_a_signature_of_grade_reproduced_names_a_reproducer_that_exists(knowledge: Knowledge) -> None:
    for signature in knowledge.signatures.values():
        named = [source["reproducer"] for source in signature.sources if "reproducer" in source]
        assert all((REPOSITORY / path).is_file() for path in named), signature.id
        assert named or signature.grade != "reproduced", signature.id


def test_no_signature_is_reproduced_by_a_log_that_was_written_by_hand(knowledge: Knowledge) -> None:
    for signature in knowledge.signatures.values():
        if signature.grade == "reproduced":
            assert any("composed/" not in example.log for example in signature.matches), signature.id


def test_causes_lie_in_their_families_and_no_signature_is_called_so() -> None:
    assert not (REPOSITORY / "signatures" / "causes.yaml").exists()
    ours = read_pack(str(REPOSITORY / "signatures"))
    assert ours.tables["causes"]
    for slug in ours.tables["causes"]:
        assert ours.file_of_cause(slug) == str(REPOSITORY / "signatures" / slug.split(".")[0] / "causes.yaml")
    assert not [id for id in ours.signatures if id.endswith("/causes")]


def test_a_signature_lies_in_the_folder_of_its_causes_family(knowledge: Knowledge) -> None:
    for signature in knowledge.signatures.values():
        assert signature.id.split("/")[0] == signature.cause.split(".")[0], signature.id
