"""What log collectors put in front of each line: time, host, service, rank, quote marks; several of them, nested."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from triage.patterns import compile as pattern

# A prefix is taken off when this share of the lines has it: a single line that only looks like it keeps it. Half is
# too much to ask, because each state of a progress bar is a line of its own, without a prefix.
_SHARE = 0.3
_FEW = 3
_ROUNDS = 5
_SAMPLE = 1500
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
# `who` names the process that wrote the line, where the prefix tells it.
PREFIXES = (
    r"^(?:> )+|^>$",  # quoted in a mail
    r"^(?P<who>[\w.-]{1,60}) +\|(?: |$)",  # docker compose
    rf"^(?P<when>{_ISO})(?:Z|[+-]\d\d:?\d\d)? (?:stdout|stderr) [FP] ",  # Kubernetes (CRI)
    r"^(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)?[ \t]+",  # CloudWatch, Actions, k8s
    rf"^\[(?P<when>{_ISO})(?:Z| ?[A-Z]{{3,4}}| ?[+-]\d\d:?\d\d)?\] ",  # Jenkins
    r"^(?P<when>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]+ (?P<who>[\w./@-]+(?:\[\d+\])?): ",  # journald
    r"^(?P<when>[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d:\d\d [AP]M)(?: \||\t) ?[A-Z]+(?: \||\t) ?",  # Colab
    r"^(?P<who>\[\d+,\d+\])<std(?:err|out|diag)>: ",  # mpirun since 5; it wins only where every line has the space
    r"^(?P<who>\[\d+,\d+\])<std(?:err|out|diag)>:",  # mpirun
    r"^(?P<who>\[[\w.-]+:\d+\]) ",  # Open MPI's own lines
    r"^(?P<who>\((?:[\w.:<>()]+ )?pid=\d+(?:, ip=[\d.]+)?\)) ",  # Ray
    r"^(?P<who>\[(?:rank|default)\d+\]):? ?",  # torchrun
    r"^(?:app|heroku)\[(?P<who>[\w.]+)\]: ",  # Heroku, behind its time
    r"^\[\d{4}-\d\d-\d\d,? [\d:,]+(?: UTC)?\] \{[\w.]+:\d+\} [A-Z]+ - ",  # Airflow
    r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:INFO|WARN|ERROR) [\w.$]+: ",  # Spark
    r"^npm (?:ERR!|error) (?:code )?",  # npm
    r"^\d+ (?:error|verbose|silly|info) ",  # npm's debug log
)


class Stripped(NamedTuple):
    """The lines without their prefixes; for each line who wrote it, and when, where a prefix told that."""

    lines: list[str]
    writers: list[str | None]
    times: list[str | None]


def strip(lines: list[str]) -> Stripped:
    """Take off every prefix that most of the lines share, the outermost first."""
    writers: list[str | None] = [None] * len(lines)
    times: list[str | None] = [None] * len(lines)
    for _ in range(_ROUNDS):
        shared = _shared_prefix(lines)
        if shared is None:
            break
        lines = list(lines)
        for position, line in enumerate(lines):
            match = pattern(shared).match(line)
            if match is None or match.end() == 0:
                continue
            told = match.groupdict()
            writers[position] = told.get("who") or writers[position]
            times[position] = told.get("when") or times[position]
            lines[position] = line[match.end() :]
    return Stripped(lines, writers, times)


def _shared_prefix(lines: list[str]) -> str | None:
    """The prefix that most lines of a sample have, if there is one."""
    written = [line for line in (*lines[:_SAMPLE], *lines[_SAMPLE:][-_SAMPLE:]) if line.strip()]
    if not written:
        return None
    counts: Counter[str] = Counter()
    for candidate in _candidates(written):
        compiled = pattern(candidate)
        counts[candidate] = sum(1 for line in written if (match := compiled.match(line)) and match.end() > 0)
    if not counts:
        return None
    best, count = counts.most_common(1)[0]
    enough = count >= _FEW and count >= _SHARE * len(written)
    return best if enough or count == len(written) else None


def _candidates(written: list[str]) -> list[str]:
    """The prefixes worth counting: those that one of a few lines has."""
    few = {written[position * (len(written) - 1) // 16] for position in range(17)}
    likely = [line for line in few if _may_have_one(line)]
    return [prefix for prefix in PREFIXES if any(_matches(prefix, line) for line in likely)]


def _may_have_one(line: str) -> bool:
    """A cheap look before any pattern is compiled: a prefix starts with a number, a bracket or a short month."""
    return line[0] in "0123456789[(>" or line[3:4] == " " or any(mark in line[:90] for mark in (" |", "]: ", "ERR!"))


def _matches(prefix: str, line: str) -> bool:
    match = pattern(prefix).match(line)
    return match is not None and match.end() > 0
