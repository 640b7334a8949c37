"""Celery: two workers of one pool that really died, one of a fault and one of a kill."""

from container_logs import facts_in, facts_of, names


def test_the_pool_reports_the_signal_of_each_worker() -> None:
    assert names(facts_of("celery", "celery").exits)[:2] == ["SIGKILL", "SIGSEGV"]


def test_the_error_that_the_task_gets() -> None:
    line = "billiard.exceptions.WorkerLostError: Worker exited prematurely: exitcode 134 Job: 0."
    assert names(facts_in("celery", line).exits) == ["SIGABRT"]
