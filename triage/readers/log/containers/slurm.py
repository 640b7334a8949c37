"""Slurm: srun and slurmstepd messages, `scontrol show job`, `sacct` and `seff`."""

from __future__ import annotations

from triage import patterns, status
from triage.crash import ExitStatus, Log, Memory
from triage.patterns import Match
from triage.readers.log.containers.interface import ContainerFacts, count, notices, size, statuses

TRIGGERS = ("slurmstepd", "srun: error", "OUT_OF_ME+", "State: OUT_OF_MEM", "ExitCode=", "Memory Utilized:", "JobID")
_TASK = (
    r"^srun: error: \S+: tasks? [\d,-]+: "
    r"(?P<words>Segmentation fault|Aborted|Illegal instruction|Bus error|Floating point exception|Killed|Terminated)"
)
# `ExitCode=0:9`, and sacct's column: the exit code, then the signal.
_PAIR = (
    r"(?:\bExitCode=|\b(?:FAILED|OUT_OF_ME(?:MORY|\+)|CANCELLED\+?|TIMEOUT|NODE_FAIL) +)"
    r"(?P<exit>\d{1,3}):(?P<sig>\d{1,3})\b"
)
# Slurm's own number for a step that the kernel killed for memory.
_OOM_NUMBER = 125
_OUT_OF_MEMORY = r"^srun: error: \S+: tasks? [\d,-]+: Out Of Memory|[Ee]xceeded (?:job |step )?memory limit"
_STATE = r"\bState[:=] ?OUT_OF_MEMORY\b|\bOUT_OF_ME(?:MORY|\+) +\d+:\d+\b"
_LIMIT = r"exceeded memory limit \((?P<used>\d+) > (?P<limit>\d+)\)"
_EFFICIENCY = (
    r"^Memory Utilized: (?P<used>[\d.]+) (?P<used_unit>[KMGT]B)[^\n]*\n"
    r"(?:Memory Efficiency: [\d.]+% of (?P<limit>[\d.]+) (?P<limit_unit>[KMGT]B))?"
)
_OTHER_DEATH = r"\*\*\* (?:JOB|STEP) \S+ (?:ON \S+ )?CANCELLED AT [^\n]*\*\*\*"


def extract(log: Log) -> ContainerFacts:
    """How the steps ended, kills for memory with their figures, and cancelled jobs (time limit, preemption)."""
    pairs = [_pair(match, log) for match in patterns.compile(_PAIR).finditer(log.text)]
    return ContainerFacts(
        exits=(*(seen for seen in pairs if seen is not None), *statuses(log, _TASK)),
        messages=notices(log, _OTHER_DEATH),
        memory=_memory(log),
    )


def _pair(match: Match, log: Log) -> ExitStatus | None:
    code, signal = int(match["exit"]), int(match["sig"])
    place = log.place(match.start())
    if signal == _OOM_NUMBER:
        return status.from_signal("SIGKILL", place=place)
    return status.from_code(-signal if 0 < signal <= 64 else code, place=place)


def _memory(log: Log) -> Memory:
    ended_for_memory = patterns.compile(_STATE).search(log.text) is not None
    memory = Memory(oom_kills=count(log, _OUT_OF_MEMORY) or int(ended_for_memory) or None)
    if over := patterns.compile(_LIMIT).search(log.text):
        return memory._replace(
            peak_bytes=size(over["used"], "K"), limit_bytes=size(over["limit"], "K"), limit_source="Slurm"
        )
    if efficiency := patterns.compile(_EFFICIENCY).search(log.text):
        memory = memory._replace(peak_bytes=size(efficiency["used"], efficiency["used_unit"]))
        if efficiency["limit"]:
            limit = size(efficiency["limit"], efficiency["limit_unit"])
            memory = memory._replace(limit_bytes=limit, limit_source="Slurm")
    return memory
