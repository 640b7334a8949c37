"""Sanitizers' reports: the kind, the stack that ran into it, and the stacks that led to it."""

import pytest
from conftest import LOGS
from container_logs import facts_in, frames, names

from triage.crash import Crash
from triage.readers import Source, read


def _crash(name: str) -> Crash:
    return read(Source.of(LOGS / "composed" / f"{name}.log"), 0)


def test_the_stack_that_touched_the_memory_crashed_and_the_others_say_what_they_are() -> None:
    crash = _crash("sanitizer-use-after-free")
    assert [message.kind for message in crash.messages] == ["sanitizer"]
    assert crash.messages[0].text.startswith("AddressSanitizer: heap-use-after-free on address")
    first, freed, allocated = crash.threads
    assert first.crashed
    assert frames(first) == ["demo::Cache::find", "demo::Server::answer", "main"]
    assert first.native_stack[0].source == "cache.cc:41"
    assert (freed.name, allocated.name) == ("freed by thread T1 here", "previously allocated by thread T0 here")
    assert not freed.crashed


def test_a_race_has_two_threads_and_its_symbolisers_trouble_is_not_the_programs() -> None:
    crash = _crash("sanitizer-data-race")
    assert [message.text for message in crash.messages] == ["ThreadSanitizer: data race (pid=4711)"]
    mine, other, _ = crash.threads
    assert mine.crashed
    assert frames(mine, 1) == ["demo::Counter::add"]
    assert frames(other, 1) == ["demo::Counter::reset"]
    assert other.name.startswith("Previous write of size 8")


def test_undefined_behaviour_is_written_like_a_compilers_error() -> None:
    crash = _crash("sanitizer-undefined")
    assert "signed integer overflow" in crash.messages[0].text
    assert frames(crash.threads[0], 1) == ["demo::sum"]


@pytest.mark.parametrize(
    ("line", "exit_name"),
    [
        ("==1==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000018 (pc 0x1 bp 0x2 sp 0x3 T0)", "SIGSEGV"),
        ("==1==ERROR: AddressSanitizer: ABRT on unknown address 0x1 (pc 0x1 bp 0x2 sp 0x3 T0)", "SIGABRT"),
        ("==1==ERROR: AddressSanitizer: FPE on unknown address 0x1 (pc 0x1)", "SIGFPE"),
        ("==1==ERROR: AddressSanitizer: access-violation on unknown address 0x10 (pc 0x1)", "STATUS_ACCESS_VIOLATION"),
        ("==1==ERROR: UndefinedBehaviorSanitizer: ILL on unknown address 0x1", "SIGILL"),
        ("==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ffd (pc 0x1)", "SIGSEGV"),
    ],
)
def test_a_signal_that_it_caught_is_the_exit(line: str, exit_name: str) -> None:
    assert names(facts_in("sanitizers", line).exits) == [exit_name]


def test_a_fault_has_its_address_and_access() -> None:
    found = facts_in(
        "sanitizers",
        "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000018 (pc 0x1 bp 0x2 sp 0x3 T0)",
        "==1==The signal is caused by a WRITE memory access.",
    )
    assert found.fault is not None
    assert (found.fault.address, found.fault.access) == (0x18, "write")


@pytest.mark.parametrize(
    "line",
    [
        "==1==ERROR: LeakSanitizer: detected memory leaks",
        "==1==WARNING: MemorySanitizer: use-of-uninitialized-value",
        "==1==ERROR: HWAddressSanitizer: tag-mismatch on address 0x0040 at pc 0x0076",
        "== 12 == ERROR: libFuzzer: deadly signal".replace("== 12 ==", "==12=="),
        "==12== ERROR: libFuzzer: out-of-memory (used: 3183Mb; limit: 3000Mb)",
        "==12== ERROR: libFuzzer: timeout after 5 seconds",
        "demo.cc:3:4: runtime error: control flow integrity check for type 'B' failed during cast to unrelated type",
        "CFI: Most likely a control flow integrity violation; for more information see:",
        "AddressSanitizer:DEADLYSIGNAL",
        "SUMMARY: AddressSanitizer: heap-buffer-overflow demo.cc:3:4 in main",
    ],
)
def test_every_tool_says_that_something_ended(line: str) -> None:
    assert [message.kind for message in facts_in("sanitizers", line).messages] == ["sanitizer"]


@pytest.mark.parametrize(
    "line",
    [
        "==1==WARNING: AddressSanitizer: failed to allocate 0x9a9a bytes",
        "==1==WARNING: ThreadSanitizer: can't find the symbolizer",
        "panic: runtime error: index out of range [3] with length 2",
        "Build it with -fsanitize=address and AddressSanitizer names the line.",
        "==1==ERROR: AddressSanitizer: runtime does not come first in the list; use LD_PRELOAD",
    ],
)
def test_what_a_sanitizer_says_of_itself_is_no_report(line: str) -> None:
    assert facts_in("sanitizers", line).messages == ()
