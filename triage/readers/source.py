"""Where bytes come from: a file, standard input, a paste into a terminal, or bytes that a program already has."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from triage.readers.interface import Stream, Unreadable

# Ctrl-D; and the byte that Linux leaves for it if it was typed just before line mode was left.
_PASTE_ENDS = (b"\x04", b"\x00")
_CHUNK = 64 * 1024
_PIECE = 256 * 1024
_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")


class Source(NamedTuple):
    """One input by name; `stream` gives its bytes if they are not in a file of that name."""

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
        """The name to show: a file name may contain bytes that are not text, and characters that move the cursor."""
        clean = self.name.encode("utf-8", "replace").decode("utf-8")
        return "".join(character if character.isprintable() else "\ufffd" for character in clean)

    @property
    def path(self) -> str | None:
        """The path of the file that holds the bytes, or None if they can be read only once."""
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
                with _paste_from(sys.stdin.fileno()) as pasted:
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
    """A stream that stays ended: a terminal reports Ctrl-D once, and reading again would wait for another one."""

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


@contextmanager
def _paste_from(descriptor: int) -> Iterator[Stream | None]:
    """The terminal as a stream without line mode; None where that is impossible (Windows, a closed terminal).

    In line mode a terminal cuts each line at 4,096 bytes, and logs have longer ones. Ctrl-D still ends the paste.
    """
    try:
        import termios

        before = termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):
        yield None
        return
    changed = [*before[:6], list(before[6])]
    # No line mode, and no ^D on the screen at the end of the paste.
    changed[3] &= ~(termios.ICANON | termios.ECHOCTL)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        yield _Pasted(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class _Pasted:
    """What is typed or pasted, up to Ctrl-D."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        self._ended = False

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; fewer mean that the paste has ended."""
        parts = [self._held]
        have = len(self._held)
        while not self._ended and (size < 0 or have < size):
            data = os.read(self._descriptor, _CHUNK)
            end = min((at for mark in _PASTE_ENDS if (at := data.find(mark)) >= 0), default=None)
            self._ended = end is not None or not data
            data = data[:end]
            parts.append(data)
            have += len(data)
        whole = b"".join(parts)
        cut = len(whole) if size < 0 else size
        self._held = whole[cut:]
        return whole[:cut]


def files_in(directory: str) -> list[str]:
    """The plain files directly in a directory, sorted, without hidden ones."""
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
    """Whether it is a file, or a broken link, which is reported when it cannot be opened.

    Links to files of the kernel are skipped like pipes and devices: /proc/kmsg looks like a plain file, and reading it
    waits for the kernel's next message.
    """
    if entry.is_symlink() and os.path.realpath(entry.path).startswith(_OF_THE_KERNEL):
        return False
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))
    except OSError:
        return True


@contextmanager
def as_file(path: str | None, name: str, head: bytes, rest: Stream) -> Iterator[str]:
    """The path of a file with these bytes, to map or for a debugger: their own, or else a temporary one."""
    if path is not None:
        yield path
        return
    import errno
    import shutil
    import tempfile

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
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
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
    """Write everything; a dump is mostly zeros, which need no room on the disk."""
    piece, zeros = head, bytes(_PIECE)
    while piece:
        if piece == zeros[: len(piece)]:
            file.seek(len(piece), os.SEEK_CUR)
        else:
            file.write(piece)
        piece = rest.read(_PIECE)
    file.truncate(file.tell())
