"""The check of the regular expressions that Python's own engine runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import expressions
import pytest
from conftest import REPOSITORY


def test_no_text_can_keep_an_expression_of_ours_busy_forever():
    assert expressions.violations() == []


def test_the_script_says_so():
    script = REPOSITORY / "tests" / "expressions.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0
    assert "linear in the text" in done.stdout


def found_in(directory: Path, source: str) -> list[str]:
    """What is wrong with a package of one module."""
    (directory / "module.py").write_text(source, "utf-8")
    return expressions.violations(directory)


@pytest.mark.parametrize(
    "source",
    [
        'import re\nNAME = re.compile(r"^\\d+$")\nNAME.search(text)\n',
        'import re\nNAME = re.compile(r"\\s*x")\nNAME.match(text)\n',
        'import re\nre.findall(r"\\d+", text)\n',
        'import re\n_WORD = r"[a-z]+"\nre.fullmatch(rf"{_WORD}-{_WORD}", text)\n',
        "import re\nre.escape(text)\nre.error\n",
        'from triage import patterns\npatterns.compile(r"\\s*x.*y.*z")\n',
        'def f():\n    """Says (what) it does, twice (or more)+."""\n',
    ],
)
def test_a_sound_module_has_no_violation(tmp_path, source):
    assert found_in(tmp_path, source) == []


@pytest.mark.parametrize(
    "call",
    [
        're.compile(r"(?:a+)+$")',
        're.search(r"(?:a+)+$", text)',
        're.match(pattern=r"(?:a+)+$", string=text)',
        're.sub("(?:a" "+)+$", "", text)',
        're.split(_SLOW + "$", text)',
        're.finditer(rf"{_SLOW}$", text)',
        "re.compile(rb'(?:a+)+$')",
        'x = [(1, re.compile(r"(?:a+)+$"))]',
    ],
)
def test_a_repeat_with_two_ways_is_named_with_its_line(tmp_path, call):
    (found,) = found_in(tmp_path, f'import re\n_SLOW = "(?:a+)+"\n{call}\n')
    assert "module.py:3: " in found
    assert "in two ways" in found


@pytest.mark.parametrize(
    "source",
    [
        'NAME = re.compile(r"\\s*x")\nNAME.search(text)',
        'NAME = re.compile(r"\\s*x")\nNAME.match(text)\nNAME.sub("", text)',
        'NAME = re.compile(r"\\s*x")\nuse(NAME)\nNAME.match(text)',
        'NAMES = (re.compile(r"\\s*x"),)',
        're.findall(r"a*A*b", text, re.IGNORECASE)',
        're.search(r"^\\s*x", text, flags=re.M)',
    ],
)
def test_two_repeats_that_meet_are_named(tmp_path, source):
    (found,) = found_in(tmp_path, f"import re\n{source}\n")
    assert "module.py:2: " in found
    assert "two repeats meet" in found


@pytest.mark.parametrize(
    "source",
    [
        "import re\nre.compile(given)",
        'import re\nre.search(r"%s+x" % name, text)',
        'import re\nre.search(rf"{name}+x", text)',
        "import re\nlist(map(re.compile, texts))",
    ],
)
def test_a_pattern_that_cannot_be_read_is_refused(tmp_path, source):
    (found,) = found_in(tmp_path, source)
    assert "module.py:2: " in found
    assert "not a constant of this module" in found


@pytest.mark.parametrize(
    "source", ["from re import compile", "import re as regex", "def f():\n    from re import search"]
)
def test_re_is_imported_under_its_own_name_only(tmp_path, source):
    (found,) = found_in(tmp_path, source)
    assert "import re" in found


@pytest.mark.parametrize(
    "source",
    [
        'from triage import patterns\npatterns.compile(r"(?:\\w+ ?)+;")',
        'from triage.patterns import compile as pattern\n_TABLE = {"a": (r"(?:\\w+ ?)+;", 1)}',
        'from triage import patterns\n_WORDS = r"(?:\\w+ ?)+"\npatterns.compile(f"{_WORDS};")',
    ],
)
def test_a_pattern_for_re2_may_not_be_exponential_where_re2_is_missing(tmp_path, source):
    found = found_in(tmp_path, source)
    assert found
    assert all("where RE2 is missing" in one for one in found)


def test_the_patterns_module_itself_compiles_what_it_is_given(tmp_path):
    (tmp_path / "patterns.py").write_text("import re\nre.compile(given)\n")
    assert expressions.violations(tmp_path) == []
