"""The README and each report quote the same measurement."""

from __future__ import annotations

from conftest import REPOSITORY

import triage
from triage.maintain.calibrate.__main__ import table


def test_the_readme_has_the_figures_of_unread_reports_with_their_day_and_commit() -> None:
    measured = triage.load_knowledge().calibration.reliability
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    assert table(measured.bins) in readme
    assert f"({measured.measured}, commit {measured.commit};" in readme
    assert f"{measured.reports} reports" in readme
