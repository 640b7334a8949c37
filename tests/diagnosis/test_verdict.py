"""Did anything die, and how sure are we: the four verdicts, their sentence, and what could not be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import crash_of, crashed_thread, sentences, signature_data
from building import knowledge_of as known
from conftest import LOGS
from fixture_logs import report_of

import triage
from triage.crash import Command, Crash, Gap, LeftOut, LogRecord, Memory, Place, PythonException, RuntimeMessage
from triage.diagnosis import diagnose
from triage.diagnosis.verdict import SURE, with_all_gaps
from triage.knowledge.database import Knowledge
from triage.report import DIAGNOSED, NO_CRASH, UNCERTAIN, UNKNOWN, Outcome, Report

NOISE = {"noise": ["a greeting of the library"], "life": [r"^Epoch \d+/\d+"]}
DIED = Outcome("died")
STRONG = {"id": "strong", "log": "the telling words", "p": 0.95, "b": 0.0005}
WEAK = {"id": "weak", "log": "the vague words", "p": 0.8, "b": 0.01}


def verdict(crash: Crash) -> Report:
    """The report of a knowledge with one cause that can show strongly or weakly."""
    signatures = {
        "a/strong": signature_data(title="The machine was full", cause="a.a", clues=[STRONG]),
        "a/weak": signature_data(title="The machine was perhaps full", cause="a.a", clues=[WEAK]),
    }
    return diagnose(crash, known(signatures, {"a.a": 0.02}, noise=NOISE), version="test")


def error(offset: int) -> PythonException:
    return PythonException("ValueError", "no", place=Place(0, 1), offset=offset)


# the four verdicts


def test_a_cause_at_seventy_percent_or_more_is_diagnosed() -> None:
    report = verdict(crash_of("the telling words", exit="139"))
    assert report.verdict == DIAGNOSED
    assert report.diagnoses[0].confidence >= SURE
    assert report.summary == "The machine was full."


def partly_read(*lines: str, exit: str | None = None) -> Crash:
    crash = crash_of(*lines, exit=exit, complete=False)
    return crash._replace(inputs=(crash.inputs[0]._replace(left_out=LeftOut(1 << 20, 9 << 20, 7, 12_345)),))


def test_no_cause_passes_for_found_where_a_part_of_the_log_was_not_read() -> None:
    whole, part = (
        verdict(crash_of("the telling words", exit="139")),
        verdict(partly_read("the telling words", exit="139")),
    )
    assert (whole.verdict, part.verdict) == (DIAGNOSED, UNCERTAIN)
    assert part.diagnoses[0].confidence < SURE <= whole.diagnoses[0].confidence
    assert part.diagnoses[0].because == whole.diagnoses[0].because
    shares = sum(diagnosis.confidence for diagnosis in part.diagnoses)
    assert part.unknown_confidence == pytest.approx(1.0 - shares, abs=0.001)


@pytest.mark.parametrize(("line", "exit"), [("Epoch 1/3", None), ("a greeting of the library", None), ("fine", "0")])
def test_nothing_is_called_well_where_a_part_of_the_log_was_not_read(line: str, exit: str | None) -> None:
    assert verdict(crash_of(line, exit=exit)).verdict == NO_CRASH
    report = verdict(partly_read(line, exit=exit))
    assert report.verdict == UNKNOWN
    assert report.summary == "A part of the log was not read, and what was read does not name a cause."


def test_a_run_that_was_interrupted_is_no_crash_however_much_it_had_printed() -> None:
    assert verdict(partly_read("fine", exit="SIGINT")._replace(rerun=Command(("train.py",)))).verdict == NO_CRASH


def test_a_cause_that_leads_below_that_is_uncertain() -> None:
    report = verdict(crash_of("the vague words", exit="139"))
    assert report.verdict == UNCERTAIN
    assert report.unknown_confidence < report.diagnoses[0].confidence < SURE
    assert report.summary.startswith("The machine was perhaps full, perhaps (")


def test_where_unknown_leads_the_verdict_is_unknown() -> None:
    report = verdict(crash_of("nothing that is known", exit="139"))
    assert report.verdict == UNKNOWN
    assert report.summary == "Something failed with SIGSEGV (exit 139), but the evidence does not name its cause."


def test_exit_code_0_is_no_crash_whatever_the_log_says() -> None:
    report = verdict(crash_of("the telling words", exit="0", exceptions=(error(0),)))
    assert (report.verdict, report.diagnoses, report.unknown_confidence) == (NO_CRASH, (), 0.0)
    assert report.summary == "It ended with exit code 0, although line 1 reports a failure."


@pytest.mark.parametrize("lines", [(), ("",), ("  ", "\t")], ids=["nothing", "empty", "blank"])
def test_an_empty_input_is_no_crash(lines: tuple[str, ...]) -> None:
    report = verdict(crash_of(*lines))
    assert (report.verdict, report.summary) == (NO_CRASH, "The input is empty.")


def test_an_input_that_could_not_be_read_is_not_an_empty_one(tmp_path: Path, knowledge: Knowledge) -> None:
    report = triage.analyze(tmp_path / "missing.log", knowledge=knowledge)
    assert report.verdict != NO_CRASH
    assert "empty" not in report.summary


# signs of life


def test_a_handled_error_followed_by_an_epoch_is_no_crash() -> None:
    assert verdict(crash_of("ValueError: no", "Epoch 1/2", exceptions=(error(0),))).verdict == NO_CRASH


def test_an_epoch_followed_by_an_error_is_a_crash() -> None:
    assert verdict(crash_of("Epoch 1/2", "ValueError: no", exceptions=(error(10),))).verdict == UNKNOWN


@pytest.mark.parametrize("version", ["2.15", "2.21"])
def test_a_real_handled_error_is_no_crash_even_without_its_exit_code(version: str, knowledge: Knowledge) -> None:
    report = triage.analyze(LOGS / "handled" / f"error_caught-{version}.log", knowledge=knowledge)
    assert report.verdict == NO_CRASH


def test_a_sign_of_life_alone_is_no_crash() -> None:
    assert verdict(crash_of("Epoch 1/2", "whatever follows")).verdict == NO_CRASH


def test_life_in_the_first_input_does_not_outlive_trouble_in_the_second() -> None:
    second = PythonException("ValueError", "no", place=Place(1, 1), offset=0)
    assert verdict(crash_of("x" * 50, "Epoch 1/2", exceptions=(second,))).verdict != NO_CRASH


@pytest.mark.parametrize(
    "facts",
    [
        {"messages": (RuntimeMessage("heap", "free(): invalid pointer", Place(0, 1)),)},
        {"threads": (crashed_thread(python=("train.py:main",)),)},
        {"memory": Memory(oom_kills=1)},
        {"records": (LogRecord("F", "env.cc", "Check failed", Place(0, 1)),)},
        {"exit": "139"},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_no_sign_of_life_undoes_a_death(facts: dict[str, object]) -> None:
    assert verdict(crash_of("died", "Epoch 1/2", **facts)).verdict != NO_CRASH  # type: ignore[arg-type]


def test_an_error_line_after_the_last_epoch_is_trouble_unless_it_is_noise() -> None:
    def at_level_e(message: str) -> Crash:
        return crash_of("Epoch 1/2", message, records=(LogRecord("E", "x.cc", message, Place(0, 2), 10),))

    assert verdict(at_level_e("could not go on")).verdict == UNKNOWN
    assert verdict(at_level_e("a greeting of the library")).verdict == NO_CRASH


# noise and silence


def test_nothing_but_known_noise_is_no_crash() -> None:
    assert verdict(crash_of("a greeting of the library", "", "a greeting of the library (again)")).verdict == NO_CRASH


@pytest.mark.parametrize("line", ["and then it hangs", "worker exited", "Killed", "cannot open display"])
def test_a_line_that_speaks_of_trouble_is_not_passed_over_for_the_noise_around_it(line: str) -> None:
    assert verdict(crash_of("a greeting of the library", line)).verdict == UNKNOWN


def test_a_plain_line_between_the_noise_changes_nothing() -> None:
    lines = ("a greeting of the library", "Hello, world", "a greeting of the library")
    assert verdict(crash_of(*lines)).verdict == NO_CRASH


def test_a_plain_line_at_the_end_may_be_the_last_that_it_got_to() -> None:
    assert verdict(crash_of("a greeting of the library", "Loading data")).verdict == UNKNOWN


@pytest.mark.parametrize("line", ["2.15.1", "TensorFlow version: 2.15.1", "True", "[]", ">>>", "user@box:~/project$"])
def test_what_a_command_was_to_show_is_its_good_end(line: str) -> None:
    assert verdict(crash_of("a greeting of the library", line)).verdict == NO_CRASH


@pytest.mark.parametrize("remark", ["and then it hangs", "Here it always crashes", "the kernel died"])
def test_a_remark_below_the_last_sign_of_life_takes_it_back(remark: str) -> None:
    assert verdict(crash_of("Epoch 1/10", "now the data", remark)).verdict == UNKNOWN
    assert verdict(crash_of("Epoch 1/10", remark, "Epoch 2/10")).verdict == NO_CRASH


def test_more_plain_lines_than_noise_say_nothing_about_the_end() -> None:
    assert verdict(crash_of("a greeting of the library", "Loading data", "Building the model")).verdict == UNKNOWN


def test_the_noise_that_tensorflow_prints_at_start_up_is_no_crash(knowledge: Knowledge) -> None:
    lines = (LOGS / "healthy" / "import_only-2.21.log").read_text("utf-8").splitlines()
    start_up = [line for line in lines if "tensorflow 2" not in line and "PhysicalDevice" not in line]
    report = triage.analyze("\n".join(start_up).encode(), knowledge=knowledge)
    assert start_up != lines
    assert report.verdict == NO_CRASH


def test_a_log_without_an_end_is_unknown_and_says_so_honestly(knowledge: Knowledge) -> None:
    report = triage.analyze(b"Loading data\nBuilding the model\nReading 12 shards\n", knowledge=knowledge)
    assert (report.verdict, report.diagnoses) == (UNKNOWN, ())
    assert report.summary == "Nothing in here tells how it ended: it ended well, or its end is missing."


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "train.py", line 3, in <module>
  | ExceptionGroup: two shards could not be read (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | OSError: shard 1
    +------------------------------------
"""
SANITIZER = "==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x4f\n"
FAILURES = {
    "a group of exceptions": (GROUP, 3),
    "a sanitizer's report": ("loading\n" + SANITIZER, 2),
    "a message longer than is read": ("loading\nsaving\nOSError: " + "x" * 9000 + "\n", 3),
    "a person's words": ("it starts\nand then it just freezes\n", 2),
    "another language": ("Laden\nFehler beim Lesen der Daten\n", 2),
    "a shell's words": ("C:\\> pyhton train.py\n'pyhton' is not recognized as an internal or external command\n", 2),
    "a logger's level": ("2026-03-01 root - CRITICAL - giving up after 5 retries\n", 1),
    "behind the head of a stack": ("Traceback (most recent call last):\n  File 'a'\nOSError: " + "x" * 9000, 3),
    "cut off": ("Building\nE tensorflow/core/x.cc:12] the device vani", 2),
}


@pytest.mark.parametrize(("text", "line"), FAILURES.values(), ids=FAILURES)
def test_the_summary_never_denies_a_word_of_failure_that_is_there(text: str, line: int, knowledge: Knowledge) -> None:
    """Each alone, and after notices that have such words and mean nothing."""
    notices = (LOGS / "healthy" / "import_only-2.21.log").read_text("utf-8").splitlines()[:3]
    for before in ([], notices):
        report = triage.analyze("\n".join([*before, text]).encode(), knowledge=knowledge)
        assert not report.summary.startswith("No error"), before
        if report.verdict == UNKNOWN and "recognised" in report.summary:
            assert f"line {line + len(before)} " in report.summary


def test_a_notice_is_no_word_of_failure() -> None:
    """The knowledge calls it harmless, so its line is no word of trouble either."""
    signatures = {"a/strong": signature_data(cause="a.a", clues=[STRONG])}
    harmless = known(signatures, noise={"noise": ["could not find a card"], "life": []})
    log = ("could not find a card", "loading", "building", "reading")
    report = diagnose(crash_of(*log), harmless, version="test")
    assert report.summary == "Nothing in here tells how it ended: it ended well, or its end is missing."
    report = diagnose(crash_of(*log, "could not find the data"), harmless, version="test")
    assert report.summary == "No cause is recognised in here; line 5 may tell what went wrong."


@pytest.mark.parametrize("log", sorted((LOGS / "healthy").glob("*.log")), ids=lambda path: path.stem)
def test_a_healthy_log_with_exit_code_0_is_no_crash(log: Path) -> None:
    assert report_of(log, 0).verdict == NO_CRASH


# what could not be looked at


def test_what_the_inputs_do_not_hold_is_a_gap() -> None:
    listed = " ".join(sentences(with_all_gaps(crash_of("x"), DIED, known({"a/a": signature_data()})).gaps))
    for missing in ("exit status", "native stack", "Python stack", "memory"):
        assert missing in listed


def test_what_the_inputs_do_hold_is_not_a_gap() -> None:
    thread = crashed_thread(native=("raise",), python=("train.py:main",))
    crash = crash_of("x", exit="139", threads=(thread,), memory=Memory(peak_bytes=1))
    assert with_all_gaps(crash, DIED, known({"a/a": signature_data()})).gaps == ()


def test_a_part_that_was_not_read_is_mentioned_first() -> None:
    gap = Gap("input", "left-out", detail="9 lines in the middle")
    assert with_all_gaps(crash_of("x", gaps=(gap,)), DIED, known({})).gaps[0] == gap
