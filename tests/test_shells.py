"""The rules by which the tests judge commands refuse what a shell would misread, and nothing else."""

from __future__ import annotations

import pytest
from shells import cmd_problem, posix_problem, python_problem, refused_by


@pytest.mark.parametrize(
    "command",
    [
        "A=1 python x.py",
        "python -c 'import x'",
        'python -c "import x',
        "python x.py; python y.py",
        "python x.py & python y.py",
        "python x.py | grep a",
        "python x.py | tee log",
        "echo $PATH",
        "python %HOME%.py",
        "python 100%.py",
        "pip install numpy<2",
        "pip install numpy>=1.24",
        "pip install a^b",
        "./simulate",
        "fresh/bin/python x.py",
        "ls -l",
        "(python x.py)",
        "python x.py &&",
        'cmd /c "set A=1 && python x.py"',
        'cmd /c "set A=1&& python "my x.py""',
        'powershell -Command "Get-Item (x"',
        'powershell -Command "$x = 1"',
        'python "my \\"x\\".py" > \'a\'',
        "dir\nls",
    ],
)
def test_cmd_would_misread_it(command: str) -> None:
    assert cmd_problem(command)


@pytest.mark.parametrize(
    "command",
    [
        'python -m pip install "numpy<2"',
        'cmd /c "set A=1&& set B=x;y&& python x.py --a=b"',
        'python -m pip install x && cmd /c "set A=1&& python x.py"',
        'cmd /c "set A=&& python x.py" && dir',
        'set "A=1" && python "R&D (x).py"',
        "python x.py && dir",
        "tasklist | findstr python",
        "python x.py > log.txt 2>&1",
        "fresh\\Scripts\\python x.py",
        "powershell -Command \"(Get-CimInstance Win32_Processor).Name | Select-Object 'a'\"",
        "python x.py %CUDA_PATH%\\bin",
    ],
)
def test_cmd_takes_it(command: str) -> None:
    assert cmd_problem(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "pip install jax[cuda12]",
        "pip install tensorflow==2.15.*",
        "pip install numpy<2",
        "python x.py  # Windows: dir",
        "echo it's",
        "python -c 'import a\nimport b'",
    ],
)
def test_a_posix_prompt_would_misread_it(command: str) -> None:
    assert posix_problem(command)


@pytest.mark.parametrize(
    "command", ['pip install "jax[cuda12]"', "[[ -e x ]] && ls", "ls *.log", "pip install 'a==1.*'\nls"]
)
def test_a_posix_prompt_takes_it(command: str) -> None:
    assert posix_problem(command) is None


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_refuses_what_it_cannot_read(require, shell) -> None:
    require(shell)
    commands = ["ls -l", "echo 'a", "if true", "a b\nc d", "touch /tmp/never-run-by-a-test && echo ${"]
    assert set(refused_by(shell, commands)) == {"echo 'a", "if true", commands[-1]}


def test_a_program_in_a_command_is_compiled_as_python_gets_it() -> None:
    assert python_problem('python -c "print(\\"a\\")"', "linux") is None
    assert python_problem('python -X faulthandler -c "import a, b"', "windows") is None
    assert python_problem('fresh/bin/python -c "import a b"', "linux")
    assert python_problem("python3 -m pip list && python3 -c 'import'", "macos")
