"""Bytes -> Crash. `read` finds out what an input is and hands it to the reader for that kind."""

from __future__ import annotations

from triage.crash import Crash
from triage.readers.interface import Reader, Unreadable
from triage.readers.sniffing import SNIFF_BYTES, sniff
from triage.readers.source import Source

__all__ = ["Reader", "Source", "Unreadable", "read"]


def read(source: Source, input_id: int) -> Crash:
    """Read one input; raises Unreadable with a sentence for the person."""
    with source.open() as stream:
        try:
            head = stream.read(SNIFF_BYTES)
            return _reader_for(sniff(head), source).read(source.label, input_id, head, stream)
        except OSError as error:
            reason = error.strerror or error
            raise Unreadable(f"{source.label} could not be read ({reason}); copy it and try the copy.") from None


def _reader_for(kind: str, source: Source) -> Reader:
    if kind == "log":
        from triage.readers.text import TextReader

        return TextReader()
    raise Unreadable(f"{source.label}: {_REFUSALS[kind]}")


_ONLY_TEXT = "this version reads logs and pasted text"
_REFUSALS = {
    "minidump": f"this is a Windows minidump, and {_ONLY_TEXT}; give the console output of the same crash.",
    "elf": f"this is a core dump or an ELF program, and {_ONLY_TEXT}; give the console output of the same crash.",
    "compressed": "this file is compressed; unpack it first and analyze what is inside.",
    "document": f"this is a document or an archive, and {_ONLY_TEXT}; save the log itself as plain text.",
    "image": "this is a picture; paste the text of the log instead.",
    "binary": f"this is a binary file that triage does not recognise, and {_ONLY_TEXT}.",
}
