"""The kernel's log is that of a whole machine: whom it killed for memory matters."""

from __future__ import annotations

import pytest

import triage
from triage.crash import Crash
from triage.readers import Source, read

SCRIPT = "$ python train.py\nEpoch 1/10"
SEGFAULT = (
    "[9.2] python[5120]: segfault at 10 ip 00007f2a3c1b2c3d sp 00007ffd8a7b6c50 error 4 in fast.so[7f2a3c1a0000+30000]"
)


def crash(*lines: str) -> Crash:
    return read(Source.of("\n".join(lines).encode()), 0)


def killed(name: str) -> str:
    return f"[8.1] Out of memory: Killed process 4242 ({name}) total-vm:22334452kB, anon-rss:11022334kB, UID:1000"


@pytest.mark.parametrize("name", ["python", "python3.11", "pt_main_thread", "ray::IDLE", "train.py", "trainer"])
def test_a_kill_of_the_program_or_of_what_may_be_it_counts(name: str) -> None:
    assert crash(SCRIPT, killed(name)).memory.oom_kills == 1


@pytest.mark.parametrize("name", ["java", "mysqld", "chrome", "Web Content", "gnome-shell"])
@pytest.mark.parametrize("line", ["", "[8.2] oom_reaper: reaped process 4242 ({}), now anon-rss:0kB, file-rss:0kB"])
def test_a_kill_of_another_program_beside_a_python_program_does_not(name: str, line: str) -> None:
    found = crash(SCRIPT, killed(name), line.format(name))
    assert found.memory.oom_kills is None
    assert not any(process.exit for process in found.processes)


def test_a_kill_of_java_is_that_of_a_java_program() -> None:
    assert crash("$ java -jar app.jar", killed("java")).memory.oom_kills == 1
    assert crash("$ spark-submit job.py", "$ python job.py", killed("java")).memory.oom_kills == 1


def test_a_launcher_that_speaks_of_its_own_job_counts_beside_another_program() -> None:
    told = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch"
    assert crash(SCRIPT, killed("mysqld"), told).memory.oom_kills == 1


def test_the_segfault_is_told_and_not_the_kill_of_another() -> None:
    report = triage.analyze("\n".join([SCRIPT, "Segmentation fault", killed("java"), SEGFAULT]).encode())
    assert not [one for one in report.diagnoses if one.cause == "host.out-of-memory" and one.confidence > 0.1]
    assert report.crash.processes[0].exit is not None and report.crash.processes[0].exit.signal == "SIGSEGV"
