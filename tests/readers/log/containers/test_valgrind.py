"""Valgrind: what it found, and the stack below."""

from container_logs import facts_in, frames, names

_REPORT = """\
==4711== Invalid write of size 4
==4711==    at 0x10916B: demo::fill(int*) (fill.cc:12)
==4711==    by 0x1091A4: main (main.cc:9)
==4711==  Address 0x4a9a068 is 0 bytes after a block of size 40 alloc'd"""


def test_a_finding_has_its_stack() -> None:
    found = facts_in("valgrind", _REPORT)
    assert [message.text for message in found.messages] == ["Invalid write of size 4"]
    assert frames(found.threads[0]) == ["demo::fill", "main"]
    assert found.threads[0].native_stack[0].source == "fill.cc:12"


def test_a_signal_ends_it() -> None:
    ending = (
        "==4711== Process terminating with default action of signal 11 (SIGSEGV)\n"
        "==4711==    at 0x4C31: strlen (in /usr/lib/libc.so.6)"
    )
    found = facts_in("valgrind", _REPORT, ending)
    assert names(found.exits) == ["SIGSEGV"]
    assert frames(found.threads[0]) == ["strlen"]


def test_a_clean_run_says_nothing() -> None:
    assert facts_in("valgrind", "==4711== ERROR SUMMARY: 0 errors from 0 contexts").messages == ()
