"""What the facts of a run decide with our own signatures: who sent a SIGKILL, a full stack, a missing instruction."""

from __future__ import annotations

from typing import Any

import pytest
from building import crash_of, crashed_thread

from triage.crash import Crash, Environment, Fault, Library, Memory, Resources
from triage.diagnosis import diagnose
from triage.knowledge.database import Knowledge
from triage.report import Report

LIMIT = 16 << 30
WARNING = "2024-05-01 10:00:00.1: W tsl/x.cc:83] Allocation of 2147483648 exceeds 10% of free system memory."
MEMORY = "host.out-of-memory"
OPENMP = "install.openmp-duplicate"


def confidence(report: Report, cause: str) -> float:
    return next((d.confidence for d in report.diagnoses if d.cause == cause), 0.0)


def diagnosed(crash: Crash, knowledge: Knowledge) -> Report:
    return diagnose(crash, knowledge, version="test")


def killed(share: float | None, kills: int | None, *lines: str, exit: str = "137") -> Crash:
    """A process that SIGKILL ended, with the share of its limit that it used and the kills that were counted."""
    memory = Memory(None if share is None else int(share * LIMIT), LIMIT, "the machine's memory", kills)
    return crash_of(*lines, exit=exit, memory=memory)


@pytest.mark.parametrize("lines", [(), ("Epoch 1/3",), (WARNING,)])
@pytest.mark.parametrize("share", [None, 0.3, 0.7, 0.95])
def test_a_counted_kill_is_memory(knowledge: Knowledge, share: float | None, lines: tuple[str, ...]) -> None:
    report = diagnosed(killed(share, 1, *lines), knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == ("diagnosed", MEMORY)


@pytest.mark.parametrize("kills", [0, None])
def test_a_kill_at_the_limit_is_memory_even_if_none_was_counted(knowledge: Knowledge, kills: int | None) -> None:
    report = diagnosed(killed(0.97, kills, "Epoch 1/3"), knowledge)
    assert (report.verdict, report.diagnoses[0].cause) == ("diagnosed", MEMORY)


@pytest.mark.parametrize("exit", ["137", "247"])
@pytest.mark.parametrize(
    "lines", [(), ("Epoch 1/3",), (WARNING,), (WARNING, WARNING), (WARNING, "tcmalloc: large alloc 9 bytes")]
)
@pytest.mark.parametrize("kills", [0, None])
@pytest.mark.parametrize("share", [None, 0.3, 0.7, 0.85])
def test_no_kill_is_called_memory_without_a_count_or_a_full_limit(
    knowledge: Knowledge, share: float | None, kills: int | None, lines: tuple[str, ...], exit: str
) -> None:
    """A pasted log shows neither: its words may make memory likely, never sure."""
    pasted = share is None and kills is None
    assert confidence(diagnosed(killed(share, kills, *lines, exit=exit), knowledge), MEMORY) < (
        0.97 if pasted else 0.70
    )


@pytest.mark.parametrize("lines", [(), ("Epoch 1/3",), (WARNING,)])
def test_a_small_process_that_was_killed_without_a_count_is_not_memory(
    knowledge: Knowledge, lines: tuple[str, ...]
) -> None:
    report = diagnosed(killed(0.1, 0, *lines), knowledge)
    assert report.verdict == "unknown"
    assert confidence(report, MEMORY) < 0.05


def test_the_counter_and_the_peak_are_the_reasons(knowledge: Knowledge) -> None:
    report = diagnosed(killed(0.7, 0, "Epoch 1/3", "Killed"), knowledge)
    against = [evidence.text for evidence in report.diagnoses[0].against]
    assert "the kernel counted no kill for memory while it ran" in against
    assert "peak memory was 11.2 GiB of 16.0 GiB (the machine's memory)" in against


# faults and what else ran out


def faulted(exit: str, fault: Fault, **facts: Any) -> Crash:
    crash = crash_of("hello", exit=exit, threads=(crashed_thread(native=("inner", "outer")),), **facts)
    return crash._replace(processes=(crash.processes[0]._replace(fault=fault),))


def first(crash: Crash, knowledge: Knowledge) -> tuple[str, str]:
    report = diagnosed(crash, knowledge)
    return report.verdict, report.diagnoses[0].cause


def test_a_full_stack_is_an_overflow_and_one_with_room_is_not(knowledge: Knowledge) -> None:
    full = faulted("139", Fault(stack_used_bytes=8 << 20, stack_limit_bytes=8 << 20))
    assert first(full, knowledge) == ("diagnosed", "native.stack-overflow")
    reasons = diagnosed(full, knowledge).diagnoses[0].because
    assert "8.0 MiB of 8.0 MiB of the stack were in use" in [evidence.text for evidence in reasons]
    room = diagnosed(faulted("139", Fault(stack_used_bytes=80 << 10, stack_limit_bytes=8 << 20)), knowledge)
    assert confidence(room, "native.stack-overflow") == 0
    ruled_out = {suspect.cause: suspect.because for suspect in room.ruled_out}
    assert ruled_out["native.stack-overflow"] == "80.0 KiB of 8.0 MiB of the stack were in use"


def test_an_instruction_that_the_processor_lacks_names_the_cause(knowledge: Knowledge) -> None:
    old = Environment(os="linux", cpu_flags=("sse2", "avx"))
    lacking = faulted("132", Fault(instruction="vpaddd %ymm0,%ymm1,%ymm2"), environment=old)
    assert first(lacking, knowledge) == ("diagnosed", "cpu.missing-instructions")
    trap = diagnosed(faulted("132", Fault(instruction="ud2"), environment=old), knowledge)
    assert confidence(trap, "cpu.missing-instructions") < 0.5, "a trap that the compiler put there is no old processor"


def test_full_shared_memory_explains_a_bus_error(knowledge: Knowledge) -> None:
    full = Resources(shm_bytes=64 << 20, shm_free_bytes=4096)
    assert first(crash_of("hello", exit="135", resources=full), knowledge) == ("diagnosed", "host.shm-exhausted")


def test_threads_at_their_limit_lead(knowledge: Knowledge) -> None:
    full = Resources(threads=100, thread_limit=100, thread_limit_source="pids.max")
    assert first(crash_of("hello", exit="134", resources=full), knowledge)[1] == "host.thread-limit"


def test_two_openmp_runtimes_make_a_crash_in_one_of_them_more_likely_theirs(knowledge: Knowledge) -> None:
    threads = (crashed_thread(native=("__kmp_suspend_initialize_thread", "outer")),)

    def weight(*names: str) -> float:
        libraries = Environment(os="linux", libraries=tuple(map(Library, names)))
        report = diagnosed(crash_of(exit="139", threads=threads, environment=libraries), knowledge)
        assert report.diagnoses[0].cause == OPENMP
        return sum(evidence.weight for evidence in report.diagnoses[0].because)

    assert weight("libiomp5.so", "libgomp-a34b3233.so.1.0.0") > weight("libiomp5.so")
    assert weight("libiomp5.so", "libomp.so") > weight("libomp.so")
