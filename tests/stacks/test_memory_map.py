"""Which file or stack an address belongs to, which tells an overflowing stack from a wild pointer."""

from __future__ import annotations

import os

from triage.stacks.memory_map import MemoryMap, Region
from triage.stacks.process import map_of, stack_limit, thread_names

MAIN = Region(0x7FF000, 0x800000, "rw-", 0, "[stack]")
GUARD = Region(0x10000, 0x11000, "---")
THREAD = Region(0x11000, 0x91000, "rw-")
HEAP = Region(0x200000, 0x300000, "rw-", 0, "[heap]")
CODE = Region(0x400000, 0x401000, "r-x", 0x1000, "/lib/a.so")
MAP = MemoryMap([CODE, HEAP, THREAD, GUARD, MAIN])


def test_a_file_is_found_by_an_address_and_has_the_base_at_which_it_would_begin() -> None:
    assert MAP.module_at(0x400800) == "/lib/a.so"
    assert MAP.base("/lib/a.so") == 0x3FF000
    assert MAP.module_at(0x401000) is None
    assert MAP.module_at(0x200800) is None
    assert MAP.is_code(0x400800)
    assert not MAP.is_code(0x200800)


def test_a_pointer_into_a_stack_or_just_off_its_end_belongs_to_that_stack() -> None:
    assert MAP.stack(0x7FF800) == (MAIN, True)
    assert MAP.stack(0x7FEF00) == (MAIN, True)
    assert MAP.stack(0x12000) == (THREAD, False)
    assert MAP.stack(0x10800) == (THREAD, False)


def test_memory_without_a_guard_below_is_no_stack_whose_end_is_known() -> None:
    assert MAP.stack(0x200800) is None
    assert MAP.stack(0x5) is None
    assert MemoryMap([]).stack(0x5) is None


def test_our_own_map_names_our_own_libraries() -> None:
    map = map_of(os.getpid())
    assert any("libc" in (region.path or "") for region in map.regions)
    assert map.main_stack is not None
    assert thread_names(os.getpid())
    assert stack_limit(os.getpid()) is None or (stack_limit(os.getpid()) or 0) > 0
