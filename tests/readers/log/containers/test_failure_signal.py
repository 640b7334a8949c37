"""Abseil's failure signal handler."""

from container_logs import facts_in, facts_of, names


def test_the_signal_is_in_its_first_line() -> None:
    line = "*** SIGABRT received at time=1763264326 on cpu 3 ***"
    assert names(facts_in("failure_signal", line).exits) == ["SIGABRT"]


def test_ray_installs_it() -> None:
    assert set(names(facts_of("failure_signal", "ray").exits)) == {"SIGSEGV"}
