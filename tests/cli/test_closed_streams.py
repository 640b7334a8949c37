"""Standard streams that are closed, full or no longer read: a sentence where one can be printed, never a traceback."""

from __future__ import annotations

import gzip
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOGS, TRIAGE, clean_environment

LOG = LOGS / "oom_in_fit-2.21.log"
COMMANDS = {
    "text": ["analyze", str(LOG)],
    "json": ["analyze", str(LOG), "--format", "json"],
    "explain": ["explain", "139"],
    "list": ["signatures", "list"],
    "help": ["--help"],
    "version": ["--version"],
    "completion": ["completion", "bash"],
}
NOT_PRINTED, NOBODY_READS = 74, 141
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and the shell's redirections are Linux's")
every_command = pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)


def in_bash(arguments: list[str], redirections: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command with its streams redirected by a shell, and its own exit code also where it is in a pipe."""
    line = f"{shlex.join([*TRIAGE, *arguments])} {redirections}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=cwd, env=clean_environment(**environment), timeout=60
    )


@on_linux
@every_command
@pytest.mark.parametrize(("redirection", "why"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")])
def test_an_output_that_takes_nothing_is_said_in_one_sentence(tmp_path, arguments, redirection, why):
    done = in_bash(arguments, redirection, tmp_path)
    assert done.returncode == NOT_PRINTED
    # What the commands themselves say on standard error may stand before it.
    *_, last = done.stderr.splitlines()
    assert last == f"triage: standard output could not be written ({why}); redirect it somewhere else."
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@on_linux
@every_command
@pytest.mark.parametrize("redirections", [">&- 2>&- <&-", ">/dev/full 2>/dev/full"])
def test_where_nothing_can_be_said_the_exit_code_says_it(tmp_path, arguments, redirections):
    done = in_bash(arguments, redirections, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (NOT_PRINTED, "", "")


@on_linux
@pytest.mark.parametrize("arguments", [COMMANDS["text"], COMMANDS["list"]], ids=["text", "list"])
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&-"])
def test_the_other_streams_change_nothing_about_the_answer(tmp_path, arguments, redirection):
    usual = in_bash(arguments, "", tmp_path)
    done = in_bash(arguments, redirection, tmp_path)
    assert (done.returncode, done.stdout) == (0, usual.stdout)


@on_linux
@every_command
def test_a_pipe_that_nobody_reads_ends_it_quietly(tmp_path, arguments):
    done = in_bash(arguments, "2>errors | true", tmp_path)
    assert done.returncode == NOBODY_READS
    errors = (tmp_path / "errors").read_text()
    assert "triage: " not in errors and "Traceback" not in errors and "Exception ignored" not in errors


@on_linux
@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_head_takes_its_line_of_a_report_longer_than_a_pipe(tmp_path, format_name):
    logs = [str(LOG)] * 80
    done = in_bash(["analyze", "--each", *logs, "--format", format_name], "2>errors | head -n 1", tmp_path)
    assert done.returncode == NOBODY_READS
    assert len(done.stdout.splitlines()) == 1
    assert (tmp_path / "errors").read_text() == ""


@on_linux
def test_a_console_of_ascii_on_a_full_disk(tmp_path):
    done = in_bash(["explain", "139"], ">/dev/full", tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == NOT_PRINTED
    assert done.stderr.count("\n") == 1


@on_linux
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_wrong_usage_is_wrong_usage_also_where_it_cannot_be_said(tmp_path, redirection):
    assert in_bash(["analyze", "--format", "jsno"], redirection, tmp_path).returncode == 2
    assert in_bash(["analyze", "nowhere.log"], redirection, tmp_path).returncode == 3


@on_linux
@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", ">&- 2>&-"])
def test_a_program_that_is_run_keeps_its_exit_code(tmp_path, redirection):
    (tmp_path / "script.py").write_text("import os\nos._exit(3)\n")
    done = in_bash(["run", "--no-native", "script.py"], redirection, tmp_path)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr and "could not be written" not in done.stderr


def test_what_was_asked_for_at_the_end_is_done_although_the_interpreter_tidies_nothing(tmp_path):
    """The command ends at once; handlers run, and what was printed by them arrives too."""
    program = (
        "import atexit, sys\nfrom triage.cli import program\n"
        "atexit.register(lambda: print('tidied', flush=True))\nsys.argv = ['triage', 'explain', '139']\nprogram()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=clean_environment()
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("SIGSEGV")
    assert done.stdout.endswith("tidied\n")


def test_a_compressed_core_leaves_nothing_behind(run_triage, tmp_path):
    """What had to be unpacked to be read is removed where it is used, not when the interpreter ends."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "core.gz").write_bytes(gzip.compress(b"\x7fELF" + bytes(200_000)))
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(LOG.read_bytes()))
    for file in ("core.gz", "x.log.gz"):
        run_triage("analyze", file, TMPDIR=str(temporary))
        assert list(temporary.iterdir()) == []
