"""First contact: help, version, and what happens to a mistyped command."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
from conftest import clean_environment

import triage

COMMANDS = (
    ["analyze"],
    ["explain"],
    ["signatures"],
    *(["signatures", n] for n in ("list", "show", "lint", "test", "new", "sources")),
)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command_with_examples(run_triage, option):
    done = run_triage(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: triage ")
    for name in ("analyze", "explain", "signatures"):
        assert re.search(rf"^  {name} +[A-Z]", done.stdout, re.MULTILINE)
    assert "python train.py 2>&1 | triage analyze -" in done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(run_triage, command, option):
    done = run_triage(*command, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: triage {' '.join(command)} ")


def test_help_fits_eighty_columns(run_triage):
    for command in ([], *COMMANDS):
        assert max(map(len, run_triage(*command, "--help").stdout.splitlines())) <= 80, command


def test_version_is_one_line(run_triage):
    done = run_triage("--version")
    assert done.stdout == f"triage {triage.__version__}\n"
    assert re.fullmatch(r"triage \d+\.\d+\.\d+\n", done.stdout)


def test_python_m_triage_is_the_command(tmp_path):
    script = shutil.which("triage", path=sysconfig.get_path("scripts"))
    assert script, "the package is not installed in this environment"
    by_script, by_module = (
        subprocess.run(
            [*command, "explain", "139"], capture_output=True, text=True, cwd=tmp_path, env=clean_environment()
        )
        for command in ([script], [sys.executable, "-m", "triage"])
    )
    assert by_script.returncode == by_module.returncode == 0
    assert by_script.stdout == by_module.stdout != ""


@pytest.mark.parametrize(
    ("typed", "meant"), [("analyse", "analyze"), ("explian", "explain"), ("signature", "signatures")]
)
def test_a_mistyped_command_gets_a_suggestion(run_triage, typed, meant):
    done = run_triage(typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert typed in done.stderr
    assert re.search(rf"(?i)did you mean.*\b{meant}\b", done.stderr)


def test_no_arguments_show_the_help(run_triage):
    done = run_triage()
    assert "Usage: triage" in done.stdout + done.stderr
    assert "analyze" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_shown_without_reading_a_signature(run_triage, tmp_path):
    done = run_triage("--help", TRIAGE_SIGNATURES=str(tmp_path / "no-such-pack"))
    assert (done.returncode, done.stderr) == (0, "")
