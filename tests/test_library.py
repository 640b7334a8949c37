"""The library: what the command can do, a program can do, with the same answer."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from conftest import LOGS, clean_environment

import triage
from triage.reports import renderer

CASES = [
    (["oom_in_fit-2.21.log"], "139"),
    (["oom_in_fit-2.21.log"], None),
    (["check_failed-2.15.log"], "-6"),
    (["plain_python_error-2.21.log"], "1"),
    (["healthy/fit-2.21.log"], None),
    (["composed/zlibwapi.log"], "0xC0000409"),
    (["killed-2.21.log"], "SIGKILL"),
    (["resource_exhausted-2.21.log", "healthy/import_only-2.21.log"], "1"),
    (["resource_exhausted-2.21.log", "no-such.log"], "1"),
]
PACK = """\
title: The licence server was not reachable
cause: data.index-out-of-range
grade: claimed
clues:
  - {id: message, log: 'LICENCE SERVER UNREACHABLE', p: 0.99, b: 0.0001, says: it did not answer}
fix:
  - {do: Start the licence server., risk: low, verify: the run starts}
sources: [{issue: example/example#1}]
tests: {match: [a.log], differ: [b.log]}
"""


@pytest.mark.parametrize(("names", "exit_code"), CASES, ids=lambda value: str(value))
def test_library_and_command_give_the_same_report(run_triage, names, exit_code):
    paths = [str(LOGS / name) for name in names]
    options = [] if exit_code is None else ["--exit-code", exit_code]
    by_command = run_triage("analyze", *paths, *options, "--format", "json").stdout
    by_library = renderer("json")(triage.analyze(*paths, exit_code=exit_code))
    assert json.loads(by_command) == json.loads(by_library)


def test_they_agree_on_private_packs_top_and_redaction(run_triage, tmp_path):
    pack = tmp_path / "pack"
    (pack / "own").mkdir(parents=True)
    (pack / "pack.yaml").write_text("schema: 1\nname: ours\n")
    (pack / "own" / "licence.yaml").write_text(PACK)
    log = tmp_path / "home" / "alice" / "a.log"
    log.parent.mkdir(parents=True)
    log.write_text("LICENCE SERVER UNREACHABLE\n")

    by_command = run_triage(
        "analyze", log, "--signatures", pack, "--top", "1", "--no-redact", "--format", "json"
    ).stdout
    report = triage.analyze(log, signatures=[pack], top=1, redact=False)

    assert json.loads(by_command) == json.loads(renderer("json")(report))
    assert report.packs == ("ours",)
    assert report.diagnoses[0].signature == "own/licence"


@pytest.mark.parametrize("format_name", ["text", "markdown"])
def test_they_agree_on_the_other_formats(run_triage, format_name):
    path = LOGS / "oom_in_fit-2.21.log"
    by_command = run_triage("analyze", path, "--exit-code", "139", "--format", format_name).stdout
    assert by_command == renderer(format_name)(triage.analyze(path, exit_code=139))


def test_bytes_streams_and_paths_are_read_alike(knowledge):
    path = LOGS / "oom_in_fit-2.21.log"
    data = path.read_bytes()
    with path.open("rb") as file:
        given = [path, str(path), data, io.BytesIO(data), file]
        reports = [json.loads(renderer("json")(triage.analyze(one, knowledge=knowledge))) for one in given]
    for report in reports:
        del report["crash"]["inputs"]
    assert all(report == reports[0] for report in reports)
    assert reports[0]["verdict"] == "diagnosed"


def test_several_kinds_of_input_are_one_incident(knowledge):
    lines = (LOGS / "oom_in_fit-2.21.log").read_bytes().splitlines(keepends=True)
    report = triage.analyze(b"".join(lines[:30]), io.BytesIO(b"".join(lines[30:])), knowledge=knowledge)
    assert [entry.id for entry in report.crash.inputs] == [0, 1]
    assert report.diagnoses[0].cause == "host.out-of-memory"


def test_a_stream_stays_open_for_its_owner(knowledge):
    stream = io.BytesIO(b"Killed\n")
    triage.analyze(stream, knowledge=knowledge)
    assert not stream.closed


@pytest.mark.parametrize("code", ["banana", "", 1 << 40, "0x", "1.5"])
def test_nonsense_as_exit_code_raises_with_what_to_try(code):
    with pytest.raises(triage.NotAnExitCode, match="139"):
        triage.analyze(b"", exit_code=code)
    assert issubclass(triage.NotAnExitCode, ValueError)


def test_an_unreadable_input_is_named_and_does_not_raise(knowledge, tmp_path):
    report = triage.analyze(tmp_path / "nowhere.log", LOGS / "oom_in_fit-2.21.log", knowledge=knowledge)
    assert [entry.kind for entry in report.crash.inputs] == ["unreadable", "log"]
    assert any("nowhere.log" in text for text in report.not_observable)
    assert report.verdict == "diagnosed"


def test_nothing_read_is_not_the_same_as_nothing_found(knowledge, tmp_path):
    report = triage.analyze(tmp_path / "nowhere.log", knowledge=knowledge)
    assert report.verdict != "no-crash"


def test_no_input_at_all_is_no_crash(knowledge):
    assert triage.analyze(knowledge=knowledge).verdict == "no-crash"


def test_explain_takes_numbers_and_names(knowledge):
    assert triage.explain(139, knowledge=knowledge) == triage.explain("139", knowledge=knowledge)
    assert triage.explain(-11, knowledge=knowledge).title == triage.explain("SIGSEGV", knowledge=knowledge).title


def test_every_public_name_exists():
    for name in triage.__all__:
        assert hasattr(triage, name), name


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_triage_imports_none_of_its_dependencies():
    loaded = modules_after("import triage")
    assert "triage" in loaded
    assert not loaded & {"click", "rich", "yaml", "tensorflow", "re2", "psutil", "minidump", "numpy"}


def test_analysing_imports_no_command_line_and_no_tensorflow():
    log = str(LOGS / "oom_in_fit-2.21.log")
    loaded = modules_after(f"import triage; assert triage.analyze({log!r}).verdict == 'diagnosed'")
    assert not loaded & {"click", "rich", "tensorflow", "numpy", "triage.cli", "triage.reports"}
