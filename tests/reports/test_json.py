"""The JSON report is a contract: every report validates against the schema that ships in the package."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
import yaml
from conftest import LOGS

import triage
from triage.crash import Crash, NativeFrame, Process, Thread
from triage.reports.json_report import as_dict, render

EXITS = {row["file"]: row["exit"] for row in yaml.safe_load((LOGS / "index.yaml").read_text("utf-8"))}
ALL_LOGS = sorted(path.relative_to(LOGS).as_posix() for path in LOGS.rglob("*.log"))


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(files("triage.reports").joinpath("report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ALL_LOGS)
def test_every_log_gives_a_valid_report(knowledge, validator, name):
    for exit_code in {None, EXITS.get(name)}:
        report = json.loads(render(triage.analyze(LOGS / name, exit_code=exit_code, knowledge=knowledge)))
        validator.validate(report)
        assert [d["rank"] for d in report["diagnoses"]] == list(range(1, len(report["diagnoses"]) + 1))
        assert len({d["cause"] for d in report["diagnoses"]}) == len(report["diagnoses"])
        confidences = [d["confidence"] for d in report["diagnoses"]]
        assert confidences == sorted(confidences, reverse=True)
        assert sum(confidences) + report["unknown_confidence"] <= 1.001


@pytest.mark.parametrize("name", ALL_LOGS)
def test_the_verdict_follows_from_the_confidences(knowledge, name):
    report = as_dict(triage.analyze(LOGS / name, exit_code=EXITS.get(name), knowledge=knowledge))
    first = max((d["confidence"] for d in report["diagnoses"]), default=0)
    if report["verdict"] == "diagnosed":
        assert first >= 0.70
    elif report["verdict"] == "uncertain":
        assert report["unknown_confidence"] < first < 0.70
    elif report["verdict"] == "unknown":
        assert first <= report["unknown_confidence"]
    else:
        assert report["diagnoses"] == []


@pytest.mark.parametrize("exit_code", [None, 0, 1, -9, 139, "0xC0000409", "SIGABRT", 255])
def test_a_code_without_a_log_gives_a_valid_report(knowledge, validator, exit_code):
    validator.validate(as_dict(triage.analyze(exit_code=exit_code, knowledge=knowledge)))
    validator.validate(as_dict(triage.analyze(b"", exit_code=exit_code, knowledge=knowledge)))


def test_an_unreadable_input_gives_a_valid_report(knowledge, validator, tmp_path):
    validator.validate(as_dict(triage.analyze(tmp_path / "nowhere.log", b"MDMP....", knowledge=knowledge)))


def test_the_schema_refuses_what_is_not_a_report(knowledge, validator):
    report = as_dict(triage.analyze(LOGS / "check_failed-2.21.log", knowledge=knowledge))
    for change in ({"verdict": "perhaps"}, {"schema": "triage.report/0"}, {"unknown_confidence": 2}):
        assert not validator.is_valid({**report, **change})
    for field in report:
        assert not validator.is_valid({name: value for name, value in report.items() if name != field}), field


@pytest.mark.parametrize(
    ("offset", "written"), [(None, None), (0, "0x0"), (0x1F, "0x1f"), (0xFFFF_FFFF_FFFF_F123, "0xfffffffffffff123")]
)
def test_an_address_is_a_hex_string_that_loses_no_digit(validator, knowledge, offset, written):
    frame = NativeFrame("libx.so", None, offset)
    crash = Crash(processes=(Process(threads=(Thread(crashed=True, native_stack=(frame,)),)),))
    report = triage.analyze(b"", exit_code=139, knowledge=knowledge)._replace(crash=crash)
    data = json.loads(render(report))
    validator.validate(data)
    (thread,) = data["crash"]["processes"][0]["threads"]
    assert thread["native_stack"][0]["offset"] == written


@pytest.mark.parametrize("number", [31, "1f", "0x", "0xZZ"])
def test_the_schema_takes_no_other_spelling_of_an_address(validator, knowledge, number):
    report = as_dict(triage.analyze(LOGS / "check_failed-2.21.log", exit_code=134, knowledge=knowledge))
    stacks = [t["native_stack"] for p in report["crash"]["processes"] for t in p["threads"] if t["native_stack"]]
    stacks[0][0]["offset"] = number
    assert not validator.is_valid(report)


def test_a_windows_status_is_a_hex_string(knowledge):
    log = b"Process finished with exit code -1073740791 (0xC0000409)\n"
    report = as_dict(triage.analyze(log, knowledge=knowledge))
    assert report["crash"]["processes"][0]["exit"]["ntstatus"] == "0xC0000409"


def test_one_report_is_one_ascii_line(run_triage):
    log = "Traceback (most recent call last):\nValueError: größer → 記憶\u2028\x85 end\n"
    output = run_triage("analyze", "-", "--format", "json", input=log).stdout
    assert output.isascii()
    assert output.count("\n") == 1 and output.endswith("\n")
    assert "größer → 記憶" in json.loads(output)["crash"]["exception"]["message"]


def test_a_stack_always_has_a_key(knowledge):
    for name in ALL_LOGS:
        report = as_dict(triage.analyze(LOGS / name, exit_code=EXITS.get(name), knowledge=knowledge))
        if any(t["python_stack"] or t["native_stack"] for p in report["crash"]["processes"] for t in p["threads"]):
            assert report["stack_key"], name


def test_evidence_points_at_the_line_that_says_it(knowledge):
    path = LOGS / "oom_in_fit-2.21.log"
    report = as_dict(triage.analyze(path, exit_code=139, knowledge=knowledge))
    lines = path.read_text("utf-8").splitlines()
    (place,) = [b for b in report["diagnoses"][0]["because"] if "could not allocate" in b["text"]]
    assert "OOM when allocating tensor with shape[8192,128,128,1024]" in lines[place["line"] - 1]
