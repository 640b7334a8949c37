"""What a debugger makes of the events that it sees, one process at a time: the rules, without Windows."""

from __future__ import annotations

import pytest

from triage.capture.windows.debug_events import ExceptionEvent, Reaction, Watch, is_death, signed

ACCESS_VIOLATION, FAST_FAIL, STACK_OVERFLOW, HEAP = 0xC0000005, 0xC0000409, 0xC00000FD, 0xC0000374
BREAKPOINT, CPP_THROW, CONTROL_C = 0x80000003, 0xE06D7363, 0x40010005
PASS_ON = Reaction()


def first(code: int, *parameters: int) -> ExceptionEvent:
    return ExceptionEvent(1, code, first_chance=True, parameters=parameters)


def second(code: int, *parameters: int) -> ExceptionEvent:
    return ExceptionEvent(1, code, first_chance=False, parameters=parameters)


def watching(*pids: int) -> Watch:
    watch = Watch()
    for pid in pids or (7,):
        watch.began(pid)
    return watch


def test_the_loaders_breakpoint_is_ours_and_the_next_one_is_the_programs() -> None:
    watch = watching()
    assert watch.raised(7, first(BREAKPOINT)) == Reaction(handled=True)
    assert watch.raised(7, first(BREAKPOINT)) == PASS_ON
    assert watch.raised(7, second(BREAKPOINT)).dump == "final"


def test_a_32_bit_process_is_stopped_twice() -> None:
    watch = watching()
    assert watch.raised(7, first(BREAKPOINT)).handled
    assert watch.raised(7, first(0x4000001F)).handled
    assert not watch.raised(7, first(0x4000001F)).handled


def test_each_process_has_a_breakpoint_of_its_own() -> None:
    watch = watching(7, 8)
    assert watch.raised(7, first(BREAKPOINT)).handled
    assert watch.raised(8, first(BREAKPOINT)).handled


def test_an_access_violation_is_a_crash_only_at_the_second_chance() -> None:
    watch = watching()
    assert watch.raised(7, first(ACCESS_VIOLATION)) == PASS_ON
    assert watch.raised(7, second(ACCESS_VIOLATION)) == Reaction(dump="final")
    watch.ended(7, ACCESS_VIOLATION, finished=False)
    assert watch.processes[7].fatal == second(ACCESS_VIOLATION)


def test_one_that_the_program_handles_is_no_crash() -> None:
    watch = watching()
    watch.raised(7, first(ACCESS_VIOLATION))
    assert not watch.ended(7, 0, finished=True)
    assert not watch.processes[7].crashed


def test_a_fast_fail_comes_at_the_second_chance_alone_and_brings_its_subcode() -> None:
    watch = watching()
    assert watch.raised(7, second(FAST_FAIL, 7)) == Reaction(dump="final")
    watch.ended(7, FAST_FAIL, finished=False)
    fatal = watch.processes[7].fatal
    assert fatal is not None
    assert fatal.parameters == (7,)


@pytest.mark.parametrize("code", [STACK_OVERFLOW, HEAP, FAST_FAIL, 0xC0000602, 0xC000041D])
def test_what_may_never_come_to_a_second_chance_is_dumped_at_the_first(code: int) -> None:
    watch = watching()
    assert watch.raised(7, first(code)) == Reaction(dump="provisional")
    assert watch.raised(7, first(code)) == PASS_ON, "once a process"


def test_a_second_chance_replaces_the_provisional_dump() -> None:
    watch = watching()
    watch.raised(7, first(HEAP))
    assert watch.raised(7, second(HEAP)) == Reaction(dump="final")
    assert not watch.ended(7, HEAP, finished=False), "there is a better one"


def test_a_process_that_dies_without_a_second_chance_keeps_its_provisional_dump() -> None:
    watch = watching()
    watch.raised(7, first(STACK_OVERFLOW))
    assert watch.ended(7, STACK_OVERFLOW, finished=False)
    assert watch.processes[7].fatal == first(STACK_OVERFLOW)


@pytest.mark.parametrize(("code", "finished"), [(0, True), (1, True), (3, None), (0xC000013A, None)])
def test_a_process_that_lives_on_and_ends_plainly_loses_it(code: int, finished: bool | None) -> None:
    watch = watching()
    watch.raised(7, first(STACK_OVERFLOW))
    assert not watch.ended(7, code, finished=finished)
    assert watch.processes[7].fatal is None


def test_a_python_that_never_came_to_its_end_did_not_end_plainly() -> None:
    # A handler that falls over the same stack again: the process is gone, with the exit code 0.
    watch = watching()
    watch.raised(7, first(STACK_OVERFLOW))
    assert watch.ended(7, 0, finished=False)
    assert watch.processes[7].crashed


def test_at_most_three_dumps_a_run() -> None:
    watch = watching(1, 2, 3, 4)
    for pid in (1, 2, 3):
        assert watch.raised(pid, second(ACCESS_VIOLATION)).dump == "final"
        watch.written()
    assert watch.raised(4, first(STACK_OVERFLOW)) == PASS_ON
    assert watch.raised(4, second(ACCESS_VIOLATION)) == PASS_ON
    watch.ended(4, ACCESS_VIOLATION, finished=False)
    assert watch.processes[4].crashed, "it is reported all the same"


@pytest.mark.parametrize("code", [CPP_THROW, CONTROL_C])
def test_what_a_program_may_still_handle_is_left_to_it(code: int) -> None:
    watch = watching()
    assert watch.raised(7, first(code)) == PASS_ON
    assert not watch.ended(7, 0, finished=None)
    assert not watch.processes[7].crashed


def test_a_process_number_that_is_used_again_is_another_process() -> None:
    watch = watching()
    watch.raised(7, first(BREAKPOINT))
    watch.ended(7, 0, finished=None)
    watch.began(7)
    assert watch.processes[7].exit_code is None
    assert watch.raised(7, first(BREAKPOINT)).handled


@pytest.mark.parametrize(
    ("code", "death"),
    [
        (0, False),
        (3, False),
        (139, False),
        (0xFFFFFFFF, False),
        (0xC000013A, False),
        (0x40010005, False),
        (0xC0000005, True),
        (0xC0000409, True),
        (0xE06D7363, True),
        (0x80000003, True),
        (0x40000015, True),
    ],
)
def test_which_exit_codes_are_an_exceptions(code: int, death: bool) -> None:
    assert is_death(code) is death


def test_an_exit_code_is_handed_to_python_with_its_sign() -> None:
    assert signed(0xC0000409) == -1073740791
    assert signed(3) == 3
