"""faulthandler's text on Windows: which part of it, if any, is about the exception that ended the process.

faulthandler sees an exception at its first chance and prints a stack for it, also where ctypes then turns it into an
OSError and the program goes on. So its text alone proves no crash, and of several parts only one is of the crash.
"""

from __future__ import annotations

import re

from triage import status

_HEADS = re.compile(rb"^(Windows fatal exception|Fatal Python error): (.*)$", re.MULTILINE)
_CURRENT = re.compile(rb"^Current thread 0x([0-9a-fA-F]+)", re.MULTILINE)
# What abort() ends in: no handler runs for it, but the C runtime raises SIGABRT before.
_ABORTED = (status.FAST_FAIL_STATUS, 0x40000015, 3)


def text_of_crash(text: bytes, code: int, thread: int | None = None) -> bytes:
    """The last part that is about this code, in this thread where that is known; empty where there is none."""
    heads = list(_HEADS.finditer(text))
    for number in reversed(range(len(heads))):
        head = heads[number]
        part = text[head.start() : heads[number + 1].start() if number + 1 < len(heads) else len(text)]
        current = _CURRENT.search(part)
        if thread is not None and current is not None and int(current[1], 16) != thread:
            continue
        if _is_about(head[1], head[2].decode("ascii", "replace").strip(), code):
            return part
    return b""


def _is_about(kind: bytes, words: str, code: int) -> bool:
    if kind == b"Fatal Python error":
        return code in _ABORTED or words == "Segmentation fault"
    name, _, number = words.partition(" ")
    told = status.parse(number) if name == "code" else status.from_words(words)
    return told is not None and told.ntstatus == code
