"""Airflow."""

from container_logs import exit_name, facts_in, names


def test_a_negative_signal() -> None:
    assert exit_name("airflow") == "SIGKILL"


def test_airflow_3_writes_fields() -> None:
    line = "Process exited                 [supervisor] exit_code=-11 pid=4711 signal_sent=None"
    assert names(facts_in("airflow", line).exits) == ["SIGSEGV"]
