"""Real TensorFlow programs that really crash, triaged with whatever TensorFlow is installed here.

The logs in fixtures/logs are what two versions once printed; this is what the one at hand prints now.
"""

from __future__ import annotations

import importlib.util
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import REPOSITORY

import triage
from triage.knowledge.loading import Knowledge

CRASHERS = sorted((REPOSITORY / "fixtures" / "crashers").glob("*.py"))
# Each of them starts a TensorFlow, which takes a few hundred MB and as many threads as there are processors.
AT_ONCE = 2
SECONDS = 170
CONFIDENT = 0.70


def _make_logs():
    """fixtures/make_logs.py, which knows how a crasher is run and what its header promises."""
    spec = importlib.util.spec_from_file_location("make_logs", REPOSITORY / "fixtures" / "make_logs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_logs = _make_logs()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every crasher's exit status and output, as they come; two run at a time."""
    pool = ThreadPoolExecutor(AT_ONCE)
    environment = make_logs.environment(str(tmp_path_factory.mktemp("crashers")))
    started = {script: pool.submit(make_logs.run, sys.executable, script, environment, SECONDS) for script in CRASHERS}
    yield started
    pool.shutdown(cancel_futures=True)


@pytest.fixture
def finished(require, request):
    """finished(script) waits for its exit status and output; nothing is started where TensorFlow is absent."""
    require("tensorflow")
    started: dict[Path, Future[tuple[int | None, str]]] = request.getfixturevalue("runs")
    return lambda script: started[script].result()


def labelled_cause(script: Path, knowledge: Knowledge) -> str | None:
    """The cause that must come first; None where nothing may be claimed with confidence."""
    label = make_logs.expectation(script)["cause"]
    known = {signature.cause for signature in knowledge.signatures.values()}
    # A plain Python failure may be named as such, but that is no claim about TensorFlow.
    return label if label in known and not label.startswith("other.") else None


def test_there_is_a_crasher_for_every_kind_of_label(knowledge):
    labels = [labelled_cause(script, knowledge) for script in CRASHERS]
    assert len({label for label in labels if label}) >= 8
    assert labels.count(None) >= 4


@pytest.mark.parametrize("script", CRASHERS, ids=lambda script: script.stem)
def test_a_crasher_ends_as_it_says(finished, script):
    if script.stem == "recursion_c" and sys.version_info >= (3, 12):
        pytest.skip("Python 3.12 and newer raise RecursionError instead of overflowing the C stack")
    status, output = finished(script)
    assert str(status) == make_logs.expectation(script)["exit"], output[-2000:]


@pytest.mark.parametrize("script", CRASHERS, ids=lambda script: script.stem)
def test_its_cause_is_named_first_or_nothing_is_claimed(finished, knowledge, script):
    status, output = finished(script)
    report = triage.analyze(output.encode(), exit_code=status, knowledge=knowledge)
    told = [(diagnosis.cause, diagnosis.confidence) for diagnosis in report.diagnoses]
    expected = labelled_cause(script, knowledge)
    assert report.verdict != "no-crash"
    if expected is None:
        assert not [cause for cause, share in told if share >= CONFIDENT and not cause.startswith("other.")]
    else:
        assert report.verdict in ("diagnosed", "uncertain"), told
        assert told[0][0] == expected
