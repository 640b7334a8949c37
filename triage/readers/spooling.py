"""Bytes that come from a pipe, or out of a compressed file, as a file that can be mapped or opened by a debugger."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from triage.readers.interface import Stream, Unreadable

_PIECE = 256 * 1024
_ZEROS = bytes(_PIECE)
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def as_file(path: str | None, name: str, head: bytes, rest: Stream) -> Iterator[str]:
    """The path of a file with these bytes: the one they are in, else a private one that is removed afterwards."""
    if path is not None:
        yield path
        return
    try:
        directory = tempfile.mkdtemp(prefix="triage-")
    except OSError as error:
        raise Unreadable(f"{name} needs room to unpack, and there is none ({error}); set TMPDIR.") from None
    try:
        spooled = os.path.join(directory, "dump")
        try:
            with open(spooled, "xb") as file:
                _write(file, head, rest)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            free = shutil.disk_usage(directory).free // (1024 * 1024)
            raise Unreadable(
                f"{name} is too large to unpack into {tempfile.gettempdir()} ({free:,} MiB are free there); set TMPDIR "
                "to a directory with more room."
            ) from None
        yield spooled
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _write(file: BinaryIO, head: bytes, rest: Stream) -> None:
    """Write everything; a dump is mostly zeros, and those need no room on the disk."""
    piece = head
    while piece:
        if piece == _ZEROS[: len(piece)]:
            file.seek(len(piece), os.SEEK_CUR)
        else:
            file.write(piece)
        piece = rest.read(_PIECE)
    file.truncate(file.tell())
