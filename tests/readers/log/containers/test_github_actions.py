"""GitHub Actions."""

from container_logs import crash, exit_name, facts_of, notices


def test_a_step_ends_with_the_exit_code_of_its_shell() -> None:
    assert exit_name("github_actions") == "SIGSEGV"


def test_a_runner_that_vanished_proves_a_death_and_no_cause() -> None:
    found = facts_of("github_actions", "github_actions_lost")
    assert notices(found) == ["lost communication with the server"]
    assert crash("github_actions_lost").memory.oom_kills is None
