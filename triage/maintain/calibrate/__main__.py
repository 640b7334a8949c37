"""`python -m triage.maintain.calibrate CASES…`: fit, write the file, and print what came out."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from triage.knowledge.calibration import Bin, Calibration, Reliability, parse_calibration, parse_reliability
from triage.knowledge.database import Knowledge, assemble
from triage.knowledge.lint import LONGEST_LINE
from triage.knowledge.pack import PackData, our_directory
from triage.knowledge.pack_files import our_pack
from triage.maintain.calibrate.fit import (
    BadCases,
    answer,
    counted,
    examine,
    figures,
    fit_weights,
    left_out,
    read_cases,
    reliability,
    without_idle_counts,
)

_HEADER = """\
# Written by `make calibrate CASES="DIR …"`; do not edit. What labelled reports say about the hand-written numbers:
# weights: fitted on projects that were left out of the counts; reliability: how many answers were right, for each
# confidence, on reports that nobody who writes signatures had read (measured elsewhere, copied); signatures: how many
# reports showed the signature (own) or had other causes (elsewhere), and in how many of each every clue was seen. Only
# counts that change a signature's numbers are here.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make calibrate", description="Fit the ranking to labelled reports.")
    parser.add_argument("cases", nargs="+", metavar="DIR", help="a folder of labelled reports (YAML)")
    parser.add_argument("--output", help="where to write (default: calibration.yaml of our signatures)")
    parser.add_argument(
        "--reliability",
        metavar="FILE",
        help="figures of reports that nobody has read (default: keep the ones in our calibration.yaml)",
    )
    options = parser.parse_args(arguments)
    try:
        cases, digest = read_cases(options.cases)
    except (BadCases, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    ours = our_pack()
    knowledge = _as_written(ours)
    examined = [examine(case, knowledge) for case in cases]
    pairs = left_out(examined, knowledge)
    weights = fit_weights(pairs)
    answers = [answer(one, without, weights) for one, without in pairs]
    measured = _measured(options.reliability, ours)
    counts = without_idle_counts(counted(examined, knowledge), knowledge)
    final = counts._replace(weights=weights, reliability=measured, cases=len(cases))
    text = _as_yaml(final, figures(answers), digest)
    path = Path(options.output or Path(our_directory()) / "calibration.yaml")
    path.write_text(text, "utf-8")
    print(f"{len(cases)} cases, whole projects left out: " + "  ".join(f"{k} {v}" for k, v in figures(answers).items()))
    print("weights: " + ", ".join(f"{name} {value}" for name, value in weights._asdict().items()))
    print("whole projects left out, on reports that signatures were written from:")
    print(table(reliability(answers)))
    if measured.bins:
        print(f"on {measured.reports} reports that nobody had read ({measured.measured}, commit {measured.commit}):")
        print(table(measured.bins))
    print(f"written: {path}")
    return 0


def _measured(file: str | None, ours: PackData) -> Reliability:
    """The figures of unread reports: from the given file, else those that we have."""
    if file is None:
        return parse_calibration(ours.tables.get("calibration", {})).reliability
    import yaml

    return parse_reliability(yaml.safe_load(Path(file).read_text("utf-8")))


def _as_written(pack: PackData) -> Knowledge:
    """The knowledge of a pack without any calibration."""
    tables = {name: table for name, table in pack.tables.items() if name != "calibration"}
    return assemble([pack._replace(tables=tables)])


def table(bins: Sequence[Bin]) -> str:
    """A reliability table as the README has it."""
    rows = ["| confidence | answers | right |", "|---|---|---|"]
    ends = [*(one.least for one in bins[1:]), None]
    for one, end in zip(bins, ends, strict=True):
        span = f"{one.least:.0%} and more" if end is None else f"{one.least:.0%} to {end:.0%}"
        rows.append(f"| {span} | {one.cases} | {one.right / one.cases:.0%} |")
    return "\n".join(rows)


def _as_yaml(fitted: Calibration, achieved: Mapping[str, float], digest: str) -> str:
    """The file, with one row per signature so that it stays small and its changes readable."""
    lines = [
        f"date: {datetime.date.today()}",
        f"cases: {fitted.cases}",
        f"corpus: {digest}",
        f"figures: {_flow(achieved)}",
        f"weights: {_flow(fitted.weights._asdict())}",
        "reliability:",
        f"  measured: '{fitted.reliability.measured}'",
        f"  commit: '{fitted.reliability.commit}'",
        f"  reports: {fitted.reliability.reports}",
        "  bins:",
        *(f"    - {{from: {one.least}, answers: {one.cases}, right: {one.right}}}" for one in fitted.reliability.bins),
        f"causes: {_flow(dict(sorted(fitted.causes.items())))}",
        "signatures:",
    ]
    for id, counts in sorted(fitted.counts.items()):
        clues = {name: f"[{own}, {other}]" for name, (own, other) in sorted(counts.clues.items())}
        lines.append(f"  {id}: {{own: {counts.own}, elsewhere: {counts.elsewhere}, clues: {_flow(clues)}}}")
    return _HEADER + "".join(wrapped(line) + "\n" for line in lines)


def wrapped(row: str) -> str:
    """A row of the file, broken between its entries where it is longer than lint allows."""
    indent = " " * (len(row) - len(row.lstrip()) + 4)
    # A pair of counts stays together: no break before a number.
    line, *entries = re.split(r"(?<=,) (?!\d)", row)
    lines = [line]
    for entry in entries:
        if len(lines[-1]) + 1 + len(entry) <= LONGEST_LINE:
            lines[-1] += f" {entry}"
        else:
            lines.append(indent + entry)
    return "\n".join(lines)


def _flow(data: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in data.items()) + "}"


if __name__ == "__main__":
    sys.exit(main())
