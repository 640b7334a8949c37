"""A call that never returns leaves an address of the next function; the name is that of the function that called."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from triage.stacks import native_stack
from triage.stacks.memory_map import MemoryMap, Region
from triage.stacks.native_stack import RawFrame, named_at_calls

BASE, LIBRARY = 0x10000, "/no/such/libop.so"
MAP = MemoryMap([Region(BASE, BASE + 0x10000, "r-x", 0, LIBRARY)])


def functions(monkeypatch: pytest.MonkeyPatch, **ends: int) -> list[list[int]]:
    """A library with functions that end at these offsets, one after another; what it was asked is kept."""
    asked: list[list[int]] = []

    def names_in(path: str, addresses: Iterable[int]) -> dict[int, str]:
        asked.append(list(addresses))
        return {a: name for a in asked[-1] if (name := next((n for n, end in ends.items() if a < end), None))}

    monkeypatch.setattr(native_stack, "names_in", names_in)
    monkeypatch.setattr(native_stack, "is_at_fixed_address", lambda path: False)
    return asked


def stack(*frames: tuple[int, str | None]) -> list[RawFrame]:
    return [RawFrame(BASE + offset, symbol, LIBRARY) for offset, symbol in frames]


def test_names_are_those_of_the_callers_of_what_never_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    functions(monkeypatch, os_abort=0x100, deque_remove=0x200)
    frames = stack((0x900, "abort"), (0x100, "os_abort_impl (inlined)"), (0x100, "deque_remove"), (0x150, "caller"))
    assert [f.symbol for f in named_at_calls(frames, MAP)] == ["abort", "os_abort_impl (inlined)", "os_abort", "caller"]


def test_a_name_that_is_put_right_can_be_another_that_never_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    functions(monkeypatch, malloc_printerr=0x100, other=0x180, _int_free=0x200, next=0x300)
    frames = stack((0x900, "__libc_message"), (0x100, None), (0x200, "next"), (0x250, "free"))
    assert [f.symbol for f in named_at_calls(frames, MAP)][1:] == ["malloc_printerr", "_int_free", "free"]


def test_names_of_c_plus_plus_are_those_that_people_write(monkeypatch: pytest.MonkeyPatch) -> None:
    functions(monkeypatch, _ZN4absl10LogMessage21FailWithoutStackTraceEv=0x100)
    frames = stack((0x900, "abort"), (0x100, None))
    assert named_at_calls(frames, MAP)[1].symbol == "absl::LogMessage::FailWithoutStackTrace()"


def test_a_wrong_name_goes_also_where_the_right_one_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_stack, "names_in", lambda path, addresses: {0x100: "next"})
    monkeypatch.setattr(native_stack, "is_at_fixed_address", lambda path: False)
    assert named_at_calls(stack((0x900, "abort"), (0x100, "next")), MAP)[1].symbol is None


def test_nothing_is_looked_up_for_calls_that_return(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = functions(monkeypatch, f=0x100)
    frames = stack((0x10, "memcpy"), (0x100, "g"), (0x150, "h"))
    assert named_at_calls(frames, MAP) == tuple(frames)
    assert asked == []


def test_a_library_that_is_gone_leaves_the_names_as_they_are() -> None:
    frames = stack((0x900, "abort"), (0x100, "next"))
    assert named_at_calls(frames, MAP) == tuple(frames)
