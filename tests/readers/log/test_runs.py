"""Several runs in one log are told apart; one crash told twice is one crash."""

from __future__ import annotations

import triage
from triage.readers import Source, read

FIRST = ["$ python train.py", "Epoch 1/5", "free(): invalid pointer", "Aborted (core dumped)"]
SECOND = [
    "$ python train.py --batch 8",
    "Epoch 1/5",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "  what():  std::bad_alloc",
    "Aborted (core dumped)",
]


def test_the_last_run_that_failed_is_the_incident_and_the_others_are_told_beside_it() -> None:
    report = triage.analyze("\n".join([*FIRST, *SECOND]).encode())
    assert report.diagnoses[0].cause == "host.out-of-memory"
    assert [(crash.cause, crash.place and crash.place.line) for crash in report.other_crashes] == [
        ("native.heap-corruption", 4)
    ]


def test_a_run_that_went_well_afterwards_does_not_hide_the_crash() -> None:
    report = triage.analyze("\n".join([*FIRST, "$ python train.py --cpu", "Epoch 1/5", "- loss: 0.3"]).encode())
    assert report.diagnoses[0].cause == "native.heap-corruption"


def test_faulthandler_and_the_shell_tell_of_one_crash() -> None:
    text = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    text += '  File "train.py", line 3 in <module>\nSegmentation fault (core dumped)\n'
    crash = read(Source.of(text.encode()), 0)
    assert crash.others == ()
    assert len(crash.threads) == 1


def test_a_log_and_an_exit_code_of_one_crash_are_merged() -> None:
    report = triage.analyze(b"free(): invalid pointer\n", exit_code=134)
    assert report.crash.exit is not None
    assert report.crash.exit.signal == "SIGABRT"
    assert report.diagnoses[0].cause == "native.heap-corruption"
    assert report.other_crashes == ()
