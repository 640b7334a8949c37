"""Bytes -> clean lines that keep their original numbers, within a fixed amount of memory."""

from __future__ import annotations

import codecs
import re
from array import array
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from triage.crash import LeftOut
from triage.readers.interface import Stream
from triage.readers.magic import utf16_without_mark

# A week of training logs a few MB. Of a larger file the middle is left out.
KEEP_HEAD = 16 * 1024 * 1024
KEEP_TAIL = 48 * 1024 * 1024
# Nothing that names a cause is longer than this; a longer line keeps its beginning and its end.
LONGEST_LINE = 64 * 1024
_CUT = " [... cut by triage ...] "
# The line that `triage run` writes where it left out a part of an output: how many bytes, and line ends among them.
_GAP_START = "[triage: "
_GAP = r"\[triage: (\d{1,15}) bytes with (\d{1,15}) line ends left out here\]"
# What a line costs besides its characters: millions of empty lines must not fill the memory either.
_LINE_COST = 64
_CHUNK = 1024 * 1024
# A stray byte or two is damage, not another encoding.
_FEW_BROKEN = 4
_SELDOM = 200
# What consoles and editors wrote before UTF-8 was usual.
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

# For the standard library's engine, which is faster on many short lines; nothing here can backtrack.
_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # everything shorter, character sets among them
)
# C0 and C1 controls except the tab, and bidirectional overrides, which reorder what a person reads.
_CONTROLS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
)


class Content(NamedTuple):
    """The kept lines, their original numbers, what was left out, and how many lines lost their middle."""

    lines: list[str]
    numbers: array[int]
    left_out: LeftOut | None
    cut_lines: int = 0


class _Raw(NamedTuple):
    """A line as it was read, or one state of a progress bar; `size` counts its bytes in the file, line end included."""

    number: int
    text: str
    size: int
    is_cut: bool


def read_lines(head: bytes, rest: Stream) -> Content:
    """Read a stream to its end, keeping its first and last parts."""
    counted = _Counted(rest, len(head))
    codec = _encoding(head)
    missing = _Missing()
    lines: list[str] = []
    numbers: array[int] = array("Q")
    tail: deque[tuple[int, str, int]] = deque()
    head_size = tail_size = skipped = cut_lines = 0
    for raw in _raw_lines(head, counted, codec):
        number, text = raw.number + skipped, clean_line(raw.text)
        cut_lines += raw.is_cut
        if not skipped and text.startswith(_GAP_START) and (gap := re.fullmatch(_GAP, text)):
            # The gap begins in the line above its mark and ends in the line below.
            size, line_ends = int(gap[1]), int(gap[2])
            missing.gap(size, number - 1, line_ends, mark=len(text) + 2)
            skipped = line_ends - 2
            continue
        if head_size < KEEP_HEAD:
            lines.append(text)
            numbers.append(number)
            head_size += len(text) + _LINE_COST
            continue
        tail.append((number, text, raw.size))
        tail_size += len(text) + _LINE_COST
        while tail_size > KEEP_TAIL and len(tail) > 1:
            gone, dropped, size = tail.popleft()
            tail_size -= len(dropped) + _LINE_COST
            missing.lines(size, gone)
    lines += [text for _, text, _ in tail]
    numbers.extend(number for number, _, _ in tail)
    return Content(lines, numbers, missing.of(counted.taken), cut_lines)


class _Missing:
    """Adds up what is left out, which is always one stretch of the log."""

    def __init__(self) -> None:
        self._bytes = self._not_in_here = 0
        self._first: int | None = None
        self._last: int | None = None

    def lines(self, size: int, number: int) -> None:
        """Count a line, or one state of it."""
        self._bytes += size
        self._first = number if self._first is None else min(self._first, number)
        self._last = number if self._last is None else max(self._last, number)

    def gap(self, size: int, number: int, line_ends: int, mark: int) -> None:
        """Count what `triage run` left out from the line with this number on; `mark` is the size of its note."""
        self.lines(size, number)
        self.lines(0, number + line_ends)
        self._not_in_here += size - mark

    def of(self, read: int) -> LeftOut | None:
        """What is missing, given how many bytes were read; None where nothing is."""
        if not self._bytes:
            return None
        return LeftOut(self._bytes, read + self._not_in_here, self._first, self._last)


class _Counted:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: Stream, taken: int) -> None:
        self._stream = stream
        self.taken = taken

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self.taken += len(data)
        return data


def _encoded(text: str, codec: str) -> int:
    """The length of a text in a file, without a byte order mark."""
    if text.isascii():
        return len(text) * (2 if codec.startswith("utf-16") else 1)
    return len(text.encode({"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(codec, codec), "replace"))


def clean_line(raw: str) -> str:
    """A line without escape sequences and control characters."""
    if raw.isprintable():
        return raw.rstrip()
    if "\x1b" in raw:
        raw = re.sub(_ESCAPES, "", raw)
    return raw.translate(_CONTROLS).rstrip()


def _raw_lines(head: bytes, rest: Stream, codec: str) -> Iterator[_Raw]:
    """Every line with its number; each state of a progress bar (lone carriage returns) is a line of its own."""
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    open_line = _OpenLine(codec)
    chunk = head
    while chunk:
        *whole, last = decoder.decode(chunk).split("\n")
        for text in whole:
            yield from open_line.states(text.rstrip("\r"))
            yield from open_line.end()
        yield from open_line.states(last)
        chunk = rest.read(_CHUNK)
    yield from open_line.states(decoder.decode(b"", final=True))
    if not open_line.is_empty:
        yield from open_line.end()


def _encoding(head: bytes) -> str:
    """The codec of a text: byte order marks first, then UTF-8, and a guess only where much of it is not UTF-8."""
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
    """A line that may go on for gigabytes: only the beginning and the end of each state are kept."""

    def __init__(self, codec: str) -> None:
        self._codec = codec
        self._number = 1
        self._start = self._end = ""
        self._cut_bytes = 0
        self._has_state = False

    @property
    def is_empty(self) -> bool:
        return not (self._start or self._end)

    def states(self, text: str) -> Iterator[_Raw]:
        """Add a piece; each carriage return ends a state."""
        if "\r" in text:
            *over, text = text.split("\r")
            for state in over:
                self._add(state)
                if not self.is_empty:
                    yield self._take()
        self._add(text)

    def end(self) -> Iterator[_Raw]:
        """End the line; an empty line has one state too."""
        if not self.is_empty or not self._has_state:
            yield self._take()
        self._number += 1
        self._has_state = False

    def _add(self, text: str) -> None:
        half = LONGEST_LINE // 2
        room = half - len(self._start)
        if room > 0:
            self._start += text[:room]
            text = text[room:]
        if text:
            held = self._end + text
            if len(held) > half:
                self._cut_bytes += _encoded(held[:-half], self._codec)
            self._end = held[-half:]

    def _take(self) -> _Raw:
        held = self._start + self._end
        size = _encoded(held, self._codec) + self._cut_bytes + _encoded("\n", self._codec)
        text = f"{self._start}{_CUT}{self._end}" if self._cut_bytes else held
        raw = _Raw(self._number, text, size, bool(self._cut_bytes))
        self._start = self._end = ""
        self._cut_bytes = 0
        self._has_state = True
        return raw
