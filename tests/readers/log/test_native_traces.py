"""The native stack that absl prints when a CHECK fails."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Log
from triage.frames import name_of
from triage.readers import Source, read
from triage.readers.log.native_traces import extract


def test_the_real_trace_of_a_failed_check_is_one_crashed_thread_innermost_first() -> None:
    log = read(Source.of(LOGS / "encode_png-2.21.log"), 0).logs[0]
    (thread,) = extract(log)
    names = [name_of(frame) for frame in thread.native_stack]
    assert thread.crashed
    assert names[:3] == [
        "absl::lts_20250814::log_internal::LogMessage::SendToLog",
        "absl::lts_20250814::log_internal::LogMessage::Flush",
        "tensorflow::png::WriteImageToBuffer",
    ]
    assert names[-1] == "cfunction_call"
    assert len(names) == 26
    assert {frame.trust for frame in thread.native_stack} == {"reported"}


def test_a_trace_stands_where_its_first_frame_stands() -> None:
    log = read(Source.of(LOGS / "encode_png-2.21.log"), 0).logs[0]
    (thread,) = extract(log)
    assert thread.place is not None
    assert log.text.split("\n")[thread.place.line - 2] == "*** Check failure stack trace: ***"


@pytest.mark.parametrize("name", ["encode_png-2.15.log", "null_pointer-2.21.log", "conv_channels-2.21.log"])
def test_a_log_without_a_trace_has_none(name: str) -> None:
    assert extract(read(Source.of(LOGS / name), 0).logs[0]) == ()


def test_two_traces_are_two_threads() -> None:
    log = Log(0, ["    @     0x7f01  first()", "    @     0x7f02  second()", "", "*** again ***", "@ 0x7f03 third()"])
    assert [[name_of(frame) for frame in thread.native_stack] for thread in extract(log)] == [
        ["first", "second"],
        ["third"],
    ]


def test_a_frame_without_a_symbol_stays_in_its_place() -> None:
    (thread,) = extract(Log(0, ["    @     0x7f01  (unknown)", "    @     0x7f02  tensorflow::Run()"]))
    assert [frame.function for frame in thread.native_stack] == [None, "tensorflow::Run()"]


@pytest.mark.parametrize(
    "line",
    ["user@ 0x7f01 host", "mail me @ home", "    @property", "    @ tf.function", "    @     0x7f01", "@ 0xZZ f()"],
)
def test_a_line_with_an_at_sign_is_not_yet_a_frame(line: str) -> None:
    assert extract(Log(0, [line])) == ()
