"""Every crasher under the real `triage run`: its exit status, its cause, what it prints, and nothing left behind.

fixtures/crashers/table.yaml says what each does. Nine of ten causes are wanted; here every one must be right.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import REQUIRED, TRIAGE, clean_environment
from crashers import FOLDER, Crasher, all_crashers, once_each
from fixture_logs import our_knowledge

CRASHERS = [crasher for crasher in all_crashers() if not crasher.missing]
SECONDS = 240
CONFIDENT = 0.70
WITHOUT_COMPILER = 77
# A worker that is being ended may take this long to vanish from the process list.
GRACE = 10
each_crasher = pytest.mark.parametrize("crasher", CRASHERS, ids=lambda crasher: crasher.name)


class Finished(NamedTuple):
    """What a run under us gave: exit code, report, both streams, and what it left behind."""

    code: int
    report: dict[str, Any]
    output: str
    left: list[str]

    @property
    def primary(self) -> dict[str, Any]:
        """The process that the report is about."""
        crash = self.report["crash"]
        return crash["processes"][crash["primary"]]

    @property
    def causes(self) -> list[tuple[str, float]]:
        """The causes in their order, with the confidence in each."""
        return [(diagnosis["cause"], diagnosis["confidence"]) for diagnosis in self.report["diagnoses"]]


def run(crasher: Crasher, home: Path) -> Finished:
    """Run a crasher in a directory of its own, with a mark by which its processes are found afterwards."""
    mark = uuid.uuid4().hex
    temporary = home / "tmp"
    temporary.mkdir()
    file = home / "report.json"
    limit = ("--timeout", str(crasher.patience)) if crasher.hangs else ()
    with subprocess.Popen(
        [*TRIAGE, "run", "--format", "json", "--output", str(file), *limit, str(crasher.script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=home,
        env=clean_environment(TF_ENABLE_ONEDNN_OPTS="1", TMPDIR=str(temporary), TRIAGE_TEST_MARK=mark),
    ) as process:
        try:
            output, errors = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    # Other runs have their directories there too, each named after its triage.
    files = (*temporary.iterdir(), *Path("/dev/shm").glob(f"triage-run-{process.pid}-*"))
    left = [str(path) for path in files if not is_its_own(path)]
    report = json.loads(file.read_text("utf-8")) if file.exists() else {}
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    return Finished(code, report, output + errors, [*left, *alive(mark)])


def is_its_own(path: Path) -> bool:
    """A program that crashes leaves its own temporary files and their bytecode, with us as without."""
    if path.name == "__pycache__":
        return all(map(is_its_own, path.iterdir()))
    return path.name.startswith("__autograph_generated_file") or path.suffix == ".f32"


def alive(mark: str) -> list[str]:
    """Processes that carry the mark in their environment and do not end."""
    until = time.monotonic() + GRACE
    while found := [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _carries(pid, mark)]:
        if time.monotonic() > until:
            return [f"process {pid}" for pid in found]
        time.sleep(0.1)
    return []


def _carries(pid: str, mark: str) -> bool:
    try:
        return mark.encode() in Path("/proc", pid, "environ").read_bytes()
    except OSError:
        return False


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Crasher], Finished]:
    """ran(crasher) runs it where no test has done so yet."""
    return once_each(lambda crasher: run(crasher, tmp_path_factory.mktemp(crasher.name)))


@pytest.fixture
def finished(ran: Callable[[Crasher], Finished], require: Callable[[str], None]) -> Callable[[Crasher], Finished]:
    """What a crasher's run gave; gdb and ptrace are what it takes to see native frames."""

    def result(crasher: Crasher) -> Finished:
        require("gdb")
        require("ptrace")
        done = ran(crasher)
        if done.code == WITHOUT_COMPILER:
            pytest.fail("no g++") if "g++" in REQUIRED else pytest.skip("there is no g++ here")
        return done

    return result


def test_where_everything_is_required_no_crasher_is_left_out():
    missing = [crasher for crasher in all_crashers() if crasher.missing in REQUIRED]
    assert not missing
    assert len(CRASHERS) >= 25 or not REQUIRED


@each_crasher
def test_the_exit_status_is_the_crashers_own(finished, crasher):
    assert finished(crasher).code == crasher.exit


@each_crasher
def test_nothing_is_left_behind(finished, crasher):
    assert finished(crasher).left == []


@pytest.mark.parametrize(
    "crasher",
    # A killed worker leaves nothing that names it, and the report is about the program itself.
    [crasher for crasher in CRASHERS if crasher.name != "process_pool_killed"],
    ids=lambda crasher: crasher.name,
)
def test_the_right_process_is_the_one_that_is_explained(finished, crasher):
    done = finished(crasher)
    assert (done.primary["role"] == "main") == (crasher.process == "main")
    assert [process["role"] for process in done.report["crash"]["processes"]].count("main") == 1


@each_crasher
def test_what_decides_is_in_the_evidence(finished, crasher):
    done = finished(crasher)
    frames = [
        frame["function"] or ""
        for process in done.report["crash"]["processes"]
        for thread in process["threads"]
        for frame in (*thread["python_stack"], *thread["native_stack"])
    ]
    frames += [done.primary["exit"]["name"], (done.primary["fault"] or {}).get("instruction") or ""]
    evidence_texts = [evidence["text"] for diagnosis in done.report["diagnoses"] for evidence in diagnosis["because"]]
    text = "\n".join([done.output, *frames, *evidence_texts])
    assert re.search(crasher.decides, text, re.MULTILINE)


@each_crasher
def test_its_cause_comes_first_or_none_is_claimed(finished, crasher):
    done = finished(crasher)
    if crasher.cause == "not-a-crash":
        assert done.report["verdict"] == "no-crash"
    elif crasher.cause in ("unknown", "uncertain"):
        assert not [cause for cause, share in done.causes if share >= CONFIDENT]
    else:
        assert done.report["verdict"] in ("diagnosed", "uncertain"), done.causes
        assert done.causes[0][0] == crasher.cause


NAMED = [
    (crasher, signature)
    for signature in our_knowledge().signatures.values()
    for example in signature.matches
    for crasher in CRASHERS
    if example.live and crasher.name == Path(example.log).stem
]


@pytest.mark.parametrize(("crasher", "signature"), NAMED, ids=[crasher.name for crasher, _ in NAMED])
def test_a_signature_that_names_a_crasher_as_its_test_is_the_one_that_recognises_it(finished, crasher, signature):
    first = finished(crasher).report["diagnoses"][0]
    assert (first["cause"], first["signature"]) == (signature.cause, signature.id)


def test_some_signature_names_a_crasher_as_its_test():
    assert NAMED or not REQUIRED


# ---------------------------------------------------------------- the same output with us and without

MASKED = ("conv_channels", "dtype_mismatch", "check_failed", "memory_error", "own_faulthandler", "thread_exception")
_CHANGES = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+"), "TIME"),
    (re.compile(r"\b([IWEF])\d{4} \d\d:\d\d:\d+\.\d+ +\d+"), r"\1 TIME PID"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"(?:pid|thread) \d+"), "NUMBER"),
)


def masked(text: str) -> str:
    """Without times, addresses and numbers of processes, which differ from run to run."""
    for pattern, instead in _CHANGES:
        text = pattern.sub(instead, text)
    return text


@pytest.mark.parametrize("name", MASKED)
def test_a_program_prints_the_same_with_us_and_without(name, tmp_path):
    crasher = next((crasher for crasher in CRASHERS if crasher.name == name), None)
    if crasher is None:
        pytest.skip(f"{name} needs what is not here")
    environment = clean_environment(TF_ENABLE_ONEDNN_OPTS="1", PYTHONHASHSEED="0")
    outputs = []
    for before in ([], [*TRIAGE[1:], "run", "--output", str(tmp_path / "report.txt")]):
        done = subprocess.run(
            [sys.executable, *before, str(FOLDER / f"{name}.py")],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=SECONDS,
        )
        outputs.append((masked(done.stdout), masked(done.stderr)))
    assert outputs[0] == outputs[1]
