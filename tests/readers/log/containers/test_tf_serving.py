"""TensorFlow Serving."""

from container_logs import crash, exit_name


def test_the_entry_points_shell_reports_how_the_server_ended() -> None:
    assert exit_name("tf_serving") == "SIGILL"


def test_the_versions() -> None:
    environment = crash("tf_serving").environment
    assert environment.package("tensorflow") == "2.15.1"
    assert environment.package("tensorflow-serving") == "2.15.1"
