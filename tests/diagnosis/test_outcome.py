"""Did anything die? Died, hung, lived or not told, and the evidence that the answer rests on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from building import crash_of, crashed_thread
from conftest import LOGS

import triage
from triage.crash import Crash, Place, PythonException, RuntimeMessage
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.report import NO_CRASH, UNKNOWN, Outcome

QUIET = LOGS / "quiet"
HEALTHY = sorted(
    name
    for name, row in yaml.safe_load((QUIET / "expected.yaml").read_text("utf-8")).items()
    if row["expected"] == NO_CRASH and (QUIET / name).read_text("utf-8").strip()
)
# Ends that may follow any healthy log.
ENDS = (
    "Segmentation fault (core dumped)",
    "Killed",
    "Aborted (core dumped)",
    "Process finished with exit code -1073741819 (0xC0000005)",
    "free(): invalid pointer",
    "2024-05-01 08:00:02.700000: F tensorflow/core/platform/default/env.cc:74] Check failed: ret == 0 (11 vs. 0)",
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    run()\nValueError: no shards',
    "and then it just hangs",
    "the kernel died",
    "Fatal Python error: Segmentation fault",
    "I can't Ctrl-C it and top doesn't show any processor load",
    "It works on another machine, but here it crashes",
    "Bus error (core dumped)",
    "zsh: illegal hardware instruction  python train.py",
    "My program dies without any message.",
)
# An end in words that are also true of a program that was stopped by hand.
TOLD = (
    "The program closes right after these lines:",
    "it quits",
    "the window disappears. What is it?",
    "Nothing gets printed after this",
    "and then the server goes down",
)


def outcome(crash: Crash, knowledge: Knowledge) -> Outcome:
    return diagnose(crash, knowledge, version="test").outcome


def signs(told: Outcome) -> set[str]:
    return {ground.sign for ground in told.because}


def of_text(text: str, knowledge: Knowledge) -> Outcome:
    return triage.analyze(text.encode(), knowledge=knowledge).outcome


# ---------------------------------------------------------------- died, hung


def test_a_signal_is_a_death_and_the_exception_before_it_is_evidence_too(knowledge: Knowledge) -> None:
    error = PythonException("ValueError", "no", place=Place(0, 1), offset=0)
    told = outcome(crash_of("ValueError: no", exit="139", exceptions=(error,)), knowledge)
    assert (told.end, signs(told)) == ("died", {"failing status", "exception"})


def test_each_ground_has_its_place(knowledge: Knowledge) -> None:
    told = of_text("loading\nfree(): invalid pointer\n", knowledge)
    assert (told.end, [(g.sign, g.place) for g in told.because]) == ("died", [("last words", Place(0, 2))])


def test_a_crashed_thread_is_a_death(knowledge: Knowledge) -> None:
    crash = crash_of("x", threads=(crashed_thread(python=("train.py:main",)),))
    assert signs(outcome(crash, knowledge)) == {"crashed thread"}


@pytest.mark.parametrize(
    ("kind", "end", "sign"),
    [
        ("remark", "died", "person"),
        ("notice", "died", "launcher"),
        ("hang", "hung", "hang"),
        ("heap", "died", "last words"),
    ],
)
def test_what_others_say_about_the_end(kind: str, end: str, sign: str, knowledge: Knowledge) -> None:
    message = RuntimeMessage(kind, "words", Place(0, 2), 8)  # type: ignore[arg-type]
    told = outcome(crash_of("loading", "words", messages=(message,)), knowledge)
    assert (told.end, signs(told)) == (end, {sign})


def test_a_program_outlives_what_a_launcher_says_but_not_a_persons_word_or_a_broken_heap(knowledge: Knowledge) -> None:
    lines = ("words", "Epoch 2/10", "10/10 [======] - loss: 0.1 - accuracy: 0.9")
    launcher, remark, heap = (RuntimeMessage(kind, "words", Place(0, 1), 0) for kind in ("notice", "remark", "heap"))
    assert outcome(crash_of(*lines, messages=(launcher,)), knowledge).end == "lived"
    assert outcome(crash_of(*lines, messages=(remark,)), knowledge).end == "died"
    assert outcome(crash_of(*lines, messages=(heap,)), knowledge).end == "died"


# ---------------------------------------------------------------- lived


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("x\nProcess finished with exit code 0\n", "exit 0"),
        ("Epoch 1/3\n4/4 [======] - loss: 0.5 - acc: 0.7\nEpoch 2/3\n", "sign of life"),
        ("oneDNN custom operations are on.\n", "only notices"),
        (
            ">>> jnp.add(1, 1)\nW external/xla/xla/service/gpu/nvptx_compiler.cc:744] The NVIDIA driver's CUDA version "
            "is 12.2 which is older than the ptxas CUDA version (12.3.107). Because the driver is older than the ptxas "
            "version, XLA is disabling parallel compilation, which may slow down compilation.\n"
            "Array(2, dtype=int32, weak_type=True)\n>>> jax.print_environment_info()\njax:    0.4.24\n",
            "sign of life",
        ),
        (
            'Traceback (most recent call last):\n  File "t.py", line 3, in f\n    x\nKeyboardInterrupt\n',
            "stopped by hand",
        ),
    ],
    ids=lambda text: text if " " in text and "\n" not in text else "",
)
def test_that_it_lived_needs_evidence(text: str, sign: str, knowledge: Knowledge) -> None:
    told = of_text(text, knowledge)
    assert (told.end, signs(told)) == ("lived", {sign})


def test_a_person_who_stops_it_is_told_so(knowledge: Knowledge) -> None:
    log = 'Traceback (most recent call last):\n  File "train.py", line 3, in fit\n    step()\nKeyboardInterrupt\n'
    report = triage.analyze(log.encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH
    assert report.summary == "It was stopped from the keyboard (KeyboardInterrupt, Ctrl-C); nothing crashed."


def test_exit_code_0_of_an_earlier_command_does_not_undo_a_later_exception(knowledge: Knowledge) -> None:
    log = "build finished with exit code 0\n" + ENDS[6] + "\n"
    assert of_text(log, knowledge).end == "died"


def test_an_exception_that_python_ignored_ended_nothing(knowledge: Knowledge) -> None:
    log = (
        "Test accuracy: 0.91\n"
        "Exception ignored in: <bound method BaseSession.__del__ of <Session object at 0x7f>>\n"
        "Traceback (most recent call last):\n"
        '  File "session.py", line 701, in __del__\n'
        "TypeError: 'NoneType' object is not callable\n"
    )
    assert of_text(log, knowledge).end == "lived"


# ---------------------------------------------------------------- not told


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 1/5\n",
        "loading\nbuilding the model\n",
        "Could not go on with shard 7\n",
        "2024-01-01 E tensorflow/core/x.cc:12] the device vani",
    ],
)
def test_without_evidence_the_end_is_not_told_and_the_report_says_how_to_get_it(
    text: str, knowledge: Knowledge
) -> None:
    report = triage.analyze(text.encode(), knowledge=knowledge)
    assert (report.outcome.end, report.verdict) == ("not-told", UNKNOWN)
    (gap,) = [gap for gap in report.crash.gaps if gap.what == "end"]
    assert gap.remedy == "give-the-end"


@pytest.mark.parametrize("begun", ["Epoch 1/5", "Training the model...", "Starting training ..."])
def test_work_that_has_begun_below_the_notices_is_as_far_as_it_got(knowledge: Knowledge, begun: str) -> None:
    notice = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    report = triage.analyze(f"{notice * 3}{begun}\n".encode(), knowledge=knowledge)
    assert (report.outcome.end, report.verdict) == ("not-told", UNKNOWN)


def test_a_folder_that_is_called_like_a_failure_is_none(knowledge: Knowledge) -> None:
    notice = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    report = triage.analyze(f"/home/memory/venv/bin/python -V\n{notice * 3}".encode(), knowledge=knowledge)
    assert report.verdict == NO_CRASH


def test_a_missing_cuda_library_alone_is_no_crash_and_says_what_it_costs(knowledge: Knowledge) -> None:
    line = "2022-06-24 08:04:53.578885: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load "
    report = triage.analyze(f"{line}dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n".encode())
    assert (report.verdict, report.summary) == (NO_CRASH, "No sign of a crash, but TensorFlow does not use the GPU.")
    assert report.notices[0].becomes == "gpu.cuda-library-missing"


def test_a_line_of_which_the_answer_speaks_is_not_explained_a_second_time(knowledge: Knowledge) -> None:
    lines = (
        "2023-05-01 10:00:00.000001: I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports "
        "instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
        "2023-05-01 10:00:00.100001: W xla/service/gpu/llvm_gpu_backend/gpu_backend_lib.cc:530] Can't find libdevice "
        "directory ${CUDA_DIR}/nvvm/libdevice. This may result in compilation or runtime failures, if the program we "
        "try to run uses routines from libdevice.",
        "2023-05-01 10:00:00.200001: W xla/service/gpu/llvm_gpu_backend/gpu_backend_lib.cc:274] libdevice is required "
        "by this HLO module but was not found at ./libdevice.10.bc",
    )
    report = triage.analyze("\n".join(lines).encode(), knowledge=knowledge)
    assert report.diagnoses[0].cause == "gpu.xla-libdevice-missing"
    assert [notice.place and notice.place.line for notice in report.notices] == [1]


def test_the_title_of_a_notice_is_its_message_and_no_path(knowledge: Knowledge) -> None:
    message = "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX AVX2"
    for path in (
        "C:\\tf_jenkins\\rel-win\\windows-gpu\\PY\\36\\cpu_feature_guard.cc",
        "tensorflow/core/cpu_feature_guard.cc",
    ):
        line = f"2018-04-01 10:00:00.000001: I {path}:140] {message}"
        assert triage.analyze(line.encode(), knowledge=knowledge).notices[0].text == message
    broken = f"M\\windows-gpu\\PY\\35\\tensorflow\\core\\platform\\cpu_feature_guard.cc:137] {message}"
    assert triage.analyze(broken.encode(), knowledge=knowledge).notices[0].text == message


def test_an_explained_line_of_level_e_is_never_something_that_failed(knowledge: Knowledge) -> None:
    line = "2023-10-28 03:07:22.731940: E xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: "
    log = f"Epoch 1/2\nShards: a b c\nMore: d e\n{line}Attempting to register factory\n"
    report = triage.analyze(f"{log}Shards: f g\n".encode(), knowledge=knowledge)
    assert "failed" not in report.summary


def test_requests_that_a_web_server_answered_are_no_end_of_a_service(knowledge: Knowledge) -> None:
    lines = [f"heroku[router]: at=info method=GET path=/ dyno=web.1 service=46ms status={n}" for n in (200, 203, 226)]
    report = triage.analyze("\n".join(lines).encode(), knowledge=knowledge)
    assert report.outcome.end != "died" and not report.diagnoses


@pytest.mark.parametrize(
    ("summary", "end"),
    [
        ("1 passed, 1 error in 0.02s", "died"),
        ("1 passed, 2 failed in 3.00s", "died"),
        ("2 passed, 1 skipped in 1s", "lived"),
    ],
)
def test_tests_that_passed_beside_others_that_failed_are_no_life(summary: str, end: str, knowledge: Knowledge) -> None:
    error = "ValueError: no shards\n" if end == "died" else ""
    text = f"{error}========== {summary} =========="
    assert triage.analyze(text.encode(), knowledge=knowledge).outcome.end == end


def test_a_hang_that_a_person_tells_is_called_a_hang(knowledge: Knowledge) -> None:
    report = triage.analyze(b"Epoch 2/10\nand then it hangs forever\n", knowledge=knowledge)
    assert (report.outcome.end, report.summary) == (
        "hung",
        "It hung, and what is in here does not name the cause.",
    )


def test_a_gpu_that_one_framework_does_not_use_may_be_used_by_another(knowledge: Knowledge) -> None:
    line = (
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu."
    )
    report = triage.analyze(f"{line}\n".encode(), knowledge=knowledge)
    assert report.summary == "No sign of a crash, but JAX does not use the GPU."


@pytest.mark.parametrize("end", ["Done.", "tf.Tensor(4, shape=(), dtype=int32)", "Please enter your question:"])
def test_a_result_below_an_exception_is_no_sign_of_life(end: str, knowledge: Knowledge) -> None:
    assert of_text(f"oneDNN custom operations are on.\n{ENDS[6]}\n{end}\n", knowledge).end != "lived"


# ---------------------------------------------------------------- no death hides under notices


@pytest.mark.parametrize("end", (*ENDS, *TOLD), ids=lambda end: end[:20])
def test_an_end_below_any_healthy_log_is_seen(end: str, knowledge: Knowledge) -> None:
    missed = [
        name
        for name in HEALTHY
        if name != "healthy-exit-0.log"
        and not (name == "py-keyboard.log" and end in TOLD)
        and triage.analyze(f"{(QUIET / name).read_text('utf-8')}\n{end}\n".encode(), knowledge=knowledge).verdict
        == NO_CRASH
    ]
    assert missed == []


@pytest.mark.parametrize("path", [QUIET / name for name in HEALTHY], ids=lambda path: path.stem)
def test_a_healthy_log_is_healthy_to_its_last_line(path: Path, knowledge: Knowledge) -> None:
    assert triage.analyze(path, knowledge=knowledge).outcome.end == "lived"


EPOCHS = "Epoch 1/5\n100/100 - 2s - loss: 0.5\nEpoch 2/5\n100/100 - 2s - loss: 0.4\n"


@pytest.mark.parametrize(
    "last",
    [
        "SIGSEGV",
        "OOMKilled",
        "std::bad_alloc",
        "exit: 139",
        "client_loop: send disconnect: Broken pipe",
        "Connection to gpu1 closed by remote host.",
        "Restarting kernel...",
        "[1]+  Stopped  python train.py",
    ],
)
def test_an_end_below_the_last_epoch_is_never_called_a_life(knowledge: Knowledge, last: str) -> None:
    assert triage.analyze(f"{EPOCHS}{last}\n".encode(), knowledge=knowledge).outcome.end != "lived"


RACE = "WARNING: ThreadSanitizer: data race (pid=7)\n  Write of size 4 at 0x7b04 by thread T1:\n    #0 add a.cc:3\n"


@pytest.mark.parametrize(("below", "end"), [("", "died"), ("server ready\nGET / 200\n", "lived")])
def test_a_report_that_the_program_outlives_ends_nothing(knowledge: Knowledge, below: str, end: str) -> None:
    report = triage.analyze(f"{RACE}{below}".encode(), knowledge=knowledge)
    assert report.outcome.end == end
    if below:
        assert report.summary == "Nothing died: it went on after line 1, which reports a failure."


def test_an_exception_that_a_loop_survives_ends_nothing(knowledge: Knowledge) -> None:
    raised = 'Traceback (most recent call last):\n  File "fetch.py", line 3, in get\nConnectionError: no answer\n'
    report = triage.analyze(f"{raised}retrying in 5 s\nfetched 120 rows\ndone.\n".encode(), knowledge=knowledge)
    assert (report.outcome.end, report.verdict) == ("lived", NO_CRASH)
