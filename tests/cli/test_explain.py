"""`triage explain`: a page for whatever the person has in hand."""

from __future__ import annotations

import shlex

import pytest

from triage import status

SEGFAULT = ("-11", "139", "SIGSEGV", "sigsegv", "segv", "Segmentation fault", "exit code 139")
FAST_FAIL = ("-1073740791", "0xC0000409", "3221226505", "0xc0000409", "STATUS_STACK_BUFFER_OVERRUN")


@pytest.mark.parametrize("spelling", SEGFAULT)
def test_a_segmentation_fault_in_every_spelling(run_triage, spelling):
    done = run_triage("explain", spelling)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == "SIGSEGV (exit 139)"
    *command, code = shlex.split(lines[-1])
    assert command == ["more", "triage", "analyze", "LOG", "--exit-code"]
    assert status.parse(code).signal == "SIGSEGV", "the command that is named must work"


@pytest.mark.parametrize("spelling", FAST_FAIL)
def test_a_fast_fail_in_every_spelling(run_triage, spelling):
    done = run_triage("explain", spelling)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("0xC0000409 (exit -1073740791)")
    assert "Also written 0xC0000409, -1073740791 and 3221226505." in done.stdout


@pytest.mark.parametrize("topic", ["139", "0xC0000409", "ResourceExhausted"])
def test_a_page_says_what_it_means_what_not_and_the_causes_in_order(run_triage, topic):
    text = run_triage("explain", topic).stdout
    places = [text.index(f"\n {heading}\n") for heading in ("means", "does not mean", "likely causes")]
    assert places == sorted(places)
    assert "\n  1. " in text


@pytest.mark.parametrize(
    "name",
    ["ResourceExhausted", "ResourceExhaustedError", "tensorflow.python.framework.errors_impl.ResourceExhaustedError"],
)
def test_an_exception_by_its_short_and_its_long_name(run_triage, name):
    done = run_triage("explain", name)
    assert done.returncode == 0
    assert "gpu.out-of-memory" in done.stdout and "host.out-of-memory" in done.stdout


@pytest.mark.parametrize("name", ["InvalidArgument", "InvalidArgumentError", "MemoryError"])
def test_the_exceptions_that_people_meet_have_a_page(run_triage, name):
    assert run_triage("explain", name).returncode == 0


def test_a_cause(run_triage):
    done = run_triage("explain", "gpu.out-of-memory")
    assert done.returncode == 0
    assert done.stdout.startswith("gpu.out-of-memory  The GPU's memory is full\n")
    for heading in ("what happens inside", "how it shows", "how to be sure", "fix", "mistaken for"):
        assert f"\n {heading}\n" in done.stdout


def test_every_cause_has_a_page(knowledge):
    import triage

    for slug in knowledge.causes:
        page = triage.explain(slug, knowledge=knowledge)
        assert page.title.startswith(slug)
        assert len(page.sections) >= 4, slug


def test_a_signature_by_its_id(run_triage):
    done = run_triage("explain", "host/oom-in-onednn-kernel")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("host/oom-in-onednn-kernel  ")
    assert done.stdout.splitlines()[-1].split() == ["more", "triage", "explain", "host.out-of-memory"]


def test_a_small_number_says_which_signal_it_would_be(run_triage):
    text = run_triage("explain", "9").stdout
    assert text.startswith("exit 9\n")
    assert "SIGKILL" in text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("SIGSEV", "SIGSEGV"),
        ("ResourceExausted", "ResourceExhausted"),
        ("gpu.out-of-memry", "gpu.out-of-memory"),
        ("host/oom-in-onednn", "host/oom-in-onednn-kernel"),
    ],
)
def test_a_near_miss_is_wrong_usage_with_a_suggestion(run_triage, typed, meant):
    done = run_triage("explain", typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean" in done.stderr and meant in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("topic", ["qqqqqqqq", "99999999999999", "", "[/bold]"])
def test_what_nobody_knows_is_refused_in_one_sentence(run_triage, topic):
    done = run_triage("explain", topic)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("triage: ") and done.stderr.count("\n") == 1


def test_without_a_topic_it_says_what_is_missing(run_triage):
    done = run_triage("explain")
    assert done.returncode == 2
    assert "Missing argument" in done.stderr


def test_help_is_not_taken_for_a_topic(run_triage):
    done = run_triage("explain", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: triage explain")


def test_an_option_that_does_not_exist_is_refused(run_triage):
    done = run_triage("explain", "--verbose", "139")
    assert done.returncode == 2
    assert "--verbose" in done.stderr


def test_a_file_is_for_analyze(run_triage, tmp_path):
    (tmp_path / "my crash.log").write_text("Killed\n", "utf-8")
    done = run_triage("explain", "my crash.log", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("triage analyze 'my crash.log'\n")


def test_a_line_nobody_knows_goes_to_analyze(run_triage):
    done = run_triage("explain", "the cat sat on the mat")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("give the whole line that has it, or the whole log to 'triage analyze LOG'.\n")
