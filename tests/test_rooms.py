"""The rooms of the design: what may import what."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatchcase

import pytest
import rooms
from conftest import REPOSITORY


def test_every_import_of_ours_goes_the_right_way():
    assert rooms.violations() == []


def test_every_room_of_the_table_exists():
    existing = {path.stem for path in (REPOSITORY / "triage").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(rooms.ROOMS) <= existing


def test_every_exception_is_needed():
    used = {room: set() for room in rooms.ROOMS}
    for name, path in rooms.modules_of().items():
        used[rooms.room_of(name)].update(rooms.room_of(imported) for _, imported in rooms.imports_of(path))
    for room, exceptions in rooms.EXCEPTIONS.items():
        assert not set(exceptions) & rooms.ROOMS[room], f"the design allows it: {room}"
        assert set(exceptions) <= used[room], f"nothing needs it: {room}"


@pytest.mark.parametrize("rule", rooms.INSIDE, ids=lambda rule: rule.why)
def test_every_rule_inside_a_room_is_about_modules_that_exist(rule):
    named = (*rule.modules, *rule.may, *rule.but) if isinstance(rule, rooms.Only) else (rule.modules, rule.those)
    for pattern in named:
        assert any(fnmatchcase(name, pattern) for name in rooms.modules_of()), pattern


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


@pytest.mark.parametrize(
    ("module", "statement", "why"),
    [
        ("readers/log/containers/slurm.py", "from triage.readers.log.containers import mpi", "no format knows another"),
        ("readers/log/containers/slurm.py", "from . import mpi", "no format knows another"),
        ("clues/exit.py", "from triage.clues.log import LogSearch", "no kind knows another"),
        ("clues/exception.py", "from triage.clues.native import often_enough", "asked for as a log is"),
        ("readers/minidump/walk.py", "import triage.readers.log.lines", "does not depend on logs"),
        ("capture/machine.py", "from triage.capture.windows import winapi", "does not depend on one of them"),
        ("capture/windows/output.py", "from triage.capture.posix import output", "does not depend on one of them"),
        ("cli/run.py", "from triage.cli.analyze import command", "no command knows another"),
    ],
)
def test_an_import_that_a_rule_inside_a_room_forbids_is_named_with_the_reason(package, module, statement, why):
    path = package / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{statement}\n")
    (found,) = rooms.violations(package)
    assert f"{path.name}:1: " in found
    assert why in found


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("readers/log/containers/slurm.py", "from triage.readers.log.containers.interface import Outside"),
        ("readers/log/containers/__init__.py", "from triage.readers.log.containers import mpi"),
        ("clues/exception.py", "from triage.clues.log import LOG_REQUEST"),
        ("capture/windows/output.py", "from triage.capture.windows import winapi"),
        ("capture/__init__.py", "from triage.capture import windows"),
    ],
)
def test_what_a_room_may_share_inside_is_allowed(package, module, statement):
    path = package / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{statement}\n")
    assert rooms.violations(package) == []


def test_facts_import_nothing_of_ours(package):
    (package / "crash.py").write_text("from triage.report import Report\n")
    (found,) = rooms.violations(package)
    assert "'crash' may not import 'report'" in found


def test_a_new_room_needs_a_reason(package):
    (package / "helpers.py").write_text("")
    (found,) = rooms.violations(package)
    assert "the room 'helpers' is not in the design" in found
