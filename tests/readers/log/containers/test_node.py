"""Node: V8's heap limit, and npm's word for a script that died."""

import pytest
from container_logs import crash, exit_name, facts_in, facts_of, frames, names, notices


def test_v8_that_reached_its_heap_limit_aborts_with_a_stack() -> None:
    found = facts_of("node", "node")
    assert exit_name("node") == "SIGABRT"
    assert notices(found) == ["FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"]
    assert frames(found.threads[0], 2) == ["node::OOMErrorHandler", "v8::Utils::ReportOOMFailure"]
    assert len(found.threads[0].native_stack) == 10


def test_v8s_heap_is_not_the_machines_memory() -> None:
    assert crash("node").memory.oom_kills is None


def test_npm_gives_the_number() -> None:
    assert exit_name("node_npm") == "SIGSEGV"


@pytest.mark.parametrize(
    "line",
    [
        "npm error signal SIGSEGV",
        'error Command failed with signal "SIGSEGV".',
        "App [detector:0] exited with code [0] via signal [SIGSEGV]",
        "child process exited with code null and signal SIGSEGV",
    ],
)
def test_each_way_of_writing_a_signal(line: str) -> None:
    assert names(facts_in("node", line).exits) == ["SIGSEGV"]
