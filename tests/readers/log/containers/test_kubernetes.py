"""Kubernetes: describe, events, YAML, the table of pods."""

from container_logs import crash, exit_name, facts_in, facts_of, notices

GIB = 1024**3


def test_describe_shows_the_last_state_and_the_limit() -> None:
    memory = crash("kubernetes").memory
    assert exit_name("kubernetes") == "SIGKILL"
    assert (memory.oom_kills, memory.limit_bytes, memory.limit_source) == (1, 8 * GIB, "container")


def test_a_pod_that_starts_again_and_again_has_died() -> None:
    (notice,) = notices(facts_of("kubernetes", "kubernetes"))
    assert "restarting failed container" in notice


def test_an_eviction_for_memory_is_a_kill_for_memory() -> None:
    assert crash("kubernetes_evicted").memory.oom_kills == 1


def test_an_eviction_for_disk_space_is_none() -> None:
    line = "  Warning  Evicted  21s  kubelet  The node was low on resource: ephemeral-storage."
    found = facts_in("kubernetes", line)
    assert found.memory.oom_kills is None
    assert notices(found)


def test_get_o_yaml() -> None:
    assert exit_name("kubernetes_yaml") == "SIGSEGV"
    assert crash("kubernetes_yaml").memory.limit_bytes == 2 * GIB
    assert crash("kubernetes_yaml").memory.oom_kills is None


def test_the_table_of_pods() -> None:
    assert crash("kubernetes_table").memory.oom_kills == 1


def test_the_json_of_a_pod() -> None:
    assert facts_in("kubernetes", '"reason": "OOMKilled",').memory.oom_kills == 1
