"""systemd: services that it ended because their time was up, not because they crashed."""

from container_logs import facts_in, names, notices

STOPPED = """\
Mar 03 12:00:01 host systemd[1]: Stopping Demo...
Mar 03 12:01:31 host systemd[1]: demo.service: State 'stop-sigterm' timed out. Killing.
Mar 03 12:01:31 host systemd[1]: demo.service: Killing process 881 (demo) with signal SIGKILL."""


def test_a_service_that_did_not_stop_in_time() -> None:
    found = facts_in("systemd", STOPPED)
    assert names(found.exits) == ["SIGKILL"]
    assert notices(found) == ["demo.service: State 'stop-sigterm' timed out. Killing."]


def test_a_service_that_did_not_answer_its_watchdog() -> None:
    line = "Mar 03 12:01:31 host systemd[1]: demo.service: Watchdog timeout (limit 10s)!"
    assert notices(facts_in("systemd", line)) == ["demo.service: Watchdog timeout (limit 10s)!"]


def test_a_timeout_of_something_else_is_none_of_a_service() -> None:
    assert notices(facts_in("systemd", "Connection to db timed out. Retrying.")) == []
