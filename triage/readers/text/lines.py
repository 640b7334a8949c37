"""Bytes -> normalised lines that keep their original numbers, within a fixed amount of memory."""

from __future__ import annotations

import codecs
import re
from array import array
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from triage.readers.interface import Stream
from triage.readers.sniffing import utf16_without_mark

# A training log of a week is a few MB; past these sizes the middle is left out and the report says so.
KEEP_HEAD = 16 * 1024 * 1024
KEEP_TAIL = 48 * 1024 * 1024
# Nothing that tells a cause is longer than this; a longer line keeps its beginning and its end.
LONGEST_LINE = 64 * 1024
_CUT = " [... cut by triage ...] "
# What a line costs us beside its characters: millions of empty lines must not fill the memory either.
_LINE_COST = 64
_CHUNK = 1024 * 1024
# A stray byte or two is damage and not an encoding.
_FEW_BROKEN = 4
_SELDOM = 200
# What consoles and editors of the last thirty years wrote where UTF-8 was not yet usual.
_LEGACY = [
    "utf-8",
    "cp1252",
    "cp1250",
    "cp1251",
    "cp866",
    "cp437",
    "gb18030",
    "gbk",
    "big5",
    "shift_jis",
    "euc_kr",
    "koi8_r",
]

# The standard library's engine, because it is faster on many short lines and nothing here can backtrack.
_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # everything shorter, character sets among them
)
# C0 and C1 controls but for the tab; bidirectional overrides too, which reorder what a person reads.
_CONTROLS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
)


class Content(NamedTuple):
    """The kept lines, their original numbers, and how much was left out of the middle, in words."""

    lines: list[str]
    numbers: array[int]
    left_out: str


def read_lines(head: bytes, rest: Stream) -> Content:
    """Read a stream to its end, keeping its first and last parts."""
    lines: list[str] = []
    numbers: array[int] = array("Q")
    tail: deque[tuple[int, str]] = deque()
    head_size = tail_size = dropped = dropped_lines = 0
    for number, raw in enumerate(_raw_lines(head, rest), 1):
        for text in _normalise(raw):
            if head_size < KEEP_HEAD:
                lines.append(text)
                numbers.append(number)
                head_size += len(text) + _LINE_COST
                continue
            tail.append((number, text))
            tail_size += len(text) + _LINE_COST
            while tail_size > KEEP_TAIL and len(tail) > 1:
                size = len(tail.popleft()[1]) + _LINE_COST
                tail_size -= size
                dropped += size
                dropped_lines += 1
    lines += [text for _, text in tail]
    numbers.extend(number for number, _ in tail)
    left_out = f"{dropped_lines} lines ({dropped // (1024 * 1024)} MiB)" if dropped else ""
    return Content(lines, numbers, left_out)


def normalise_line(raw: str) -> str:
    """One line without escape sequences and control characters."""
    if raw.isprintable():
        return raw.rstrip()
    if "\x1b" in raw:
        raw = re.sub(_ESCAPES, "", raw)
    return raw.translate(_CONTROLS).rstrip()


def _normalise(raw: str) -> Iterator[str]:
    """A line as it is seen: each state of a progress bar (lone carriage returns) is a line of its own."""
    raw = raw.rstrip("\r")
    if "\r" not in raw:
        yield normalise_line(raw)
        return
    for state in raw.split("\r"):
        if state:
            yield normalise_line(state)


def _raw_lines(head: bytes, rest: Stream) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(_encoding(head))(errors="replace")
    open_line = _OpenLine()
    chunk = head
    while chunk:
        *whole, last = decoder.decode(chunk).split("\n")
        for text in whole:
            open_line.add(text)
            yield open_line.take()
        open_line.add(last)
        chunk = rest.read(_CHUNK)
    open_line.add(decoder.decode(b"", final=True))
    if not open_line.is_empty:
        yield open_line.take()


def _encoding(head: bytes) -> str:
    """The codec of a text: marks first, then UTF-8, and a guess only where much of it is not UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if codec := utf16_without_mark(head):
        return codec
    broken = head.decode("utf-8", "replace").count("\ufffd")
    if broken < _FEW_BROKEN or broken * _SELDOM < len(head):
        return "utf-8-sig"
    from charset_normalizer import from_bytes

    guess = from_bytes(head, cp_isolation=_LEGACY).best()
    return guess.encoding if guess is not None else "utf-8-sig"


class _OpenLine:
    """A line that may go on for gigabytes: only its beginning and its end are held."""

    def __init__(self) -> None:
        self._start = self._end = ""
        self._cut = False

    @property
    def is_empty(self) -> bool:
        return not (self._start or self._end)

    def add(self, text: str) -> None:
        half = LONGEST_LINE // 2
        room = half - len(self._start)
        if room > 0:
            self._start += text[:room]
            text = text[room:]
        if text:
            self._cut = self._cut or len(self._end) + len(text) > half
            self._end = (self._end + text[-half:])[-half:]

    def take(self) -> str:
        line = self._start + (_CUT if self._cut else "") + self._end
        self._start = self._end = ""
        self._cut = False
        return line
