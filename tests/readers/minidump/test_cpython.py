"""Python frames from memory in the layout of each version, and the tables that give their lines."""

import sys
from pathlib import Path

import pytest
from pe_builder import BASE, CODE, SIZE, TIMESTAMP, FakeImages, FakeMemory, as_loaded, make_pe

from triage.crash import PythonFrame
from triage.readers.minidump import walk
from triage.readers.minidump.cpython import LAYOUTS, MAX_PYTHON_FRAMES, Layout, PythonStack, line_of, python_frames
from triage.readers.minidump.integrity import why_no_frames
from triage.readers.minidump.pe import memory_image
from triage.readers.minidump.streams import Module

HEAP = 0x10_0000
RUNTIME, INTERPRETER, THREADS, C_FRAME = HEAP, HEAP + 0x1000, HEAP + 0x2000, HEAP + 0x4000
FRAMES, OBJECTS = HEAP + 0x5000, HEAP + 0x40000
CRASHED, OTHER = 404, 400
# Four instructions on the first line, four on the one after it.
TABLES = {
    "locations": bytes([0x80 | 13 << 3 | 3, 0, 0x80 | 13 << 3 | 3, 2]),
    "linetable": bytes([8, 0, 8, 1]),
    "lnotab": bytes([8, 1]),
}


class Process:
    """The memory of a Python with two threads, of which one has frames."""

    def __init__(self, layout: Layout, depth: int = 1, file: str = "train.py") -> None:
        self.bytes = bytearray(0x100000)
        self._free = OBJECTS
        pointer = self.pointer
        # The runtime lies in the library, which has it at the start of its code section.
        pointer(RUNTIME + layout.runtime_interpreters, INTERPRETER)
        pointer(INTERPRETER + layout.interpreter_threads, THREADS)
        for number, identity in enumerate((OTHER, CRASHED)):
            thread = THREADS + number * 0x1000
            pointer(thread + 8, 0 if number else thread + 0x1000)
            pointer(thread + 16, INTERPRETER)
            self.bytes[thread + layout.thread_id - HEAP] = identity & 0xFF
            self.bytes[thread + layout.thread_id - HEAP + 1] = identity >> 8
        if layout.current_in is None:
            pointer(THREADS + 0x1000 + layout.current, FRAMES)
        else:
            pointer(THREADS + 0x1000 + layout.current, C_FRAME)
            pointer(C_FRAME + layout.current_in, FRAMES)
        code = self.code(layout, file)
        for number in range(depth):
            frame = FRAMES + number * 0x80
            pointer(frame + layout.frame_code, code)
            pointer(frame + layout.frame_back, frame + 0x80 if number + 1 < depth else 0)
            if layout.code_instructions is not None:
                pointer(frame + layout.position, code + layout.code_instructions + 2 * 5)
            else:
                pointer(frame + layout.position, 5 if layout.lines == "linetable" else 10)

    def code(self, layout: Layout, file: str) -> int:
        code = self._take(0x200)
        self.pointer(code + layout.code_first_line, 10)
        self.pointer(code + layout.code_file, self.text(layout, file))
        self.pointer(code + layout.code_name, self.text(layout, "step"))
        table = TABLES[layout.lines]
        lines = self._take(0x80)
        self.pointer(lines + 16, len(table))
        self.bytes[lines + 32 - HEAP : lines + 32 + len(table) - HEAP] = table
        self.pointer(code + layout.code_lines, lines)
        return code

    def text(self, layout: Layout, text: str) -> int:
        at = self._take(0x100)
        self.pointer(at + 16, len(text))
        data = text.encode("latin-1" if text.isascii() else "utf-16-le")
        kind, start = (1, layout.text) if text.isascii() else (2, layout.wide_text)
        self.bytes[at + 32 - HEAP] = kind << 2 | 0x20 | (0x40 if text.isascii() else 0)
        self.bytes[at + start - HEAP : at + start + len(data) - HEAP] = data
        return at

    def pointer(self, at: int, value: int) -> None:
        self.bytes[at - HEAP : at - HEAP + 8] = value.to_bytes(8, "little")

    def _take(self, size: int) -> int:
        self._free += size
        return self._free - size


def frames_of(process: Process, version: tuple[int, int] = (3, 11), thread: int = CRASHED):
    module = Module(HEAP - CODE, SIZE, f"C:\\Python\\python{version[0]}{version[1]}.dll", TIMESTAMP)
    image = memory_image(FakeMemory({BASE: as_loaded(make_pe(exports={"_PyRuntime": CODE}))}), BASE)
    return python_frames([module], FakeMemory({HEAP: bytes(process.bytes)}), thread, FakeImages(image))


@pytest.mark.parametrize("version", LAYOUTS, ids=lambda version: ".".join(map(str, version)))
def test_each_version_gives_file_line_and_function(version):
    stack = frames_of(Process(LAYOUTS[version], depth=2), version)
    assert stack == PythonStack((PythonFrame("train.py", 11, "step"),) * 2)


def test_a_path_with_other_letters_is_read():
    stack = frames_of(Process(LAYOUTS[3, 11], file="C:\\Pörtfölio\\模型.py"))
    assert stack.frames[0].file == "C:\\Pörtfölio\\模型.py"


def test_endless_recursion_has_an_end():
    assert len(frames_of(Process(LAYOUTS[3, 11], depth=1500)).frames) == MAX_PYTHON_FRAMES


def test_a_circle_of_threads_has_an_end():
    process = Process(LAYOUTS[3, 11])
    process.pointer(THREADS + 0x1008, THREADS)
    assert frames_of(process, thread=77).frames == ()


def test_a_thread_without_python_says_so():
    stack = frames_of(Process(LAYOUTS[3, 11]), thread=77)
    assert stack.reason == "thread-without-python"
    assert "was not running Python" in why_no_frames(stack)


def test_a_thread_that_has_left_python_says_so():
    process = Process(LAYOUTS[3, 11])
    process.pointer(C_FRAME + LAYOUTS[3, 11].current_in, 0)
    assert frames_of(process).reason == "no-function"
    assert "was in no Python function" in why_no_frames(frames_of(process))


def test_a_small_dump_says_which_one_would_do():
    module = Module(BASE, SIZE, "python311.dll", TIMESTAMP)
    stack = python_frames([module], FakeMemory({}), 1, FakeImages(None))
    assert stack.reason == "runtime-not-held"
    assert "full memory" in why_no_frames(stack)
    image = memory_image(FakeMemory({BASE: as_loaded(make_pe(exports={"_PyRuntime": CODE}))}), BASE)
    stack = python_frames([module], FakeMemory({}), 1, FakeImages(image))
    assert stack.reason == "memory-not-held"
    assert "full memory" in why_no_frames(stack)


def test_an_unknown_python_and_no_python_are_named():
    stack = python_frames([Module(BASE, SIZE, "python37.dll")], FakeMemory({}), 1, FakeImages(None))
    assert stack.reason == "unknown-version"
    assert "Python 3.7" in why_no_frames(stack)
    assert "no Python DLL" in why_no_frames(python_frames([], FakeMemory({}), 1, FakeImages(None)))


def sample(values):
    """A function with loops, a handler, a comprehension and long gaps, for its table of lines."""
    total = 0
    for value in values:
        try:
            total += value / (value - 1)
        except ZeroDivisionError:
            total = [entry for entry in range(value) if entry > 1 and (entry % 2 or entry > 5)]
        finally:
            print(total, file=None)
    return total


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the table of this Python has an older form")
def test_lines_are_those_that_this_python_gives_itself():
    """Every instruction of our own functions, against co_lines."""
    codes = [sample.__code__, compile(Path(walk.__file__).read_text("utf-8"), "walk.py", "exec")]
    checked = 0
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if hasattr(constant, "co_code")]
        for start, end, line in code.co_lines():
            for instruction in range(start // 2, end // 2):
                assert line_of("locations", code.co_linetable, code.co_firstlineno, instruction) == line
                checked += 1
    assert checked > 500


@pytest.mark.parametrize(("instruction", "line"), [(0, 10), (3, 10), (4, 12), (7, 12), (8, None), (10, 11)])
def test_lines_of_3_10(instruction, line):
    assert line_of("linetable", bytes([8, 0, 8, 2, 4, 0x80, 8, 0xFF]), 10, instruction) == line


@pytest.mark.parametrize(("instruction", "line"), [(0, 10), (3, 10), (4, 12), (6, 11), (100, 11)])
def test_lines_up_to_3_9(instruction, line):
    assert line_of("lnotab", bytes([8, 2, 4, 0xFF]), 10, instruction) == line
