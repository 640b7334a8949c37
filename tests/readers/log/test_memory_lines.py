"""Memory figures in a log: the allocator's limit, and kills that did happen."""

from __future__ import annotations

import pytest
from conftest import LOGS

from triage.crash import Log, Memory
from triage.readers import Source, read
from triage.readers.log.memory_lines import extract

KERNEL_LOG_OF_ONE_KILL = [
    "[1.2] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "[1.3] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=python,pid=4711,uid=0",
    "[1.4] Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB, UID:0",
]


def _extract(*lines: str) -> Memory:
    return extract(Log(0, lines))


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("Limit:                      6272581632", 6272581632),
        ("Limit:                        23.54GiB", int(23.54 * 1024**3)),
        ("Limit:                       512.00MiB", 512 * 1024**2),
        ("Limit:                         1.50KiB", 1536),
        ("Limit:                             100B", 100),
    ],
)
def test_the_limit_of_the_allocator_is_read_in_bytes_and_with_units(line: str, size: int) -> None:
    memory = _extract("Stats:", line, "InUse:  1")
    assert (memory.limit_bytes, memory.limit_source) == (size, "allocator")


@pytest.mark.parametrize("name", ["oom_in_fit-2.21.log", "oom_in_fit-2.15.log"])
def test_both_generations_of_tensorflow_tell_the_same_limit_of_the_same_machine(name: str) -> None:
    memory = read(Source.of(LOGS / name), 0).memory
    assert memory.limit_bytes is not None
    assert memory.limit_bytes / 1024**3 == pytest.approx(23.54, abs=0.01)


def test_a_limit_of_something_else_is_not_the_allocators() -> None:
    assert _extract("Rate Limit: 100 per hour", "Limit: none", "MemLimit: 100").limit_bytes is None


@pytest.mark.parametrize(
    "line",
    [
        *KERNEL_LOG_OF_ONE_KILL,
        "Out of memory: Killed process 4711 (python) total-vm:26214400kB, anon-rss:23592960kB",
        "Out of memory: Kill process 4711 (python) score 912 or sacrifice child",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1422.batch cgroup.",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1422.0.",
        "      Reason:       OOMKilled",
        "        reason: OOMKilled",
    ],
    ids=[
        "kernel",
        "kernel 2",
        "kernel 3",
        "host",
        "old",
        "slurm",
        "slurm 2",
        "kubectl describe",
        "kubectl yaml",
    ],
)
def test_each_record_of_a_kill_counts(line: str) -> None:
    assert _extract("Epoch 1/5", line).oom_kills == 1


def test_what_the_kernel_writes_about_one_kill_is_one_kill() -> None:
    assert _extract(*KERNEL_LOG_OF_ONE_KILL).oom_kills == 1


def test_two_kills_are_two() -> None:
    kill = "Out of memory: Killed process {} (python) total-vm:1kB"
    assert _extract(kill.format(4711), "restarted", kill.format(4712)).oom_kills == 2


@pytest.mark.parametrize(
    "line",
    [
        "(1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
        '            "OOMKilled": false,',
        '            "OomKillDisable": false,',
        "Lower oom_score_adj to keep the oom-killer away",
        "ran out of memory trying to allocate 4.00GiB",
        "room for improvement, zoom in",
    ],
)
def test_what_might_have_happened_is_no_kill(line: str) -> None:
    assert _extract(line).oom_kills is None


@pytest.mark.parametrize("name", ["oom-killed-kubernetes.log", "oom-killed-slurm.log"])
def test_the_kill_in_a_whole_log_is_found(name: str) -> None:
    assert read(Source.of(LOGS / "composed" / name), 0).memory.oom_kills == 1


def test_a_log_that_tells_nothing_leaves_everything_unknown() -> None:
    assert _extract("Epoch 1/5") == Memory()
