"""The rooms of the design: what may import what."""

from __future__ import annotations

import subprocess
import sys

import pytest
import rooms
from conftest import REPOSITORY


def test_every_import_of_ours_goes_the_right_way():
    assert rooms.violations() == []


def test_every_room_of_the_table_exists():
    existing = {path.stem for path in (REPOSITORY / "triage").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(rooms.MAY_IMPORT) <= existing


def test_the_script_says_so():
    script = REPOSITORY / "tests" / "rooms.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0
    assert "every import goes the right way" in done.stdout


@pytest.fixture
def package(tmp_path):
    """A small package that keeps to the design."""
    root = tmp_path / "triage"
    (root / "reports").mkdir(parents=True)
    (root / "crash.py").write_text("import re\n")
    (root / "report.py").write_text("from triage.crash import Crash\n")
    (root / "reports" / "text.py").write_text("from triage.report import Report\n")
    return root


def test_a_sound_package_has_no_violation(package):
    assert rooms.violations(package) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from triage.readers import read",
        "from triage.readers.log.lines import read_lines",
        "import triage.readers",
        "from triage import readers",
        "def f():\n    from triage.readers import read",
        "from ..readers import read",
        "from .. import readers",
    ],
)
def test_an_import_that_goes_the_wrong_way_is_named_with_its_line(package, statement):
    (package / "reports" / "text.py").write_text(f"import re\n{statement}\n")
    (found,) = rooms.violations(package)
    line = 2 + statement.count("\n")
    assert f"text.py:{line}: 'reports' may not import 'readers'" in found


def test_facts_import_nothing_of_ours(package):
    (package / "crash.py").write_text("from triage.report import Report\n")
    (found,) = rooms.violations(package)
    assert "'crash' may not import 'report'" in found


def test_a_new_room_needs_a_reason(package):
    (package / "helpers.py").write_text("")
    (found,) = rooms.violations(package)
    assert "the room 'helpers' is not in the design" in found
