"""The last words of the C and C++ runtimes."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Log
from triage.readers import Source, read
from triage.readers.log.runtime_messages import extract

HEAP = [
    "free(): invalid pointer",
    "free(): double free detected in tcache 2",
    "free(): invalid next size (fast)",
    "malloc(): corrupted top size",
    "malloc(): unaligned tcache chunk detected",
    "malloc(): memory corruption",
    "realloc(): invalid next size",
    "munmap_chunk(): invalid pointer",
    "malloc_consolidate(): invalid chunk size",
    "double free or corruption (out)",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "invalid fastbin entry (free)",
]
TERMINATE = [
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "terminate called without an active exception",
    "terminate called recursively",
    "libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc",
    "libc++abi.dylib: terminating with uncaught exception of type std::runtime_error: boom",
]
ASSERTION = [
    "Assertion `n > 0' failed.",
    "Assertion failed: (n > 0), function run, file kernel.cc, line 12.",
]
MESSAGES = [
    *[("heap", text) for text in HEAP],
    *[("terminate", text) for text in TERMINATE],
    *[("assertion", text) for text in ASSERTION],
]


@pytest.mark.parametrize(("kind", "text"), MESSAGES)
def test_each_runtime_has_its_own_words_for_giving_up(kind: str, text: str) -> None:
    seen = extract(Log(0, ["Epoch 1/5", text, "Aborted (core dumped)"]))
    assert [(message.kind, message.text, message.place.line) for message in seen] == [(kind, text, 2)]


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        (
            "*** Error in `python': free(): invalid pointer: 0x00007f0a5c2b2000 ***",
            "heap",
            "free(): invalid pointer: 0x00007f0a5c2b2000 ***",
        ),
        (
            "*** Error in `python3': double free or corruption (!prev): 0x0000000001a2b3c0 ***",
            "heap",
            "double free or corruption (!prev): 0x0000000001a2b3c0 ***",
        ),
        ("python: ../src/kernel.c:12: run: Assertion `n > 0' failed.", "assertion", "Assertion `n > 0' failed."),
        (
            "python3: malloc.c:2617: sysmalloc: Assertion `(old_top == initial_top (av) && old_size == 0)' failed.",
            "assertion",
            "Assertion `(old_top == initial_top (av) && old_size == 0)' failed.",
        ),
    ],
)
def test_what_stands_before_the_message_is_left_out(line: str, kind: str, text: str) -> None:
    assert [(message.kind, message.text) for message in extract(Log(0, [line]))] == [(kind, text)]


@pytest.mark.parametrize(
    "line",
    [
        "AssertionError: shapes differ",
        "Traceback: assertion failed somewhere",
        "model.free(): Gives the memory back",
        "the process was terminated",
        "a corrupted JPEG was skipped",
        "malloc() is slow",
    ],
)
def test_a_line_that_only_has_the_word_is_no_last_word(line: str) -> None:
    assert extract(Log(0, [line])) == ()


def test_messages_of_all_kinds_come_in_the_order_of_the_text() -> None:
    lines = ["terminate called recursively", "free(): invalid pointer", "Assertion `a' failed.", "free(): invalid size"]
    log = Log(0, lines)
    seen = extract(log)
    assert [message.kind for message in seen] == ["terminate", "heap", "assertion", "heap"]
    assert all(log.text.startswith(message.text, message.offset) for message in seen)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("heap_corruption-2.21.log", "heap", "free(): invalid pointer"),
        ("heap_corruption-2.15.log", "heap", "free(): invalid pointer"),
        ("bad_alloc-2.21.log", "terminate", "terminate called after throwing an instance of 'std::bad_alloc'"),
    ],
)
def test_the_last_words_of_real_crashes(name: str, kind: str, text: str) -> None:
    seen = read(Source.of(LOGS / name), 0).messages
    assert [(message.kind, message.text) for message in seen] == [(kind, text)]
