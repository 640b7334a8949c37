"""Bytes -> Crash. `read` finds out what an input is and hands it to the reader for that kind."""

from __future__ import annotations

from triage.crash import Crash
from triage.readers.interface import Reader, Unreadable
from triage.readers.sniffing import PACKED, SNIFF_BYTES, sniff
from triage.readers.source import Source

__all__ = ["Reader", "Source", "Unreadable", "of_one_process", "read"]


def read(source: Source, input_id: int, executable: str | None = None) -> Crash:
    """Read one input; raises Unreadable with a sentence for the person. `executable` made the core, if it is one."""
    with source.open() as stream:
        try:
            head = stream.read(SNIFF_BYTES)
            reader = _reader_for(sniff(head), source.label, source.path, executable)
            return reader.read(source.label, input_id, head, stream)
        except OSError as error:
            reason = error.strerror or error
            raise Unreadable(f"{source.label} could not be read ({reason}); copy it and try the copy.") from None


def of_one_process(parts: list[Crash]) -> list[Crash]:
    """What was read, with every core of another process than the first one's left out and named in `unread`."""
    kept: list[Crash] = []
    first: int | None = None
    for part in parts:
        is_core = any(source.kind == "core" for source in part.inputs)
        pid = part.processes[part.primary].pid if is_core and part.processes else None
        if first is not None and pid not in (None, first):
            name = part.inputs[0].name
            note = f"{name} is the core of another process ({pid}, not {first}); analyze it by itself"
            part = Crash(inputs=part.inputs, unread=(note,))
        first = pid if first is None else first
        kept.append(part)
    return kept


def _reader_for(kind: str, label: str, path: str | None, executable: str | None) -> Reader:
    """The reader for a kind of bytes; each is imported only when it is needed."""
    if kind == "log":
        from triage.readers.text import TextReader

        return TextReader()
    if kind == "core":
        from triage.readers.core import CoreReader

        return CoreReader(path, executable)
    if kind in PACKED:
        from triage.readers.unpacking import PackedReader

        return PackedReader(kind, lambda inner: _reader_for(inner, label, None, executable))
    raise Unreadable(f"{label}: {_REFUSALS[kind]}")


_ONLY = "this version reads logs, pasted text and Linux cores"
_REFUSALS = {
    "minidump": f"this is a Windows minidump, and {_ONLY}; give the console output of the same crash.",
    "program": "this is a program or a library, not a core dump; give the core that it left, or its console output.",
    "mac-core": f"this is a core of macOS, and {_ONLY}; give the crash report in ~/Library/Logs/DiagnosticReports.",
    "compressed": "this file is compressed in a way that triage does not unpack; unpack it first.",
    "document": f"this is a document or an archive, and {_ONLY}; save the log itself as plain text.",
    "image": "this is a picture; paste the text of the log instead.",
    "binary": f"this is a binary file that triage does not recognise, and {_ONLY}.",
}
