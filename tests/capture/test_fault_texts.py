"""Which part of faulthandler's text on Windows is about the crash: it prints for errors that were handled, too."""

from __future__ import annotations

from triage.capture.windows.fault_texts import text_of_crash

STACK = b'Current thread 0x%08x (most recent call first):\n  File "train.py", line %d in step\n'


def part(head: bytes, thread: int, line: int) -> bytes:
    return head + b"\n\n" + STACK % (thread, line)


VIOLATION = b"Windows fatal exception: access violation"


def test_the_last_one_with_this_code_and_thread_is_of_the_crash() -> None:
    text = part(VIOLATION, 0x24, 1) + part(VIOLATION, 0x24, 2) + part(VIOLATION, 0x30, 3)
    assert b"line 2 in" in text_of_crash(text, 0xC0000005, 0x24)
    assert b"line 3 in" in text_of_crash(text, 0xC0000005)


def test_a_handled_error_says_nothing_about_a_later_fast_fail() -> None:
    assert text_of_crash(part(VIOLATION, 0x24, 1), 0xC0000409, 0x24) == b""


def test_what_abort_printed_is_of_the_fast_fail_that_ends_it() -> None:
    text = part(VIOLATION, 0x24, 1) + part(b"Fatal Python error: Aborted", 0x24, 9)
    assert b"line 9 in" in text_of_crash(text, 0xC0000409, 0x24)


def test_codes_are_known_by_their_words_and_by_their_numbers() -> None:
    assert text_of_crash(part(b"Windows fatal exception: int divide by zero", 1, 1), 0xC0000094, 1)
    assert text_of_crash(part(b"Windows fatal exception: code 0xc0000374", 1, 1), 0xC0000374, 1)
    assert not text_of_crash(part(b"Windows fatal exception: code 0xc0000374", 1, 1), 0xC0000005, 1)


def test_no_text_is_no_stack() -> None:
    assert text_of_crash(b"", 0xC0000005) == b""
