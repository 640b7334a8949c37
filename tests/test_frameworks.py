"""Real programs over other frameworks than TensorFlow that crash, fail or hang: PyTorch, JAX, onnxruntime and others.

fixtures/crashers/frameworks/table.yaml says what each does. Each runs twice, by itself and under triage: its exit
status is the same, its cause comes first or none is claimed, and nothing that is told to the person is about
TensorFlow, which is not in the process. `make test-frameworks` installs what they need; where a framework is absent
they are skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import REPOSITORY, REQUIRED, clean_environment
from crashers import FRAMEWORKS, OPEN, Crasher, all_crashers, once_each
from fixture_logs import our_knowledge
from test_crashers import make_logs

import triage
from triage.report import Report
from triage.reports import text

CRASHERS = all_crashers(FRAMEWORKS)
SECONDS = 240
CONFIDENT = 0.70
MODULES = {"pytorch": "torch", "opencv": "cv2"}
FOREIGN = re.compile(r"(?i)tensorflow|keras|\btf\.|\bTF_[A-Z]")
INSTALLED = re.compile(r"^ system .*\n(?: {9}.*\n)*", re.MULTILINE)
each_crasher = pytest.mark.parametrize("crasher", CRASHERS, ids=lambda crasher: crasher.name)


class Finished(NamedTuple):
    """What both runs of a crasher gave."""

    status: int | None
    output: str
    analysed: Report
    code: int
    report: dict[str, Any]
    told: str

    @property
    def causes(self) -> list[tuple[str, float]]:
        """The causes that the run under us gave, in their order, with the confidence in each."""
        return [(diagnosis["cause"], diagnosis["confidence"]) for diagnosis in self.report["diagnoses"]]


def run(crasher: Crasher, home: Path) -> Finished:
    """By itself, and under us; what hangs is ended both times."""
    environment = make_logs.environment(str(home))
    status, output = make_logs.run(sys.executable, crasher.script, environment, crasher.patience or SECONDS)
    analysed = triage.analyze(output.encode(), exit_code=status, knowledge=our_knowledge())
    driver = REPOSITORY / "tests" / "run_with_both_reports.py"
    done = subprocess.run(
        [sys.executable, str(driver), str(home), str(crasher.patience or 0), str(crasher.script)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=home,
        env=clean_environment(TMPDIR=str(home)),
        timeout=SECONDS,
    )
    report, told = home / "report.json", home / "report.txt"
    found = json.loads(report.read_text("utf-8")) if report.exists() else {}
    return Finished(status, output, analysed, done.returncode, found, told.read_text("utf-8") if found else "")


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Crasher], Finished]:
    """ran(crasher) runs it where no test has done so yet."""
    return once_each(lambda crasher: run(crasher, tmp_path_factory.mktemp(crasher.name)))


@pytest.fixture
def finished(ran: Callable[[Crasher], Finished]) -> Callable[[Crasher], Finished]:
    """What a crasher's runs gave; skips where something that it needs is absent."""

    def result(crasher: Crasher) -> Finished:
        if crasher.missing:
            _absent(crasher.missing, f"{crasher.name} needs {crasher.missing}")
        done = ran(crasher)
        if done.status == make_logs.SKIPPED:
            _absent("g++", done.output.strip()[-300:])
        return done

    return result


def _absent(name: str, message: str) -> None:
    pytest.fail(message) if name in REQUIRED else pytest.skip(message)


def test_the_table_has_every_script_and_no_other():
    assert [crasher.name for crasher in CRASHERS] == sorted(script.stem for script in FRAMEWORKS.glob("*.py"))


@each_crasher
def test_an_entry_of_the_table_makes_sense(knowledge, crasher):
    for cause in (crasher.cause, crasher.plain):
        assert cause in OPEN or cause in knowledge.causes
    assert crasher.process in ("main", "worker", "any")
    assert crasher.hangs == (crasher.exit == 124)
    source = crasher.script.read_text("utf-8")
    framework = crasher.needs[0].partition("-")[0]
    assert re.search(rf"^(?:import|from) {MODULES.get(framework, framework)}\b", source, re.MULTILINE)
    assert ("g++" in crasher.needs) == ("from native.build import" in source)
    assert not FOREIGN.search(source)


def test_there_are_crashers_of_every_framework_and_kind():
    of_each = Counter(crasher.needs[0].partition("-")[0] for crasher in CRASHERS)
    assert of_each["pytorch"] >= 12
    assert of_each["jax"] >= 7
    assert all(of_each[framework] >= 2 for framework in ("onnxruntime", "xgboost", "lightgbm", "opencv"))
    assert len([crasher for crasher in CRASHERS if crasher.exit > 128 or crasher.process == "worker"]) >= 8
    assert len([crasher for crasher in CRASHERS if crasher.cause == "native.lost-worker"]) >= 2


@each_crasher
def test_it_ends_as_it_says_by_itself(finished, crasher):
    done = finished(crasher)
    assert done.status == crasher.returncode, done.output[-2000:]
    assert re.search(crasher.line, done.output, re.MULTILINE), done.output[-2000:]


@each_crasher
def test_it_ends_the_same_way_under_us(finished, crasher):
    assert finished(crasher).code == crasher.exit


@each_crasher
def test_its_cause_comes_first_or_none_is_claimed(finished, crasher):
    done = finished(crasher)
    _right(crasher.cause, done.report["verdict"], done.causes)


@each_crasher
def test_its_plain_output_gets_the_same_answer_or_none(finished, crasher):
    report = finished(crasher).analysed
    _right(crasher.plain, report.verdict, [(diagnosis.cause, diagnosis.confidence) for diagnosis in report.diagnoses])


def _right(expected: str, verdict: str, told: list[tuple[str, float]]) -> None:
    """The expected cause leads, or nothing is claimed where the evidence names none."""
    if expected in OPEN:
        assert not [cause for cause, share in told if share >= CONFIDENT and not cause.startswith("other.")]
    else:
        assert verdict in ("diagnosed", "uncertain"), told
        assert told[0][0] == expected


@pytest.mark.parametrize(
    "crasher", [crasher for crasher in CRASHERS if crasher.process != "any"], ids=lambda crasher: crasher.name
)
def test_the_right_process_is_the_one_that_is_explained(finished, crasher):
    crash = finished(crasher).report["crash"]
    assert (crash["processes"][crash["primary"]]["role"] == "main") == (crasher.process == "main")


@each_crasher
def test_what_decides_is_in_the_evidence(finished, crasher):
    done = finished(crasher)
    assert re.search(crasher.decides, done.output + json.dumps(done.report, ensure_ascii=False), re.MULTILINE)


@each_crasher
def test_nobody_is_told_about_tensorflow(finished, crasher):
    done = finished(crasher)
    for told in (done.told, text.render(done.analysed)):
        # Which packages are installed beside the program's own is a fact, and told as one.
        assert not FOREIGN.findall(INSTALLED.sub("", told)), told


NAMED = [
    (crasher, signature)
    for signature in our_knowledge().signatures.values()
    for example in signature.matches
    for crasher in CRASHERS
    if example.live and Path(example.log).parent.name == FRAMEWORKS.name and crasher.name == Path(example.log).stem
]


@pytest.mark.parametrize(("crasher", "signature"), NAMED, ids=[crasher.name for crasher, _ in NAMED])
def test_a_signature_that_names_a_crasher_as_its_test_is_the_one_that_recognises_it(finished, crasher, signature):
    first = finished(crasher).report["diagnoses"][0]
    assert (first["cause"], first["signature"]) == (signature.cause, signature.id)
