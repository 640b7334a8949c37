"""Spark on YARN."""

from container_logs import crash, exit_name, facts_of, notices


def test_yarn_says_that_it_was_memory_and_how_much() -> None:
    memory = crash("spark").memory
    assert (memory.oom_kills, memory.limit_source) == (1, "YARN")
    assert memory.peak_bytes is not None
    assert memory.limit_bytes is not None
    assert memory.peak_bytes > memory.limit_bytes


def test_an_executor_that_crashed_keeps_its_exit_status() -> None:
    assert exit_name("spark_exit_status") == "SIGSEGV"
    assert crash("spark_exit_status").memory.oom_kills is None
    assert notices(facts_of("spark", "spark_exit_status"))[0].startswith("ExecutorLostFailure (executor 2 exited")


def test_yarns_own_exit_status_means_memory() -> None:
    ended = crash("spark_own_status").exit
    assert ended is not None
    assert (ended.code, ended.meaning.split()[0]) == (-104, "YARN")
    assert crash("spark_own_status").memory.oom_kills == 1
