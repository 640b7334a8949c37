"""Every command that a report could show is one that the person's shell can read."""

from __future__ import annotations

import pytest
from rendered import Rendered, rendered
from shells import cmd_problem, posix_problem, python_problem, refused_by


@pytest.fixture(scope="module")
def commands(knowledge) -> tuple[Rendered, ...]:
    found = rendered(knowledge)
    assert len({one.text for one in found}) > 1000
    assert {one.system for one in found} == {"linux", "macos", "windows"}
    return found


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_posix_shells_read_every_command(commands, require, shell):
    require(shell)
    texts = {one.text: one.signature for one in commands if one.system != "windows"}
    refused = refused_by(shell, texts)
    assert not {texts[text]: (text, said) for text, said in refused.items()}


def test_a_prompt_of_a_posix_shell_takes_every_command(commands):
    problems = [(one.signature, one.text, posix_problem(one.text)) for one in commands if one.system != "windows"]
    assert not [problem for problem in problems if problem[2]]


def test_cmd_takes_every_command(commands):
    problems = [(one.signature, one.text, cmd_problem(one.text)) for one in commands if one.system == "windows"]
    assert not [problem for problem in problems if problem[2]]


def test_python_compiles_every_program_in_a_command(commands):
    problems = [(one.signature, one.text, python_problem(one.text, one.system)) for one in commands]
    assert not [problem for problem in problems if problem[2]]
