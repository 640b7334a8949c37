"""Where bytes come from: a file, standard input, or bytes that a program already has."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from triage.readers.interface import Stream, Unreadable
from triage.readers.pasting import paste_from


class Source(NamedTuple):
    """One input by name; `stream` gives its bytes when they are not in a file of that name."""

    name: str
    stream: BinaryIO | None = None

    @classmethod
    def of(cls, given: str | os.PathLike[str] | bytes | BinaryIO) -> Source:
        """A source from whatever a program hands in."""
        if isinstance(given, bytes):
            return cls("<bytes>", io.BytesIO(given))
        if isinstance(given, (str, os.PathLike)):
            return cls(os.fspath(given))
        return cls(str(getattr(given, "name", "<stream>")), given)

    @property
    def label(self) -> str:
        """The name for people: a file name may hold bytes that are no text, and characters that move a cursor."""
        clean = self.name.encode("utf-8", "replace").decode("utf-8")
        return "".join(character if character.isprintable() else "\ufffd" for character in clean)

    @property
    def path(self) -> str | None:
        """The path of the file that holds the bytes, or None where they can be read but once."""
        return self.name if self.stream is None and self.name != "-" and os.path.isfile(self.name) else None

    @contextmanager
    def open(self) -> Iterator[Stream]:
        """The bytes as a stream; FIFOs and process substitutions are read like standard input."""
        if self.stream is not None:
            yield self.stream
        elif self.name == "-":
            if sys.stdin is None:
                raise Unreadable("standard input is closed; give a file, or pipe the log into 'triage analyze -'.")
            if sys.stdin.isatty():
                with paste_from(sys.stdin.fileno()) as pasted:
                    yield pasted or _UntilEnd(sys.stdin.buffer)
            else:
                yield _UntilEnd(sys.stdin.buffer)
        else:
            with self._open_file() as stream:
                yield stream

    def _open_file(self) -> BinaryIO:
        label = self.label
        try:
            if os.path.isdir(self.name):
                raise Unreadable(f"{label} is a directory; give a file in it, or the directory by itself.")
            return open(self.name, "rb")
        except FileNotFoundError:
            raise Unreadable(
                f"{label} does not exist; check the path, or paste the log into 'triage analyze -'."
            ) from None
        except PermissionError:
            raise Unreadable(f"{label} may not be read by you; ask for read permission or copy it first.") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Unreadable(f"{label} could not be opened ({reason}); check the path.") from None


class _UntilEnd:
    """A stream that stays ended: a terminal says Ctrl-D once, and asking it again would wait for another one."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; fewer mean that the stream has ended."""
        if self._ended:
            return b""
        data = self._stream.read(size)
        self._ended = len(data) < size or size < 0
        return data


_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")


def files_in(directory: str) -> list[str]:
    """The plain files directly in a directory, sorted, hidden ones left out."""
    label = Source(directory).label
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(f"{label} could not be listed ({error.strerror}); check its permissions.") from None
    files = [entry.path for entry in entries if not entry.name.startswith(".") and _may_hold_a_log(entry)]
    if not files:
        raise Unreadable(f"{label} holds no files to analyze; give the directory that holds the logs.")
    return files


def _may_hold_a_log(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads nowhere or in a circle: that is told when it cannot be opened.

    A link into what the kernel makes up is passed over as pipes and devices are: /proc/kmsg calls itself a plain file,
    and whoever reads it waits for the kernel's next message.
    """
    if entry.is_symlink() and os.path.realpath(entry.path).startswith(_OF_THE_KERNEL):
        return False
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))
    except OSError:
        return True
