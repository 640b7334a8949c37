"""`docker inspect` shows the exit code, and whether it was memory."""

from __future__ import annotations

import pytest

from triage.readers import Source, read


@pytest.mark.parametrize(("oom", "code", "kills", "signal"), [("true", 137, 1, "SIGKILL"), ("false", 132, 0, "SIGILL")])
def test_the_state_of_a_container(oom: str, code: int, kills: int, signal: str) -> None:
    state = f'[{{"State": {{"Status": "exited",\n "OOMKilled": {oom},\n "ExitCode": {code},\n "Error": ""}}}}]'
    crash = read(Source.of(state.encode()), 0)
    assert crash.exit is not None
    assert (crash.exit.signal, crash.memory.oom_kills) == (signal, kills)
