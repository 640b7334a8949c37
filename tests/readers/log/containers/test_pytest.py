"""pytest-xdist: the worker is gone; why is in the dump that the worker left."""

from container_logs import crash, exit_name, facts_of, notices


def test_a_lost_worker_is_a_notice_and_no_cause() -> None:
    found = facts_of("pytest", "pytest")
    assert notices(found) == [
        "[gw1] node down: Not properly terminated",
        "worker 'gw1' crashed while running 'test_crash.py::test_model_fit'",
    ]
    assert found.exits == ()


def test_the_workers_own_dump_is_still_read() -> None:
    assert exit_name("pytest") == "SIGSEGV"
    crashed = crash("pytest").threads[0]
    assert crashed.python_stack[1].function == "test_model_fit"
