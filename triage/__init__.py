"""Post-mortem crash triage for Python and TensorFlow programs.

The library does what the command line does: `analyze()` turns what a crash left behind into a Report, `explain()`
says what a code, signal, exception, cause or signature means. Imports are made where they are used, because the
command must answer in a blink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from triage.knowledge.loading import Knowledge
    from triage.report import Page, Report

__version__ = "0.1.0"
__all__ = ["__version__", "analyze", "explain", "load_knowledge"]


def load_knowledge(signatures: Sequence[str | PathLike[str]] = ()) -> Knowledge:
    """Our signatures with private packs (and those in TRIAGE_SIGNATURES) laid over them."""
    from triage.knowledge.loading import load
    from triage.knowledge.pack import private_directories

    return load(private_directories(tuple(str(directory) for directory in signatures)))


def analyze(
    *inputs: str | PathLike[str] | bytes | BinaryIO,
    exit_code: int | str | None = None,
    signatures: Sequence[str | PathLike[str]] = (),
    top: int = 5,
    redact: bool = True,
    knowledge: Knowledge | None = None,
) -> Report:
    """Diagnose ONE incident from all its inputs: paths, '-' for standard input, bytes or open binary files.

    An input that cannot be read is named in `report.crash.inputs` (kind `unreadable`) and in `not_observable`; the
    others are still analysed. Raises ValueError for an exit code that is none.
    """
    from triage.crash import Crash, Input, merge, with_exit
    from triage.diagnosis import diagnose
    from triage.readers import Source, Unreadable, read
    from triage.redaction import redact as redacted
    from triage.status import parse

    parts = []
    for number, given in enumerate(inputs):
        source = Source.of(given)
        try:
            parts.append(read(source, number))
        except Unreadable as error:
            entry = Input(number, "unreadable", source.name, complete=False)
            parts.append(Crash(inputs=(entry,), unread=(str(error),)))
    crash = merge(parts) if parts else Crash()
    if exit_code is not None:
        status = parse(str(exit_code))
        if status is None:
            raise ValueError(f"{exit_code!r} is not an exit code, a signal or an NTSTATUS")
        crash = with_exit(crash, status)
        if status.ntstatus is not None:
            crash = replace(crash, environment=replace(crash.environment, os="windows"))
    report = diagnose(crash, knowledge or load_knowledge(signatures), version=__version__, top=top)
    return redacted(report) if redact else report


def explain(
    topic: int | str, signatures: Sequence[str | PathLike[str]] = (), knowledge: Knowledge | None = None
) -> Page:
    """What an exit code, signal, exception, cause or signature means; raises UnknownTopic with near names."""
    from triage.diagnosis.explain import explain as page_for

    return page_for(str(topic), knowledge or load_knowledge(signatures))
