"""Who gets the keys: whoever would have them without us, a pager that opens its terminal by name among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TRIAGE
from running import QUICKLY, Terminal

# What `less` does: it opens the terminal that its standard error is, and asks it for single keys.
PAGER = """
import os, sys, termios, tty
terminal = os.open(os.ttyname(2), os.O_RDWR)
before = termios.tcgetattr(terminal)
if {quiet}:
    print("page", flush=True)
tty.setcbreak(terminal)
if not {quiet}:
    print("page", flush=True)
key = os.read(terminal, 1)
termios.tcsetattr(terminal, termios.TCSANOW, before)
print("key", key, flush=True)
print("line", input(), flush=True)
"""


def in_a_terminal(tmp_path: Path, quiet: bool) -> Terminal:
    script = tmp_path / "pager.py"
    script.write_text(PAGER.format(quiet=quiet), "utf-8")
    return Terminal(*TRIAGE, *QUICKLY, script, cwd=tmp_path)


@pytest.mark.parametrize("quiet", [False, True], ids=["prints-then-waits", "waits-without-a-word"])
def test_a_pager_that_opens_its_terminal_by_name_gets_the_keys(tmp_path, quiet):
    with in_a_terminal(tmp_path, quiet=quiet) as terminal:
        terminal.expect("page")
        terminal.press(b"q")
        terminal.expect("key b'q'")
        terminal.press(b"typed\n")
        terminal.expect("line typed")
        assert terminal.end() == 0
        assert terminal.modes_now() == terminal.modes
