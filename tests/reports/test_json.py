"""The JSON report is a contract: every report validates against the schema that ships in the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from conftest import LOGS
from fixture_logs import ALL_LOGS, EXITS, report_of
from running import CRASH, environment, primary_of, report_on

import triage
from triage.crash import Command, Crash, Duplicates, Environment, Fault, NativeFrame, Process, Thread
from triage.reports.json_report import as_dict, render


@pytest.fixture(scope="session")
def validator():
    schema = json.loads(files("triage.reports").joinpath("report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ALL_LOGS)
def test_every_log_gives_a_valid_report(validator, name):
    for exit_code in {None, EXITS.get(name)}:
        report = json.loads(render(report_of(LOGS / name, exit_code)))
        validator.validate(report)
        assert [d["rank"] for d in report["diagnoses"]] == list(range(1, len(report["diagnoses"]) + 1))
        assert len({d["cause"] for d in report["diagnoses"]}) == len(report["diagnoses"])
        confidences = [d["confidence"] for d in report["diagnoses"]]
        assert confidences == sorted(confidences, reverse=True)
        assert sum(confidences) + report["unknown_confidence"] <= 1.001


@pytest.mark.parametrize("name", ALL_LOGS)
def test_the_verdict_follows_from_the_confidences(name):
    report = as_dict(report_of(LOGS / name, EXITS.get(name)))
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


@pytest.mark.parametrize("name", ALL_LOGS)
def test_a_stack_always_has_a_key(name):
    report = as_dict(report_of(LOGS / name, EXITS.get(name)))
    if any(t["python_stack"] or t["native_stack"] for p in report["crash"]["processes"] for t in p["threads"]):
        assert report["stack_key"], name


def test_evidence_points_at_the_line_that_says_it():
    path = LOGS / "oom_in_fit-2.21.log"
    report = as_dict(report_of(path, 139))
    lines = path.read_text("utf-8").splitlines()
    (place,) = [b for b in report["diagnoses"][0]["because"] if "could not allocate" in b["text"]]
    assert "OOM when allocating tensor with shape[8192,128,128,1024]" in lines[place["line"] - 1]


# ---------------------------------------------------------------- a program that we ran


@pytest.fixture(scope="module")
def live_report(tmp_path_factory):
    """A worker, forked from a script that hides TensorFlow's log, crashed below ctypes and was held."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "train.py").write_text(
        CRASH + "import multiprocessing\n"
        "worker = multiprocessing.get_context('fork').Process(target=die)\nworker.start()\nworker.join()\n"
    )
    done, report = report_on(folder, "train.py", native=True, env=environment(TF_CPP_MIN_LOG_LEVEL="3"))
    assert done.returncode == 0
    return report


def test_a_live_report_is_valid(validator, live_report):
    validator.validate(live_report)


def undescribed(value: Any, form: dict[str, Any], schema: dict[str, Any], path: str = "") -> list[str]:
    """The fields of a report that its schema says nothing about."""
    form = schema["$defs"][form["$ref"].rsplit("/", 1)[-1]] if "$ref" in form else form
    if isinstance(value, list):
        return [found for one in value for found in undescribed(one, form.get("items", {}), schema, f"{path}[]")]
    if not isinstance(value, dict) or "properties" not in form:
        return []
    unknown = [f"{path}.{name}" for name in value if name not in form["properties"]]
    known = ((name, inner, form["properties"][name]) for name, inner in value.items() if name in form["properties"])
    return unknown + [found for name, inner, f in known for found in undescribed(inner, f, schema, f"{path}.{name}")]


def test_the_schema_describes_every_field_of_it(validator, live_report):
    assert set(undescribed(live_report, validator.schema, validator.schema)) == set()


def test_it_tells_every_process_and_which_one_it_is_about(live_report):
    assert [process["role"] for process in live_report["crash"]["processes"]] == ["main", "worker"]
    assert live_report["crash"]["primary"] == 1
    assert live_report["crash"]["processes"][0]["fault"] is None
    assert {process["forked_with"] for process in live_report["crash"]["processes"]} == {None}


def test_it_tells_the_fault(require, live_report):
    require("gdb")
    require("ptrace")
    fault = primary_of(live_report)["fault"]
    assert (fault["signal"], fault["address"], fault["access"]) == ("SIGSEGV", "0x8", "read")
    assert fault["instruction"]
    assert fault["registers"] and all(value.startswith("0x") for value in fault["registers"].values())
    assert 0 < fault["stack_used_bytes"] < fault["stack_limit_bytes"]


def test_it_tells_both_stacks_of_the_crashed_thread(require, live_report):
    require("ptrace")
    (thread,) = [thread for thread in primary_of(live_report)["threads"] if thread["crashed"]]
    assert [frame["function"] for frame in thread["python_stack"][:2]] == ["string_at", "die"]
    assert "strlen" in thread["native_stack"][0]["function"]
    assert {tuple(frame) for frame in thread["native_stack"]} == {
        ("module", "function", "offset", "trust", "source", "own", "inlined")
    }
    assert not any(frame["own"] for frame in thread["native_stack"]), "nothing here was built by the person"


def test_it_tells_resources_and_machine(live_report):
    crash = live_report["crash"]
    assert set(crash["resources"]) == {
        "threads",
        "thread_limit",
        "thread_limit_source",
        "shm_bytes",
        "shm_free_bytes",
    }
    assert crash["memory"]["peak_bytes"] > 0
    assert crash["environment"]["interpreter"].endswith("python")
    assert crash["environment"]["loaded_twice"] == []
    assert crash["environment"]["hidden_log"] is None, "TensorFlow was not even loaded"


def test_what_only_some_runs_tell_is_valid_too(validator, knowledge):
    frame = NativeFrame("/home/user/_op.so", "Compute", 0x10, "cfi", "/home/user/op.cc:14", own=True)
    process = Process(
        4712, "worker", "train.py", threads=(Thread(crashed=True, native_stack=(frame,)),), forked_with="tensorflow",
        fault=Fault("SIGSEGV", (1 << 64) - 8, "write", "mov [rax],rbx", (("rax", 0),), 4096, 8 << 20),
    )  # fmt: skip
    twice = Duplicates("OpenMP runtimes", ("/a/libgomp.so.1", "/b/libiomp5.so"))
    machine = Environment(hidden_log="TF_CPP_MIN_LOG_LEVEL=3, set by the script", loaded_twice=(twice,))
    report = triage.analyze(b"", exit_code=139, knowledge=knowledge)
    data = json.loads(
        render(report._replace(crash=Crash(processes=(process,), environment=machine, rerun=Command(("train.py",)))))
    )
    validator.validate(data)
    told = primary_of(data)
    assert (told["forked_with"], told["fault"]["address"]) == ("tensorflow", "0xfffffffffffffff8")
    assert (told["threads"][0]["native_stack"][0]["source"], told["threads"][0]["native_stack"][0]["own"]) == (
        "/home/user/op.cc:14",
        True,
    )
    assert data["crash"]["environment"]["hidden_log"] == machine.hidden_log
    assert data["crash"]["environment"]["loaded_twice"] == [twice.sentence]


def test_frames_that_were_left_out_of_a_long_stack_are_valid_too(validator, knowledge):
    frames = (NativeFrame("_op.so", "recurse", trust="cfi"), NativeFrame(None, "900 more frames", trust="omitted"))
    crash = Crash(processes=(Process(threads=(Thread(crashed=True, native_stack=frames),)),))
    report = triage.analyze(b"", exit_code=139, knowledge=knowledge)._replace(crash=crash)
    data = json.loads(render(report))
    validator.validate(data)
    assert [frame["trust"] for frame in primary_of(data)["threads"][0]["native_stack"]] == ["cfi", "omitted"]
