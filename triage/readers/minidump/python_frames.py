"""The Python frames of a thread, read out of the interpreter's own memory in a dump that holds all of it.

From `_PyRuntime`, which the Python DLL exports, to the interpreters, to the thread with the same number, to its frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from triage.crash import PythonFrame
from triage.readers.minidump.exact_names import ExportTable
from triage.readers.minidump.line_tables import line_of
from triage.readers.minidump.pe_image import NotHeld
from triage.readers.minidump.python_layouts import LAYOUTS, Layout
from triage.readers.minidump.scanning import Images
from triage.readers.minidump.shapes import AddressSpace, Module

MAX_PYTHON_FRAMES = 256
_PYTHON_DLL = re.compile(r"python3(\d{1,2})\.dll", re.IGNORECASE)
_MAX_INTERPRETERS, _MAX_THREADS = 64, 4096
_MAX_TEXT, _MAX_TABLE = 4096, 1 << 20
_INTERPRETER_NEXT, _THREAD_NEXT, _THREAD_INTERPRETER = 0, 8, 16
_LENGTH, _STATE, _BYTES_DATA = 16, 32, 32
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_FULL = "a dump with full memory (MiniDumpWithFullMemory, or procdump -ma) holds them"


class PythonStack(NamedTuple):
    """The Python frames of a thread, innermost first, or a sentence that says why there are none."""

    frames: tuple[PythonFrame, ...] = ()
    reason: str | None = None


def python_frames(modules: Iterable[Module], memory: AddressSpace, thread_id: int, images: Images) -> PythonStack:
    """The Python frames of a thread of a 64-bit Windows process."""
    found = next(((module, match) for module in modules if (match := _PYTHON_DLL.fullmatch(module.file))), None)
    if found is None:
        return PythonStack((), "no Python DLL is loaded in this process")
    module, match = found
    version = (3, int(match[1]))
    layout = LAYOUTS.get(version)
    if layout is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in LAYOUTS)
        return PythonStack((), f"those of Python 3.{version[1]} cannot be read, only {known}")
    image = images.image(module)
    runtime = ExportTable(image).addresses.get("_PyRuntime") if image else None
    if runtime is None:
        return PythonStack((), f"this dump does not hold them; {_FULL}")
    try:
        return _Interpreter(memory, layout).stack(module.base + runtime, thread_id)
    except NotHeld:
        return PythonStack((), f"this dump does not hold the interpreter's memory; {_FULL}")


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
            return PythonStack((), "the thread that crashed was not running Python")
        frames: list[PythonFrame] = []
        try:
            for frame in self._frames(thread):
                frames.append(frame)
        except NotHeld:
            if not frames:
                raise
        if not frames:
            return PythonStack((), "the thread that crashed was in no Python function")
        return PythonStack(tuple(frames))

    def _threads(self, runtime: int) -> Iterator[int]:
        interpreters = self._linked(runtime + self._layout.runtime_interpreters, _INTERPRETER_NEXT, _MAX_INTERPRETERS)
        for interpreter in interpreters:
            for thread in self._linked(interpreter + self._layout.interpreter_threads, _THREAD_NEXT, _MAX_THREADS):
                if self._pointer(thread + _THREAD_INTERPRETER) != interpreter:
                    raise NotHeld  # not what this version looks like
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
