"""The README's table is the one that was fitted."""

from __future__ import annotations

from conftest import REPOSITORY

import triage
from triage.calibrating.__main__ import table


def test_the_table_in_the_readme_is_that_of_the_calibration() -> None:
    assert table(triage.load_knowledge().calibration.reliability) in (REPOSITORY / "README.md").read_text("utf-8")
