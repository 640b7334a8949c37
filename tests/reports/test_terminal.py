"""Colours and encodings: what the environment asks for is done, and no console is too poor."""

from __future__ import annotations

import pytest
from conftest import LOGS

OOM = LOGS / "oom_in_fit-2.21.log"
COLOUR = "\x1b["
TYPOGRAPHIC = """\
Traceback (most recent call last):
  File "train.py", line 1, in <module>
ValueError: größer → 記憶 “quoted” \N{PILE OF POO}
"""


def test_a_terminal_gets_colours(in_terminal):
    assert COLOUR in in_terminal("analyze", OOM).raw
    assert COLOUR in in_terminal("explain", "139").raw


@pytest.mark.parametrize(
    "environment",
    [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}],
    ids=lambda environment: " ".join(f"{k}={v}" for k, v in environment.items()),
)
@pytest.mark.parametrize(
    "command", [["analyze", OOM], ["explain", "139"], ["signatures", "sources"]], ids=lambda c: c[0]
)
def test_a_terminal_without_colours(in_terminal, environment, command):
    assert "\x1b" not in in_terminal(*command, **environment).raw


def test_an_empty_no_color_means_nothing(in_terminal):
    assert COLOUR in in_terminal("analyze", OOM, NO_COLOR="").raw


def test_a_pipe_gets_no_colours(run_triage):
    assert "\x1b" not in run_triage("analyze", OOM).stdout


@pytest.mark.parametrize(("value", "coloured"), [("1", True), ("3", True), ("0", False), ("", False)])
@pytest.mark.parametrize("command", [["analyze", OOM], ["explain", "139"]], ids=lambda c: c[0])
def test_force_color_colours_a_pipe(run_triage, command, value, coloured):
    assert (COLOUR in run_triage(*command, FORCE_COLOR=value).stdout) == coloured


def test_no_color_beats_force_color_in_a_pipe(run_triage):
    assert "\x1b" not in run_triage("analyze", OOM, NO_COLOR="1", FORCE_COLOR="1").stdout


@pytest.mark.parametrize("format_name", ["json", "markdown"])
def test_what_is_for_machines_is_never_coloured(run_triage, in_terminal, format_name):
    assert "\x1b" not in run_triage("analyze", OOM, "--format", format_name, FORCE_COLOR="1").stdout
    assert "\x1b" not in in_terminal("analyze", OOM, "--format", format_name, FORCE_COLOR="1").raw


def test_colours_change_nothing_of_the_text(in_terminal):
    with_colours = in_terminal("analyze", OOM)
    without = in_terminal("analyze", OOM, NO_COLOR="1")
    assert [line.rstrip() for line in with_colours.lines] == [line.rstrip() for line in without.lines]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-8"])
@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
@pytest.mark.parametrize("force_colour", ["0", "1"])
def test_a_console_that_cannot_show_a_character_gets_no_traceback(run_triage, encoding, format_name, force_colour):
    done = run_triage(
        "analyze", "-", "--format", format_name,
        input=TYPOGRAPHIC, PYTHONIOENCODING=encoding, FORCE_COLOR=force_colour, PYTHONUTF8="0",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert "ValueError" in done.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("topic", ["139", "0xC0000409", "gpu.out-of-memory", "ResourceExhausted"])
def test_explanations_reach_a_poor_console(run_triage, encoding, topic):
    done = run_triage("explain", topic, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize(
    "command", [["list"], ["show", "gpu/out-of-memory"], ["sources"], ["lint"]], ids=lambda c: c[0]
)
def test_signatures_reach_a_poor_console(run_triage, encoding, command):
    done = run_triage("signatures", *command, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_an_error_about_an_odd_name_reaches_a_poor_console(run_triage):
    done = run_triage("analyze", "größe→.log", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 3
    assert "does not exist" in done.stderr and "Traceback" not in done.stderr


def test_a_narrow_terminal_still_tells_everything(in_terminal):
    screen = in_terminal("explain", "139", columns=50)
    assert max(map(len, screen.lines)) <= 50
    assert "SIGSEGV" in screen.lines[0]
