"""Where CPython keeps what leads to its frames, version by version: offsets in 64-bit Windows builds, as data.

They are fixed for all releases of a version. 3.8 to 3.10 link frame objects; from 3.11 on frames are plain records.
"""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """Offsets in bytes. `lines` names the form of the line table: lnotab, linetable (3.10) or locations (3.11 on).

    `current` leads from a thread to its frame, from 3.11 on by way of the C frame, where `current_in` goes on.
    `position` is the last instruction: its address where `code_instructions` says where those begin, else its number.
    """

    lines: str
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
