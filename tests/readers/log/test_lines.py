"""Bytes -> lines: what a person saw, with the line numbers of the original, in a bounded amount of memory."""

from __future__ import annotations

import io
import subprocess
import sys
import tracemalloc
import unicodedata

import pytest
from building import sentences
from conftest import LOGS
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.capture.supervision import Kept
from triage.crash import LeftOut
from triage.readers import Source, read
from triage.readers.log import lines
from triage.readers.log.lines import Content, clean_line, read_lines

MIB = 1024 * 1024


def _read(data: bytes, head: int = 64 * 1024) -> Content:
    return read_lines(data[:head], io.BytesIO(data[head:]))


# Line numbers


@pytest.mark.parametrize(
    "data",
    [b"one\ntwo\n\nfour\n", b"one\r\ntwo\r\n\r\nfour\r\n", b"one\ntwo\n\nfour", b"one\r\ntwo\n\r\nfour"],
    ids=["unix", "windows", "no end of line at the end", "mixed"],
)
def test_lines_are_numbered_as_an_editor_numbers_them(data: bytes) -> None:
    content = _read(data)
    assert content.lines == ["one", "two", "", "four"]
    assert list(content.numbers) == [1, 2, 3, 4]


def test_every_state_of_a_progress_bar_is_a_line_with_the_number_of_its_original() -> None:
    content = _read(b"Epoch 1/2\n\r1/4 [=>...]\r2/4 [==>..]\r4/4 [====]\nEpoch 2/2\n")
    assert content.lines == ["Epoch 1/2", "1/4 [=>...]", "2/4 [==>..]", "4/4 [====]", "Epoch 2/2"]
    assert list(content.numbers) == [1, 2, 2, 2, 3]


def test_a_fact_after_progress_bars_colours_and_crlf_has_the_line_of_the_original() -> None:
    data = b"\x1b[32mstart\x1b[0m\r\n\r1/2\r2/2\r\n\x1b]0;title\x07\r\n\x1b[1mKilled\x1b[0m\r\n"
    crash = read(Source.of(data), 0)
    assert crash.exit is not None
    assert crash.exit.place is not None
    assert crash.exit.place.line == 4


def test_the_real_bar_of_keras_is_read_state_by_state_on_its_line() -> None:
    original = (LOGS / "healthy" / "fit-2.21.log").read_bytes()
    content = _read(original)
    number = original.split(b"\n").index(b"Epoch 1/2") + 2
    states = [line for line, at in zip(content.lines, content.numbers, strict=True) if at == number]
    assert len(states) > 1
    assert states[0].startswith("1/4 ━━━━━")
    assert states[-1].startswith("4/4 ━━━━━")


def test_an_empty_input_has_no_lines() -> None:
    content = _read(b"")
    assert (content.lines, list(content.numbers), content.left_out) == ([], [], None)


# Encodings

TEXT = "Größe: 3 Fehler\nnaïve ─ 日本\nKilled\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        b"\xff\xfe" + TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode("utf-16-le"),
    ],
    ids=["utf-8", "utf-8 bom", "utf-16", "le bom", "be bom", "le without bom", "be without bom", "le crlf"],
)
@pytest.mark.parametrize("head", [64 * 1024, 33])
def test_the_same_lines_come_out_of_every_encoding_also_when_a_character_is_cut(data: bytes, head: int) -> None:
    content = _read(data, head)
    assert content.lines == ["Größe: 3 Fehler", "naïve ─ 日本", "Killed"]
    assert list(content.numbers) == [1, 2, 3]


def test_bytes_that_are_no_utf_8_are_replaced_and_the_rest_is_kept() -> None:
    content = _read(b"caf\xe9 au lait\nKilled \xff\n\xc3")
    assert content.lines == ["caf\ufffd au lait", "Killed \ufffd", "\ufffd"]


def test_a_multi_byte_character_across_chunks_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHUNK", 1)
    assert _read("a─日b\nc".encode(), head=2).lines == ["a─日b", "c"]


# What must not reach a person's terminal


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;2;255;0;0mred\x1b[m", "red"),
        ("up\x1b[2A\x1b[2K\x1b[1Gdown", "updown"),
        ("\x1b[?25lhidden\x1b[?25h", "hidden"),
        ("\x1b[>4;2mkitty", "kitty"),
        ("\x1b]0;my title\x07text", "text"),
        ("\x1b]2;my title\x1b\\text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\ after", "link after"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x07 after", "link after"),
        ("\x1b]52;c;c2VjcmV0\x07copied", "copied"),
        ("\x1bPq#0;2;0;0;0#0~~@@vv\x1b\\sixel", "sixel"),
        ("\x1b_Gf=24;AAAA\x1b\\image", "image"),
        ("\x1b^private\x1b\\message", "message"),
        ("\x1b(Bset\x1b)0", "set"),
        ("\x1b7save\x1b8\x1bc", "save"),
        ("a\x00b\x07c\x08d\x0be\x0cf\x7fg", "abcdefg"),
        ("\x9b31mc1\x9d", "31mc1"),
        ("\x1b", ""),
        ("\x1b\x1b[31m[31mtwice", "[31mtwice"),
        ("user\u202etxt.exe\u202c \u2066x\u2069", "usertxt.exe x"),
        ("\ufeffmark", "mark"),
        ("tab\tstays", "tab\tstays"),
        ("trailing  \t ", "trailing"),
        ("  leading", "  leading"),
        ("[bold] [/job:localhost] stays", "[bold] [/job:localhost] stays"),
    ],
)
def test_escape_sequences_and_control_characters_are_gone(raw: str, seen: str) -> None:
    assert clean_line(raw) == seen


@settings(max_examples=500, deadline=None, database=None)
@given(
    st.lists(st.sampled_from(["\x1b", "[", "]", "P", "\\", "\x07", ";", "3", "m", "\x9b", "\x9d", "a"])).map("".join)
)
def test_no_sequence_can_be_put_together_so_that_a_control_character_is_left(raw: str) -> None:
    assert [c for c in clean_line(raw) if unicodedata.category(c) == "Cc" and c != "\t"] == []


@settings(max_examples=200, deadline=None, database=None)
@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_text_of_the_log_has_no_control_character(data: bytes) -> None:
    text = "\n".join(_read(data).lines)
    assert [c for c in text if unicodedata.category(c) == "Cc" and c not in "\t\n"] == []


def test_an_escape_sequence_across_chunks_is_gone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHUNK", 3)
    assert _read(b"a\x1b[31mred\x1b[0m\r\nb", head=2).lines == ["ared", "b"]


# Sizes


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_line_of_300_mb_keeps_its_beginning_and_its_end_within_150_mb_of_memory() -> None:
    program = """
import io, re
from triage.readers import Source, read

class Line(io.RawIOBase):
    pieces = iter([b"BEGIN", *[b"x" * 1_000_000] * 300, b"END\\nKilled\\n"])
    def read(self, size=-1):
        return next(self.pieces, b"")

log = read(Source("huge.log", Line()), 0).logs[0]
first, last = log.text.split("\\n")
# The peak of this program alone: ru_maxrss would count what the test runner held when it started us.
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(first[:5], first[-3:], len(first), last, peak)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    begin, end, length, last, megabytes = done.stdout.split()
    assert (begin, end, last) == ("BEGIN", "END", "Killed")
    assert int(length) <= lines.LONGEST_LINE + len(lines._CUT)
    assert int(megabytes) < 150


def test_a_line_just_short_enough_is_whole_and_a_longer_one_loses_its_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 8)
    assert _read(b"abcdefgh\n").lines == ["abcdefgh"]
    assert _read(b"abcdEFGHijkl\n").lines == [f"abcd{lines._CUT}ijkl"]


def _keep(monkeypatch: pytest.MonkeyPatch, *, head: int, tail: int) -> None:
    """Limits for this many of the lines below."""
    cost = len("line 0001") + lines._LINE_COST
    monkeypatch.setattr(lines, "KEEP_HEAD", head * cost)
    monkeypatch.setattr(lines, "KEEP_TAIL", tail * cost)


def _numbered(count: int) -> bytes:
    return b"".join(b"line %04d\n" % number for number in range(1, count + 1))


def test_a_log_over_the_limits_keeps_head_and_tail_and_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(monkeypatch, head=10, tail=20)
    content = _read(_numbered(1000))
    assert content.lines[0] == "line 0001"
    assert content.lines[-1] == "line 1000"
    assert list(content.numbers) == [*range(1, 11), *range(981, 1001)]
    assert content.left_out == LeftOut(970 * 10, 1000 * 10, first_line=11, last_line=980)
    assert [int(line.split()[1]) for line in content.lines] == list(content.numbers)


@pytest.mark.parametrize(
    ("line", "codec", "bytes_each"),
    [("schön 001", "utf-8", 11), ("line 0001", "utf-16-le", 20), ("\x1b[31mred\x1b[0m   ", "utf-8", 16)],
)
def test_the_bytes_left_out_are_those_of_the_file(
    line: str, codec: str, bytes_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = len(clean_line(line)) + lines._LINE_COST
    monkeypatch.setattr(lines, "KEEP_HEAD", 10 * cost)
    monkeypatch.setattr(lines, "KEEP_TAIL", 20 * cost)
    content = _read((line + "\n").encode(codec) * 1000)
    assert content.left_out == LeftOut(970 * bytes_each, 1000 * bytes_each, first_line=11, last_line=980)


def test_the_states_of_a_progress_bar_are_one_line_of_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(monkeypatch, head=10, tail=20)
    content = _read(b"".join(b"line %04d\r" % state + b"line %04d\n" % state for state in range(1, 51)))
    assert content.left_out == LeftOut(70 * 10, 100 * 10, first_line=6, last_line=40)
    assert list(content.numbers) == sorted([*range(1, 6), *range(41, 51)] * 2)


def test_a_progress_bar_of_any_length_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 16)
    monkeypatch.setattr(lines, "_CHUNK", 7)
    content = _read(b"\r".join(b"step %04d" % step for step in range(100)) + b"\r\nend\n", head=5)
    assert content.lines == [*(f"step {step:04}" for step in range(100)), "end"]
    assert (list(content.numbers), content.left_out) == ([1] * 100 + [2], None)


def test_lines_that_lost_their_middle_are_counted_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 8)
    assert _read(b"short\nabcdEFGHijkl\nend\nabcdEFGHijkl").cut_lines == 2
    assert sentences(read(Source("a.log", io.BytesIO(b"abcdEFGHijkl\n")), 0).gaps)[0].startswith(
        "the middle of one line of a.log"
    )


@pytest.mark.parametrize("piece", [1000, 65536])
def test_what_a_run_did_not_keep_counts_and_the_lines_after_it_have_their_own_numbers(piece: int) -> None:
    written = b"".join(b"line %07d\n" % number for number in range(1, 500_001))
    kept = Kept()
    for start in range(0, len(written), piece):
        kept.add(written[start : start + piece])
    content = _read(kept.content)
    left_out = content.left_out
    assert left_out is not None and left_out.first_line is not None and left_out.last_line is not None
    assert (left_out.bytes, left_out.of_bytes) == (kept.dropped, len(written))
    whole = [(text, number) for text, number in zip(content.lines, content.numbers, strict=True) if len(text) == 12]
    assert all(int(text.split()[1]) == number for text, number in whole)
    assert whole[-1][1] == 500_000
    assert [number for _, number in whole if left_out.first_line < number < left_out.last_line] == []


def test_a_log_that_only_quotes_the_mark_of_a_gap_is_read() -> None:
    mark = b"[triage: 999999999999999 bytes with 0 line ends left out here]\n"
    assert _read(mark * 3 + b"Killed\n").lines[-1] == "Killed"


def test_the_reader_reports_what_was_left_out_as_an_incomplete_input(monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(monkeypatch, head=10, tail=20)
    crash = read(Source("week.log", io.BytesIO(_numbered(1000) + b"Killed\n")), 0)
    assert not crash.inputs[0].complete
    assert len(sentences(crash.gaps)) == 1
    assert "lines" in sentences(crash.gaps)[0]
    assert "week.log" in sentences(crash.gaps)[0]
    assert crash.exit is not None
    assert crash.exit.place is not None
    assert crash.exit.place.line == 1001


def test_a_log_within_the_limits_is_whole_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(monkeypatch, head=10, tail=20)
    content = _read(_numbered(30))
    assert list(content.numbers) == list(range(1, 31))
    assert content.left_out is None


def test_memory_is_bounded_also_when_every_line_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept line costs more than its characters: empty lines must not cost fifty times what is kept."""
    monkeypatch.setattr(lines, "_CHUNK", 4 * 1024)
    monkeypatch.setattr(lines, "KEEP_HEAD", 32 * 1024)
    monkeypatch.setattr(lines, "KEEP_TAIL", 32 * 1024)
    tracemalloc.start()
    try:
        read_lines(b"\n", io.BytesIO(b"\n" * (96 * 1024)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIB
