"""Heroku: R15 ends a dyno, R14 does not."""

from container_logs import crash, exit_name, facts_of, notices

from triage.crash import Memory


def test_r15_is_a_kill_for_memory() -> None:
    memory = crash("heroku").memory
    assert exit_name("heroku") == "SIGKILL"
    assert (memory.oom_kills, memory.limit_source) == (1, "Heroku")
    assert memory.peak_bytes == 1051 * 1024**2
    assert memory.limit_bytes is not None
    assert abs(memory.limit_bytes - 512 * 1024**2) < 1024**2
    assert notices(facts_of("heroku", "heroku")) == ["State changed from up to crashed"]


def test_r14_kills_nobody() -> None:
    seen = crash("heroku_r14")
    assert seen.exit is None
    assert seen.messages == ()
    assert seen.memory == Memory()
