"""Ray says that a worker died, and lists every cause it can think of: none of those is evidence."""

from container_logs import crash, exit_name, facts_in, facts_of, notices


def test_the_notice_is_read_and_the_list_of_causes_is_not() -> None:
    found = facts_of("ray", "ray")
    assert "The actor is dead because its worker process has died" in notices(found)
    assert found.exits == ()
    assert found.memory.oom_kills is None
    assert not any("OOM" in text or "SIGSEGV" in text for text in notices(found))


def test_without_the_workers_own_output_there_is_no_status() -> None:
    log = crash("ray").logs[0]
    lines = [line for _, line in log.lines() if "Some common causes include" in line]
    assert lines
    assert facts_in("ray", *lines).exits == ()


def test_the_workers_own_handler_reports_the_signal() -> None:
    assert exit_name("ray") == "SIGSEGV"


def test_rays_memory_monitor_reports_what_it_did() -> None:
    memory = crash("ray_monitor").memory
    assert (memory.oom_kills, memory.limit_bytes) == (1, 16 * 1024**3)
