"""The Python frames of a thread, read from the memory of CPython in a dump that holds all of it.

`_PyRuntime`, which the Python DLL exports, leads to the interpreters, these to the thread with the same id, and that to
its frames. `LAYOUTS` has the offsets of the pointers; the line comes from the table of the code object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from triage.crash import PythonFrame
from triage.readers.minidump.memory import AddressSpace, NotHeld
from triage.readers.minidump.pe import ExportTable, Images
from triage.readers.minidump.streams import Module

MAX_PYTHON_FRAMES = 256
_PYTHON_DLL = re.compile(r"python3(\d{1,2})\.dll", re.IGNORECASE)
_MAX_INTERPRETERS, _MAX_THREADS = 64, 4096
_MAX_TEXT, _MAX_TABLE = 4096, 1 << 20
_INTERPRETER_NEXT, _THREAD_NEXT, _THREAD_INTERPRETER = 0, 8, 16
_LENGTH, _STATE, _BYTES_DATA = 16, 32, 32
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
# The kinds of entries in the line table of 3.11 and later.
_NO_LINE, _LONG, _NO_COLUMNS = 15, 14, 13
_ONE_LINE = range(10, 13)


LineTable = Literal["lnotab", "linetable", "locations"]


class Layout(NamedTuple):
    """Offsets in bytes, in the 64-bit builds of one version for Windows.

    `lines` is the form of the line table: lnotab, linetable (3.10) or locations (from 3.11). `current` leads from a
    thread to its frame, from 3.11 on by way of the C frame, which keeps it at `current_in`. `position` is the last
    instruction: its address where `code_instructions` says where those begin, else its number. Frames whose owner is
    `no_code_owner` (offset, value) are of C and have no code.
    """

    lines: LineTable
    runtime_interpreters: int
    interpreter_threads: int
    thread_id: int
    current: int
    current_in: int | None
    frame_back: int
    frame_code: int
    position: int
    code_first_line: int
    code_file: int
    code_name: int
    code_lines: int
    code_instructions: int | None
    text: int
    wide_text: int
    no_code_owner: tuple[int, int] | None = None


_FRAME_OBJECTS = Layout(
    lines="lnotab",
    runtime_interpreters=32,
    interpreter_threads=8,
    thread_id=176,
    current=24,
    current_in=None,
    frame_back=24,
    frame_code=32,
    position=104,
    code_first_line=40,
    code_file=104,
    code_name=112,
    code_lines=120,
    code_instructions=None,
    text=48,
    wide_text=72,
)
_FRAME_RECORDS = Layout(
    lines="locations",
    runtime_interpreters=40,
    interpreter_threads=16,
    thread_id=156,
    current=56,
    current_in=8,
    frame_back=48,
    frame_code=32,
    position=56,
    code_first_line=72,
    code_file=112,
    code_name=128,
    code_lines=136,
    code_instructions=184,
    text=48,
    wide_text=72,
)
# Fixed for all releases of a version. 3.8 to 3.10 link frame objects; from 3.11 on frames are plain records.
LAYOUTS = {
    (3, 8): _FRAME_OBJECTS,
    (3, 9): _FRAME_OBJECTS,
    (3, 10): _FRAME_OBJECTS._replace(lines="linetable", position=96),
    (3, 11): _FRAME_RECORDS,
    (3, 12): _FRAME_RECORDS._replace(
        interpreter_threads=72,
        thread_id=140,
        current_in=0,
        frame_back=8,
        frame_code=0,
        code_first_line=68,
        code_instructions=192,
        text=40,
        wide_text=56,
        no_code_owner=(70, 3),
    ),
}


NoFrames = Literal[
    "no-python",
    # the offsets of this version are not known
    "unknown-version",
    "runtime-not-held",
    "memory-not-held",
    "thread-without-python",
    "no-function",
]


class PythonStack(NamedTuple):
    """The Python frames of a thread, innermost first, or why there are none."""

    frames: tuple[PythonFrame, ...] = ()
    reason: NoFrames | None = None
    unknown_version: tuple[int, int] | None = None


def python_frames(modules: Iterable[Module], memory: AddressSpace, thread_id: int, images: Images) -> PythonStack:
    """The Python frames of a thread of a 64-bit Windows process."""
    found = next(((module, match) for module in modules if (match := _PYTHON_DLL.fullmatch(module.file))), None)
    if found is None:
        return PythonStack((), "no-python")
    module, match = found
    version = (3, int(match[1]))
    layout = LAYOUTS.get(version)
    if layout is None:
        return PythonStack((), "unknown-version", version)
    image = images.image(module)
    runtime = ExportTable(image).addresses.get("_PyRuntime") if image else None
    if runtime is None:
        return PythonStack((), "runtime-not-held")
    try:
        return _Interpreter(memory, layout).stack(module.base + runtime, thread_id)
    except NotHeld:
        return PythonStack((), "memory-not-held")


class _Interpreter:
    """The memory of one Python, read with the offsets of its version."""

    def __init__(self, memory: AddressSpace, layout: Layout) -> None:
        self._memory = memory
        self._layout = layout

    def stack(self, runtime: int, thread_id: int) -> PythonStack:
        thread = next(
            (at for at in self._threads(runtime) if self._number(at + self._layout.thread_id) == thread_id), 0
        )
        if not thread:
            return PythonStack((), "thread-without-python")
        frames: list[PythonFrame] = []
        try:
            for frame in self._frames(thread):
                frames.append(frame)
        except NotHeld:
            if not frames:
                raise
        if not frames:
            return PythonStack((), "no-function")
        return PythonStack(tuple(frames))

    def _threads(self, runtime: int) -> Iterator[int]:
        interpreters = self._linked(runtime + self._layout.runtime_interpreters, _INTERPRETER_NEXT, _MAX_INTERPRETERS)
        for interpreter in interpreters:
            for thread in self._linked(interpreter + self._layout.interpreter_threads, _THREAD_NEXT, _MAX_THREADS):
                if self._pointer(thread + _THREAD_INTERPRETER) != interpreter:
                    raise NotHeld  # this version does not look like that
                yield thread

    def _linked(self, head: int, next_at: int, limit: int) -> Iterator[int]:
        at = self._pointer(head)
        while at and limit:
            yield at
            at = self._pointer(at + next_at)
            limit -= 1

    def _frames(self, thread: int) -> Iterator[PythonFrame]:
        layout = self._layout
        frame = self._pointer(thread + layout.current)
        if frame and layout.current_in is not None:
            frame = self._pointer(frame + layout.current_in)
        for _ in range(MAX_PYTHON_FRAMES):
            if not frame:
                return
            owner = layout.no_code_owner
            if owner is None or self._read(frame + owner[0], 1)[0] != owner[1]:
                yield self._frame(frame)
            frame = self._pointer(frame + layout.frame_back)

    def _frame(self, frame: int) -> PythonFrame:
        layout = self._layout
        code = self._pointer(frame + layout.frame_code)
        if layout.code_instructions is not None:
            instruction = (self._pointer(frame + layout.position) - code - layout.code_instructions) // 2
        else:
            instruction = self._number(frame + layout.position)
            instruction = instruction // 2 if layout.lines == "lnotab" else instruction
        table = self._bytes(self._pointer(code + layout.code_lines))
        line = line_of(layout.lines, table, self._number(code + layout.code_first_line), max(0, instruction))
        file, name = (self._text(self._pointer(code + at)) for at in (layout.code_file, layout.code_name))
        return PythonFrame(file, line, name)

    def _text(self, text: int) -> str:
        length = self._pointer(text + _LENGTH)
        state = self._number(text + _STATE)
        kind, compact, ascii_only = (state >> 2) & 7, state & 0x20, state & 0x40
        if not compact or kind not in _ENCODINGS or length > _MAX_TEXT:
            raise NotHeld
        data = text + (self._layout.text if ascii_only else self._layout.wide_text)
        return self._read(data, length * kind).decode(_ENCODINGS[kind], "replace")

    def _bytes(self, at: int) -> bytes:
        length = self._pointer(at + _LENGTH)
        if length > _MAX_TABLE:
            raise NotHeld
        return self._read(at + _BYTES_DATA, length)

    def _pointer(self, at: int) -> int:
        return int.from_bytes(self._read(at, 8), "little")

    def _number(self, at: int) -> int:
        return int.from_bytes(self._read(at, 4), "little")

    def _read(self, at: int, size: int) -> bytes:
        data = self._memory.read(at, size) if size else b""
        if len(data) != size:
            raise NotHeld
        return data


def line_of(form: LineTable, table: bytes, first_line: int, instruction: int) -> int | None:
    """The line of an instruction, counted in units of two bytes; None if the compiler gave it none."""
    if form == "locations":
        return _by_ranges(_locations(table), first_line, instruction)
    if form == "linetable":
        return _by_ranges(_pairs(table), first_line, instruction)
    return _by_steps(table, first_line, instruction)


def _by_ranges(ranges: Iterator[tuple[int, int, bool]], first_line: int, instruction: int) -> int | None:
    """Each of `ranges` is a length, the step to its line, and whether it has a line at all."""
    line, start = first_line, 0
    for length, step, has_line in ranges:
        line += step
        if start <= instruction < start + length:
            return line if has_line else None
        start += length
    return None


def _by_steps(table: bytes, first_line: int, instruction: int) -> int:
    """Up to 3.9: pairs of steps, in bytes of code and in lines."""
    line, at = first_line, 0
    for index in range(0, len(table) - 1, 2):
        at += table[index]
        if at > 2 * instruction:
            break
        line += _signed(table[index + 1])
    return line


def _pairs(table: bytes) -> Iterator[tuple[int, int, bool]]:
    """3.10: pairs of a length in bytes of code and a step in lines, where -128 means that there is no line."""
    for index in range(0, len(table) - 1, 2):
        step = _signed(table[index + 1])
        yield table[index] // 2, 0 if step == -128 else step, step != -128


def _locations(table: bytes) -> Iterator[tuple[int, int, bool]]:
    """From 3.11 on: entries that begin with a byte whose top bit is set: four bits of kind, three of length."""
    at = 0
    while at < len(table):
        first = table[at]
        kind, length = (first >> 3) & 15, (first & 7) + 1
        step = 0
        if kind in (_LONG, _NO_COLUMNS):
            step = _varint(table, at + 1)
            step = -(step >> 1) if step & 1 else step >> 1
        elif kind in _ONE_LINE:
            step = kind - _ONE_LINE.start
        yield length, step, kind != _NO_LINE
        at += 1
        while at < len(table) and not table[at] & 0x80:
            at += 1


def _varint(table: bytes, at: int) -> int:
    """A number in pieces of six bits, the lowest first; the seventh bit means that another piece follows."""
    value = shift = 0
    for byte in table[at : at + 6]:
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte
