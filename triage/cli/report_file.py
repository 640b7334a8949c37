"""The file that --output names: never one that is read, written whole or not at all, and for its owner only."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click

from triage import digits
from triage.cli.streams import say

_OWN_STREAMS = {"-": 1, "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_STREAM_FOLDERS = ("/dev/fd", "/proc/self/fd")
_LONGEST_NUMBER = 8


class WouldOverwrite(click.ClickException):
    """An output that is one of the files that are read: wrong usage, told in one sentence."""

    exit_code = 2

    def __init__(self, output: str, what: str) -> None:
        super().__init__(f"{output} is {what} and would be overwritten; choose another --output.")


def refuse_what_is_read(output: str, what: str, read: Iterable[str | int]) -> None:
    """Refuse an output that is one of these files: paths, or descriptors of open ones. `what` says what they are.

    The same file is the same under another spelling, through a link, and as a hard link.
    """
    if any(is_same(output, file) for file in read):
        raise WouldOverwrite(output, what)


def refuse_what_lies_in(output: str, what: str, folders: Iterable[str]) -> None:
    """Refuse an output that is a file below one of these folders; an empty file and a report of ours lose nothing."""
    about = _existing(output)
    if about is None or not about.st_size or is_older_report(output):
        return
    place = os.path.realpath(output)
    for folder in folders:
        with suppress(ValueError):  # on Windows: on another drive
            whole = os.path.realpath(folder)
            if os.path.commonpath((whole, place)) == whole:
                raise WouldOverwrite(output, what)


def is_stream(output: str) -> bool:
    """Whether a name stands for a stream that we were started with, such as /dev/stdout."""
    return _own_stream(output) is not None


def is_same(output: str, file: str | int) -> bool:
    """Whether the output is this file, given by path or descriptor; a stream of ours may lead to it too."""
    number = _own_stream(output)
    mine, other = _regular(output if number is None else number), _regular(file)
    return mine is not None and other is not None and os.path.samestat(mine, other)


def is_older_report(output: str) -> bool:
    """Whether a report of ours lies there already, and nothing but that."""
    if _existing(output) is None:
        return False
    from triage.reports.recognition import is_report

    return is_report(output)


def remove_older_report(output: str) -> None:
    """Take a report of ours away, so that nobody takes it for the answer to this crash; leave anything else alone."""
    if not is_older_report(output):
        return
    try:
        os.unlink(os.path.realpath(output))
    except OSError as error:
        say(f"the older report at {output} could not be removed ({error.strerror}); it is not about this run.")


def is_somebody_elses(output: str) -> bool:
    """Whether a file with content lies there that is no report of ours."""
    about = _existing(output)
    return about is not None and about.st_size > 0 and not is_older_report(output)


@contextmanager
def report_file(output: str) -> Iterator[TextIO]:
    """The stream for a report. A file gets all of it when the block ends well, and else stays as it was.

    Where nothing is written there is no new file, and no older report either. Devices, pipes and our own streams are
    written to directly. Raises OSError.
    """
    number = _own_stream(output)
    if number is not None:
        with _text(os.dup(number)) as stream:
            yield stream
        return
    about = _about(output)
    if not os.path.basename(output) or (about is not None and stat.S_ISDIR(about.st_mode)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if about is not None and not stat.S_ISREG(about.st_mode):
        with open(output, "w", encoding="utf-8", errors="replace") as stream:
            yield stream
        return
    if about is not None and not os.access(output, os.W_OK):
        # It could be replaced all the same; but somebody has protected it.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # The report goes to where a link leads; the link stays.
    with _replacing(os.path.realpath(output), is_there=about is not None) as stream:
        yield stream


@contextmanager
def _replacing(target: str, *, is_there: bool) -> Iterator[TextIO]:
    new = os.path.join(os.path.dirname(target), f".triage-{os.urandom(8).hex()}")
    try:
        with _removed_when_stopped():
            descriptor = _created(new, is_needed=not is_there)
            if descriptor is None:
                # Nothing may be put beside it, but it may be written itself: so it is, once all of the report is there.
                collected = io.StringIO()
                yield collected
                if collected.tell():
                    _overwrite(target, collected.getvalue())
                return
            with _text(descriptor) as stream:
                yield stream
                is_empty = not stream.tell()
            if is_empty:
                remove_older_report(target)
            else:
                _put(new, target, is_there=is_there)
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(new)


def _created(new: str, *, is_needed: bool) -> int | None:
    """A new file for its owner only; None where none can be made and there is another way."""
    try:
        return os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError:
        if is_needed:
            raise
        return None


def _put(new: str, target: str, *, is_there: bool) -> None:
    try:
        os.replace(new, target)
    except OSError:
        # A file that is mounted by itself, as containers do it, can be written to and not be replaced.
        if not is_there:
            raise
        with open(new, encoding="utf-8") as file:
            _overwrite(target, file.read())


def _overwrite(target: str, text: str) -> None:
    with open(target, "r+", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.truncate()


@contextmanager
def _removed_when_stopped() -> Iterator[None]:
    """Signals that would end us at once end us in order, so that no half-written file is left lying about."""
    import signal

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    changed = []
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, stop)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _text(descriptor: int) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", errors="replace")


def _own_stream(output: str) -> int | None:
    """The descriptor that a name stands for: what it leads to is open already and must not be truncated or replaced."""
    name = os.path.normpath(output)
    if name in _OWN_STREAMS:
        return _OWN_STREAMS[name]
    folder, number = os.path.split(name)
    return digits.whole(number) if folder in _STREAM_FOLDERS and len(number) < _LONGEST_NUMBER else None


def _about(file: str | int) -> os.stat_result | None:
    try:
        return os.stat(file)
    except FileNotFoundError:
        return None


def _existing(output: str) -> os.stat_result | None:
    """The file that the report would take the place of."""
    return None if _own_stream(output) is not None else _regular(output)


def _regular(file: str | int) -> os.stat_result | None:
    try:
        about = os.stat(file)
    except (OSError, ValueError):
        return None
    return about if stat.S_ISREG(about.st_mode) else None
