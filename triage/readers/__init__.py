"""Bytes -> Crash. `read` finds out what an input is and gives it to the reader for that format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.crash import Crash, Gap
from triage.readers.interface import Reader, Unreadable
from triage.readers.magic import SNIFF_BYTES, Format, sniff
from triage.readers.source import Source

__all__ = ["Reader", "Source", "Unreadable", "of_one_process", "read"]


class _Hints(NamedTuple):
    """What the person gives besides the files: the program that left a core, and where its DLLs are."""

    executable: str | None = None
    pe_directories: tuple[str, ...] = ()


def read(source: Source, input_id: int, executable: str | None = None, pe_directories: Sequence[str] = ()) -> Crash:
    """Read one input; raises Unreadable with a sentence for the person.

    `executable` made the core, if it is one; `pe_directories` hold the files of a program that left a minidump.
    """
    with source.open() as stream:
        try:
            head = stream.read(SNIFF_BYTES)
            reader = _reader_for(sniff(head), source.label, source.path, _Hints(executable, tuple(pe_directories)))
            return reader.read(source.label, input_id, head, stream)
        except OSError as error:
            reason = error.strerror or error
            raise Unreadable(f"{source.label} could not be read ({reason}); copy it and try the copy.") from None


def of_one_process(parts: list[Crash]) -> list[Crash]:
    """What was read, without the cores and dumps of other processes than the first one; a gap names each of those."""
    kept: list[Crash] = []
    first: int | None = None
    for part in parts:
        kind = next((_DUMPS[source.kind] for source in part.inputs if source.kind in _DUMPS), None)
        pid = part.processes[part.primary].pid if kind and part.processes else None
        if first is not None and pid not in (None, first):
            name = part.inputs[0].name
            note = f"{name} is the {kind} of another process ({pid}, not {first}); analyze it by itself"
            gap = Gap("input", "another-process", "analyze-by-itself", name, note)
            part = Crash(inputs=part.inputs, gaps=(gap,))
        first = pid if first is None else first
        kept.append(part)
    return kept


_DUMPS = {"core": "core", "minidump": "dump"}


def _reader_for(format: Format, label: str, path: str | None, hints: _Hints) -> Reader:
    """The reader for a format; each is imported only when it is needed."""
    if format == "log":
        from triage.readers.log import LogReader

        return LogReader()
    if format == "core":
        from triage.readers.core import CoreReader

        return CoreReader(path, hints.executable)
    if format == "minidump":
        from triage.readers.minidump.reader import MinidumpReader

        return MinidumpReader(path, hints.pe_directories)
    if format == "gzip" or format == "xz" or format == "zstd":
        from triage.readers.compressed import CompressedReader

        return CompressedReader(format, lambda inner: _reader_for(inner, label, None, hints))
    raise Unreadable(f"{label}: {_REFUSALS[format]}")


_ONLY = "this version reads logs, pasted text, minidumps and Linux cores"
_REFUSALS: dict[Format, str] = {
    "kernel-dump": "this is a dump of the Windows kernel, of a blue screen and not of a program; a driver is to blame "
    "then, mostly the graphics driver.",
    "program": "this is a program or a library, not a core dump; give the core that it left, or its console output.",
    "mac-core": f"this is a core of macOS, and {_ONLY}; give the crash report in ~/Library/Logs/DiagnosticReports.",
    "compressed": "this file is compressed in a way that triage does not unpack; unpack it first.",
    "document": f"this is a document or an archive, and {_ONLY}; save the log itself as plain text.",
    "image": "this is a picture; paste the text of the log instead.",
    "binary": f"this is a binary file that triage does not recognise, and {_ONLY}.",
}
