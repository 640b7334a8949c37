"""gunicorn and uWSGI: workers that died."""

from container_logs import crash, exit_name, facts_of, names, notices


def test_workers_that_died_of_a_signal() -> None:
    assert names(facts_of("gunicorn", "gunicorn").exits) == ["SIGSEGV", "SIGKILL"]


def test_perhaps_out_of_memory_is_a_question() -> None:
    assert crash("gunicorn").memory.oom_kills is None


def test_a_worker_that_did_not_answer_was_ended_by_gunicorn() -> None:
    assert notices(facts_of("gunicorn", "gunicorn")) == ["WORKER TIMEOUT (pid:1721)"]


def test_the_wording_before_21() -> None:
    assert exit_name("gunicorn_older") == "SIGILL"


def test_uwsgi() -> None:
    assert exit_name("gunicorn_uwsgi") == "SIGSEGV"
