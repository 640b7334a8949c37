"""Slurm: srun, slurmstepd, scontrol, seff."""

import pytest
from container_logs import crash, exit_name, facts_in, facts_of, names, notices

GIB = 1024**3


def test_a_step_that_ran_out_of_memory() -> None:
    assert crash("slurm").memory.oom_kills == 1


def test_a_task_that_died_of_a_signal() -> None:
    assert exit_name("slurm_signal") == "SIGSEGV"


def test_seff_and_scontrol_give_the_figures() -> None:
    memory = crash("slurm_seff").memory
    assert (memory.oom_kills, memory.limit_bytes, memory.limit_source) == (1, 16 * GIB, "Slurm")
    assert memory.peak_bytes == int(15.93 * GIB)


def test_the_time_limit_is_a_death_without_a_crash() -> None:
    found = facts_of("slurm", "slurm_time_limit")
    assert found.exits == ()
    assert "DUE TO TIME LIMIT" in notices(found)[0]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("   Requeue=1 Restarts=0 ExitCode=0:9", "SIGKILL"),
        ("1422.0      train  main  16  FAILED     0:11", "SIGSEGV"),
        ("1422.0      train  main  16  FAILED      1:0", "exit 1"),
        ("1422.batch  batch        16  OUT_OF_ME+  0:125", "SIGKILL"),
    ],
)
def test_slurm_writes_code_and_signal_as_a_pair(line: str, name: str) -> None:
    assert names(facts_in("slurm", line).exits) == [name]


def test_the_older_wording_of_the_memory_limit() -> None:
    line = "slurmstepd: error: Job 1422 exceeded memory limit (33554432 > 16777216), being killed"
    memory = facts_in("slurm", line).memory
    assert (memory.oom_kills, memory.peak_bytes, memory.limit_bytes) == (1, 32 * GIB, 16 * GIB)
