"""`triage completion` prints what a shell needs, and the shell then completes our commands."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_gets_its_script_and_is_told_where_to_put_it(run_triage: Run, shell: str) -> None:
    done = run_triage("completion", shell)
    assert done.returncode == 0
    assert "_TRIAGE_COMPLETE" in done.stdout
    assert f"triage completion {shell}" in done.stderr


def test_an_unknown_shell_gets_a_suggestion(run_triage: Run) -> None:
    done = run_triage("completion", "bsh")
    assert done.returncode == 2
    assert "Did you mean 'bash'?" in done.stderr


def test_the_commands_are_completed(run_triage: Run) -> None:
    done = run_triage(_TRIAGE_COMPLETE="bash_complete", COMP_WORDS="triage ex", COMP_CWORD="1")
    assert done.stdout.split(",")[-1].strip() == "explain"
