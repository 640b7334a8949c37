"""Real programs that really crash, fail or hang, triaged from what they print with whatever TensorFlow is here.

The logs in fixtures/logs are what two versions once printed; this is what the one at hand prints now. Here each script
runs as it is, without `triage run`, so only its output counts: `line` and `plain` of the table.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable

import pytest
from conftest import REPOSITORY, REQUIRED
from crashers import FOLDER, OPEN, Crasher, all_crashers, once_each

import triage
from triage.knowledge.database import Knowledge

CRASHERS = all_crashers()
SECONDS = 170
CONFIDENT = 0.70
# What the signatures do not know yet; an entry that has come true fails, and is to be taken out.
each_crasher = pytest.mark.parametrize("crasher", CRASHERS, ids=lambda crasher: crasher.name)


def _make_logs():
    """fixtures/make_logs.py, which knows how a script is run by itself."""
    spec = importlib.util.spec_from_file_location("make_logs", REPOSITORY / "fixtures" / "make_logs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_logs = _make_logs()


@pytest.fixture(scope="session")
def ran(tmp_path_factory) -> Callable[[Crasher], tuple[int | None, str]]:
    """ran(crasher) runs it where no test has done so yet: its exit status and output. What hangs is ended."""
    environment = make_logs.environment(str(tmp_path_factory.mktemp("crashers")))
    return once_each(lambda c: make_logs.run(sys.executable, c.script, environment, c.patience or SECONDS))


@pytest.fixture
def finished(ran) -> Callable[[Crasher], tuple[int | None, str]]:
    """A crasher's exit status and output; skips where something that it needs is absent."""

    def result(crasher: Crasher) -> tuple[int | None, str]:
        if crasher.missing:
            _absent(crasher.missing, f"{crasher.name} needs {crasher.missing}")
        status, output = ran(crasher)
        if status == make_logs.SKIPPED:
            _absent("g++", output.strip()[-300:])
        return status, output

    return result


def _absent(name: str, message: str) -> None:
    pytest.fail(message) if name in REQUIRED else pytest.skip(message)


def plain_cause(crasher: Crasher, knowledge: Knowledge) -> str | None:
    """The cause that must come first; None where nothing may be claimed with confidence."""
    known = {signature.cause for signature in knowledge.signatures.values()}
    # A plain Python failure may be named as such, but that is no claim about TensorFlow.
    return crasher.plain if crasher.plain in known and not crasher.plain.startswith("other.") else None


def test_the_table_has_every_script_and_no_other():
    assert [crasher.name for crasher in CRASHERS] == sorted(script.stem for script in FOLDER.glob("*.py"))


@each_crasher
def test_an_entry_of_the_table_makes_sense(knowledge, crasher):
    assert crasher.cause in OPEN or crasher.cause in knowledge.causes
    assert crasher.plain in OPEN or crasher.plain == crasher.cause
    assert crasher.process in ("main", "worker")
    assert crasher.hangs == (crasher.exit == 124)
    assert re.compile(crasher.decides) and re.compile(crasher.line)
    # The script has its sources beside it, and its own text says whether it starts a TensorFlow.
    text = crasher.script.read_text("utf-8")
    assert ("g++" in crasher.needs) == ("from native.build import" in text)
    assert crasher.tensorflow == ("import tensorflow" in text)


def test_there_is_a_crasher_for_every_kind_of_label(knowledge):
    labels = [plain_cause(crasher, knowledge) for crasher in CRASHERS]
    assert len(CRASHERS) >= 25
    assert len({label for label in labels if label}) >= 8
    assert labels.count(None) >= 4


@each_crasher
def test_a_crasher_ends_as_it_says(finished, crasher):
    status, output = finished(crasher)
    assert status == crasher.returncode, output[-2000:]
    assert re.search(crasher.line, output, re.MULTILINE), output[-2000:]


@each_crasher
def test_its_cause_is_named_first_or_nothing_is_claimed(finished, knowledge, crasher):
    status, output = finished(crasher)
    report = triage.analyze(output.encode(), exit_code=status, knowledge=knowledge)
    told = [(diagnosis.cause, diagnosis.confidence) for diagnosis in report.diagnoses]
    expected = plain_cause(crasher, knowledge)
    # What hung was ended by us, and its output alone looks like that of a program that is still at work.
    assert report.verdict != "no-crash" or crasher.hangs or crasher.plain == "not-a-crash"
    if expected is None:
        assert not [cause for cause, share in told if share >= CONFIDENT and not cause.startswith("other.")]
    else:
        assert report.verdict in ("diagnosed", "uncertain"), told
        assert told[0][0] == expected
