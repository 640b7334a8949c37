"""Chromium and V8: fatal lines, and the stacks that follow."""

import pytest
from container_logs import facts_in, frames


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[12:13:0324/233643:FATAL:demo.cc(299)] Check failed: !done_.", "Check failed: !done_."),
        ("[0115/090948.95:FATAL:demo.h(41)] check(owner == none)", "check(owner == none)"),
        ("# Fatal error in ../src/demo.h, line 54\n# Check failed: !empty(bit).", "../src/demo.h, line 54"),
        ("demo.cpp:12: Check failed: a == b (1 vs. 2)", "Check failed: a == b (1 vs. 2)"),
        ("ASSERTION FAILED: start <= end", "ASSERTION FAILED: start <= end"),
    ],
)
def test_a_fatal_line_is_an_assertion(line: str, text: str) -> None:
    messages = facts_in("chromium", line).messages
    assert [message.kind for message in messages][:1] == ["assertion"]
    assert messages[0].text in (text, "Check failed: !empty(bit).")


def test_the_stack_below_without_the_logging() -> None:
    from triage.frames import distinctive, name_of

    found = facts_in(
        "chromium",
        "[12:13:0324/233643:FATAL:demo.cc(299)] Check failed: !done_.",
        "#0 0x7f48a51f99e0 base::debug::StackTrace::StackTrace()",
        "#1 0x7f48a526964d logging::LogMessage::~LogMessage()",
        "#2 0x7f48b4856ef4 demo::Latency::Add()",
    )
    assert [name_of(frame) for frame in distinctive(found.threads[0].native_stack)] == ["demo::Latency::Add"]


def test_a_signal_handlers_stack() -> None:
    found = facts_in(
        "chromium",
        "Received signal 11 SEGV_MAPERR 000000000000",
        "#0 0x55d0 demo::crash()",
        "#1 0x55d8 main",
        "[end of stack trace]",
    )
    assert frames(found.threads[0]) == ["demo::crash", "main"]


def test_windows_has_the_address_behind_the_function() -> None:
    found = facts_in(
        "chromium",
        "[420:1396:0603/182751:FATAL:demo.cc(278)] Check failed: it != end.",
        "Backtrace:",
        "\tdemo::Host::OnCancel [0x65F254C9+313]",
        "\tdemo::Host::OnMessage [0x65F1FF32+2754] (demo\\host.cc:133)",
    )
    assert frames(found.threads[0]) == ["demo::Host::OnCancel", "demo::Host::OnMessage"]


def test_a_check_in_prose_is_none() -> None:
    assert facts_in("chromium", "we saw that a Check failed: in May").messages == ()
