"""Broken dumps through the whole of `triage.analyze`: each must end in a report or in one clear sentence.

Every case runs in a child process with limits of 5 seconds and 300 MB. `make fuzz-minidump` runs 2,000 of them;
COUNT, SEED and FIRST choose others. It fails if one ends in a traceback or goes over a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

from fuzzing.mutations import mutation, originals  # noqa: E402

SECONDS, MEGABYTES = 5.0, 300
# Far above what is allowed: it only keeps the machine alive.
_ADDRESS_SPACE = 4 << 30
REPORT, SENTENCE, TRACEBACK, SLOW, LARGE = "report", "one clear sentence", "traceback", "over 5 s", "over 300 MB"
_TO_START = 60.0
OUTCOMES = (REPORT, SENTENCE, TRACEBACK, SLOW, LARGE)


def child(first: int, last: int, options: argparse.Namespace) -> None:
    """Analyse cases one after the other, a line of JSON for each; ends itself when it has grown too large."""
    import triage
    from triage.reports import json_report, markdown, text

    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    knowledge = triage.load_knowledge()
    dumps = originals(options.dumps)
    with tempfile.TemporaryDirectory(prefix="triage-fuzz-") as directory:
        path = os.path.join(directory, "broken.dmp")
        for number in range(first, last):
            what, data = mutation(number, options.seed, dumps)
            Path(path).write_bytes(data)
            print(json.dumps({"case": number, "what": what}), flush=True)
            before = time.monotonic()
            try:
                report = triage.analyze(path, knowledge=knowledge, pe_directories=options.pe_dir)
                reports = [render(report) for render in (text.render, json_report.render, markdown.render)]
                outcome, detail = _judge(
                    report.crash.inputs[0].kind, [gap.detail for gap in report.crash.gaps], reports
                )
            except BaseException as error:
                outcome, detail = (LARGE if isinstance(error, MemoryError) else TRACEBACK), _where(error)
            seconds = time.monotonic() - before
            megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if outcome in (REPORT, SENTENCE):
                outcome = SLOW if seconds > SECONDS else LARGE if megabytes > MEGABYTES else outcome
            answer = {"outcome": outcome, "detail": detail, "seconds": seconds, "megabytes": megabytes}
            print(json.dumps(answer), flush=True)
            if megabytes > MEGABYTES:
                return


def _judge(kind: str, unread: list[str], reports: list[str]) -> tuple[str, str]:
    if kind != "unreadable":
        return (REPORT, "") if all(reports) else (TRACEBACK, "a report is empty")
    clear = len(unread) == 1 and unread[0].endswith(".") and "\n" not in unread[0]
    return (SENTENCE, "") if clear else (TRACEBACK, f"not one clear sentence: {unread}")


def _where(error: BaseException) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"


class Run:
    """Children over all cases; one that is stopped is followed by another that goes on behind the case it died of."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.next, self.last = options.first, options.first + options.count
        self.arguments = ["--seed", str(options.seed)]
        self.arguments += ["--dumps", options.dumps] if options.dumps else []
        for directory in options.pe_dir:
            self.arguments += ["--pe-dir", directory]
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = self.largest = 0.0

    def go(self) -> None:
        """Run every case."""
        while self.next < self.last:
            command = [sys.executable, __file__, "--child", str(self.next), str(self.last), *self.arguments]
            with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=TESTS.parent) as process:
                self._follow(process)

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Read what the child says until it ends, or until it says nothing for too long."""
        assert process.stdout is not None
        pipe, unfinished, what = process.stdout.fileno(), b"", ""
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            # Start-up is no part of a case; a busy machine is given time for it.
            while selector.select(2 * SECONDS if what else _TO_START):
                data = os.read(pipe, 65536)
                if not data:
                    break
                *lines, unfinished = (unfinished + data).split(b"\n")
                for line in map(json.loads, lines):
                    if "case" in line:
                        what = f"case {line['case']}, {line['what']}"
                        continue
                    self.slowest = max(self.slowest, line["seconds"])
                    self.largest = max(self.largest, line["megabytes"])
                    self._count(line["outcome"], what, line["detail"])
                    what = ""
            else:
                process.kill()
                self._count(SLOW, what, "it was stopped")
                return
        ended = process.wait()
        if what:
            self._count(TRACEBACK, what, f"the process ended with {ended}")
        elif ended:
            raise SystemExit("the child could not start; see above")

    def _count(self, outcome: str, what: str, detail: str) -> None:
        self.next += 1
        self.outcomes[outcome] += 1
        if outcome not in (REPORT, SENTENCE):
            self.failures.append(f"{outcome}: {what}: {detail}")


def main() -> int:
    """Run the cases that the command line names and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dumps", metavar="DIR", help="a folder with more dumps to break")
    parser.add_argument("--pe-dir", metavar="DIR", action="append", default=[], help="as for triage analyze")
    parser.add_argument("--child", type=int, nargs=2, metavar=("FIRST", "LAST"))
    options = parser.parse_args()
    if options.child:
        child(*options.child, options)
        return 0
    before = time.monotonic()
    run = Run(options)
    run.go()
    print(f"{options.count:,} broken dumps, made of {len(originals(options.dumps))} whole ones, seed {options.seed}:")
    for outcome in OUTCOMES:
        print(f"  {run.outcomes[outcome]:6,}  {outcome}")
    print(f"  the slowest took {run.slowest:.2f} s, the largest process had {run.largest:.0f} MB;", end=" ")
    print(f"all of them {time.monotonic() - before:.0f} s")
    for failure in run.failures[:20]:
        print(f"  {failure}")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
