"""Frames beside a dump: `triage run` walks the stack where the DLLs are, and stores it for reading elsewhere.

`train.dmp` has its frames in `train.frames.json`. They count only for the very dump that they are from.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from triage.crash import NativeFrame, Thread, Trust

SCHEMA = "triage.frames/1"
_LARGEST = 4 * 1024 * 1024
_MOST_FRAMES = 1024
_MARKED = 64 * 1024
_TRUSTED: dict[str, Trust] = {
    "context": "context",
    "cfi": "cfi",
    "leaf": "leaf",
    "frame_pointer": "frame_pointer",
    "omitted": "omitted",
}


def frames_beside(dump: Path) -> Path:
    """Where the frames of a dump are stored."""
    return dump.with_name(dump.stem + ".frames.json")


def store(dump: Path, threads: Iterable[Thread]) -> None:
    """Store the native stacks of a dump's threads beside it; raises OSError."""
    stacks = [
        {"id": thread.id, "frames": [frame._asdict() for frame in thread.native_stack]}
        for thread in threads
        if thread.id is not None and thread.native_stack
    ]
    if not stacks:
        return
    target = frames_beside(dump)
    part = target.with_name(target.name + ".part")
    part.write_text(json.dumps({"schema": SCHEMA, "of": _mark(dump), "threads": stacks}, indent=1), "utf-8")
    os.replace(part, target)


def stored(dump: Path) -> dict[int, tuple[NativeFrame, ...]]:
    """The stored native stacks by thread; none if there is no such file, or it is for another dump."""
    path = frames_beside(dump)
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        content = json.loads(path.read_bytes())
        if content["schema"] != SCHEMA or content["of"] != _mark(dump):
            return {}
        return {int(thread["id"]): _frames(thread["frames"]) for thread in content["threads"]}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _frames(listed: list[Mapping[str, object]]) -> tuple[NativeFrame, ...]:
    found = []
    for frame in listed[:_MOST_FRAMES]:
        module, function, offset = frame.get("module"), frame.get("function"), frame.get("offset")
        trust, is_own = _TRUSTED.get(str(frame.get("trust"))), frame.get("own") is True
        if trust is None:
            break
        found.append(
            NativeFrame(
                module if isinstance(module, str) else None,
                function if isinstance(function, str) else None,
                offset if isinstance(offset, int) else None,
                trust,
                own=is_own,
            )
        )
    return tuple(found)


def _mark(dump: Path) -> str:
    """What distinguishes this dump from another of the same name: its size and its head, which has the time."""
    with open(dump, "rb") as file:
        return f"{dump.stat().st_size}-{zlib.crc32(file.read(_MARKED)):08x}"
