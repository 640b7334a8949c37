"""Pools of worker processes: joblib, concurrent.futures, torch's launcher."""

import pytest
from container_logs import crash, exit_name, facts_in, facts_of, names, notices


def test_joblib_lists_the_signals_of_its_workers() -> None:
    assert names(facts_of("worker_pools", "worker_pools").exits) == ["SIGSEGV"]
    assert crash("worker_pools").memory.oom_kills is None


def test_torchs_launcher() -> None:
    assert exit_name("worker_pools_elastic") == "SIGKILL"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("The exit codes of the workers are {SIGKILL(-9), SIGKILL(-9)}", "SIGKILL"),
        ("The exit codes of the workers are {EXIT(1)}", "exit 1"),
        ("RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error.", "SIGBUS"),
    ],
)
def test_each_pool_in_its_words(line: str, name: str) -> None:
    assert names(facts_in("worker_pools", line).exits) == [name]


def test_a_pool_that_only_knows_that_one_is_gone() -> None:
    line = (
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while "
        "the future was running or pending."
    )
    found = facts_in("worker_pools", line)
    assert notices(found) == ["A process in the process pool was terminated abruptly"]
    assert found.exits == ()
