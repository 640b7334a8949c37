"""Small crashes, clues and packs for tests to look at, built from the same parts that the readers build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from triage import status
from triage.clues import parse_clue
from triage.clues.interface import Clue
from triage.crash import Crash, ExitStatus, Gap, Input, Log, NativeFrame, Place, Process, PythonFrame, Thread
from triage.knowledge.database import Knowledge, assemble
from triage.knowledge.pack import PackData
from triage.knowledge.signature import Signature, parse_signature
from triage.readers.log.program import program_in

PRIVATE_CAUSE = "house.scheduler"
PRIVATE_LINE = "the house scheduler took the node away"


def crash_of(*lines: str, exit: str | None = None, complete: bool = True, **facts: Any) -> Crash:
    """A crash whose log holds these lines (none: no log at all) and that ended with this status."""
    logs = (Log(0, lines),) if lines else ()
    inputs = (Input(0, "log", "train.log", complete),) if lines else ()
    threads = facts.pop("threads", ())
    ended = exit_status(exit) if exit else None
    program = program_in(Log(0, lines), threads, facts.get("exceptions", ()))
    processes = (Process(exit=ended, threads=threads, program=program),) if ended or threads or program else ()
    return Crash(inputs=inputs, logs=logs, processes=processes, **facts)


def exit_status(text: str) -> ExitStatus:
    """The status behind a spelling such as 139 or SIGSEGV."""
    known = status.parse(text)
    assert known is not None, text
    return known


def crashed_thread(*, native: tuple[str, ...] = (), python: tuple[str, ...] = (), crashed: bool = True) -> Thread:
    """A thread, innermost frame first; native frames are function names, Python frames are file:function."""
    frames = tuple(PythonFrame(file, 1, function) for file, _, function in (text.rpartition(":") for text in python))
    natives = tuple(NativeFrame("libtensorflow_cc.so.2", name) for name in native)
    return Thread(crashed=crashed, python_stack=frames, native_stack=natives, place=Place(0, 1))


def clue(data: Mapping[str, Any], *, p: float = 0.8, b: float | None = None) -> Clue:
    """A clue from its YAML form."""
    return parse_clue(data, ("clues", 0), p=p, b=b)


def signature_data(**changes: Any) -> dict[str, Any]:
    """A signature with nothing wrong in it, in its YAML form; a change to None leaves the field out."""
    data: dict[str, Any] = {
        "title": "The scheduler of this house ended the job",
        "cause": "host.out-of-memory",
        "grade": "claimed",
        "clues": [{"id": "took-it", "log": PRIVATE_LINE, "p": 0.9, "b": 0.0005}],
        "fix": [{"do": "Ask for a longer slot.", "risk": "low", "verify": "the job ends by itself"}],
        "sources": [{"issue": "house/wiki#1"}],
        "tests": {
            "match": ["fixtures/logs/taken.log"],
            "differ": [{"log": "fixtures/logs/other.log", "cause": "unknown"}],
        },
    }
    data.update(changes)
    return {key: value for key, value in data.items() if value is not None}


def signature(id: str = "house/scheduler", **changes: Any) -> Signature:
    """A parsed signature."""
    return parse_signature(id, "test", signature_data(**changes))


def knowledge_of(
    signatures: Mapping[str, Mapping[str, Any]], priors: Mapping[str, float] | None = None, **tables: Any
) -> Knowledge:
    """Knowledge of only these signatures, in their YAML form, and their causes."""
    priors = priors or {}
    slugs = {data["cause"] for data in signatures.values()}
    causes = {slug: {"title": f"About {slug}", "prior": priors.get(slug, 0.01)} for slug in sorted(slugs)}
    knowledge = assemble([PackData("test", "nowhere", dict(signatures), {"causes": causes, **tables})])
    assert not knowledge.problems, knowledge.problems
    return knowledge


def write_pack(directory: Path, signatures: Mapping[str, Any] | None = None, **tables: Any) -> Path:
    """A pack on disk; signatures and tables may be data or raw text, and pack.yaml is written unless it is given."""
    tables = {"pack": {"schema": 1, "name": directory.name}, **tables}
    for name, content in {**tables, **(signatures or {})}.items():
        path = directory / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False), "utf-8")
    return directory


def write_log(directory: Path, name: str, *lines: str) -> Path:
    """A log in the fixtures of a pack."""
    path = directory / "fixtures" / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def line_with(file: Path, words: str) -> int:
    """The number of the first line of a file that holds these words."""
    return next(number for number, line in enumerate(file.read_text("utf-8").splitlines(), 1) if words in line)


def sentences(gaps: Iterable[Gap]) -> tuple[str, ...]:
    """The sentences that a person reads about gaps."""
    return tuple(gap.sentence for gap in gaps)
