"""Run a script as `triage run` does and keep its report twice, as JSON and as text: a run under us takes seconds.

    python tests/run_with_both_reports.py FOLDER SECONDS SCRIPT

FOLDER gets report.json and report.txt. SECONDS is the timeout, 0 for none. The exit status is the script's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triage
from triage.reports import json_report, text


def main() -> int:
    """Run it; no report is written where the script ended well."""
    folder, seconds, script = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    outcome = triage.run([script], timeout=seconds or None)
    if outcome.report is not None:
        (folder / "report.json").write_text(json_report.render(outcome.report), encoding="utf-8")
        (folder / "report.txt").write_text(text.render(outcome.report), encoding="utf-8")
    print(*outcome.problems, *outcome.said, sep="\n", file=sys.stderr)
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
