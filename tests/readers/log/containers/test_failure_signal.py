"""Abseil's failure signal handler."""

from container_logs import names, told, told_in


def test_the_signal_is_in_its_first_line() -> None:
    line = "*** SIGABRT received at time=1763264326 on cpu 3 ***"
    assert names(told_in("failure_signal", line).exits) == ["SIGABRT"]


def test_ray_installs_it() -> None:
    assert set(names(told("failure_signal", "ray").exits)) == {"SIGSEGV"}
