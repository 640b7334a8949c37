"""Where a report goes: standard output, standard error, or the file that --output names.

That file is never one that is read; it is written whole or not at all, and only its owner may read it.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import click

from triage import digits
from triage.cli.stdio import say
from triage.reports import renderer

if TYPE_CHECKING:
    from triage.report import Report

_OWN_STREAMS = {"-": 1, "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_STREAM_FOLDERS = ("/dev/fd", "/proc/self/fd")
_LONGEST_NUMBER = 8


class WouldOverwrite(click.ClickException):
    """An output that is one of the files that are read: wrong usage."""

    exit_code = 2

    def __init__(self, output: str, what: str) -> None:
        super().__init__(f"{output} is {what} and would be overwritten; choose another --output.")


def refuse_what_is_read(output: str, what: str, read: Iterable[str | int]) -> None:
    """Refuse an output that is one of these files: paths, or descriptors of open files. `what` says what they are.

    Another spelling, a symbolic link and a hard link are all the same file.
    """
    if any(is_same(output, file) for file in read):
        raise WouldOverwrite(output, what)


def refuse_what_lies_in(output: str, what: str, folders: Iterable[str]) -> None:
    """Refuse an output below one of these folders, unless the file there is empty or an older report."""
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
    """Whether a name stands for a stream that triage was started with, such as /dev/stdout."""
    return _own_stream(output) is not None


def is_same(output: str, file: str | int) -> bool:
    """Whether the output is this file, given by path or descriptor; one of our own streams may lead to it too."""
    number = _own_stream(output)
    mine, other = _regular(output if number is None else number), _regular(file)
    return mine is not None and other is not None and os.path.samestat(mine, other)


def is_older_report(output: str) -> bool:
    """Whether the file there is an older report of triage and nothing else."""
    if _existing(output) is None:
        return False
    from triage.reports.recognition import is_report

    return is_report(output)


def remove_older_report(output: str) -> None:
    """Remove an older report, so that nobody takes it for this run's; leave anything else alone."""
    if not is_older_report(output):
        return
    try:
        os.unlink(os.path.realpath(output))
    except OSError as error:
        say(f"the older report at {output} could not be removed ({error.strerror}); it is not about this run.")


def is_somebody_elses(output: str) -> bool:
    """Whether the file there has content and is not a report of triage."""
    about = _existing(output)
    return about is not None and about.st_size > 0 and not is_older_report(output)


@contextmanager
def report_file(output: str) -> Iterator[TextIO]:
    """The stream for a report. A file gets the whole report if the block succeeds, and otherwise stays as it was.

    If nothing is written, no file is made, and an older report is removed. Devices, pipes and our own streams are
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
        # It could be replaced all the same, but somebody has protected it.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # The report goes to where a link leads; the link stays.
    with _replacing(os.path.realpath(output), is_there=about is not None) as stream:
        yield stream


def print_report(report: Report, format_name: str, stream: TextIO) -> None:
    """Print one report in a format; text is coloured on a terminal."""
    if format_name == "text":
        from triage.reports.terminal import show

        show(report, stream)
    else:
        stream.write(renderer(format_name)(report))


def cannot_be_written(output: str, error: OSError) -> str:
    """The error message for an --output that fails."""
    return f"{output} could not be written ({error.strerror or error}); choose another --output."


def write_report(report: Report, format_name: str, output: str | None) -> None:
    """Write the report of a run to a file, or to standard error if there is no file or it cannot be written.

    The file may be the program's own (a module, its data, its results), so only an older report is replaced.
    """
    if output is not None:
        try:
            if is_somebody_elses(output):
                raise FileExistsError(errno.EEXIST, "it exists and is not a report of triage")
            with report_file(output) as stream:
                print_report(report, format_name, stream)
            return
        except OSError as error:
            say(f"{cannot_be_written(output, error)} The report follows.")
    try:
        # The last thing that the program printed may be half a line.
        sys.stderr.write("\n")
        print_report(report, format_name, sys.stderr)
        sys.stderr.flush()
    except OSError:
        # The terminal is gone; whoever started triage still gets the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextmanager
def _replacing(target: str, *, is_there: bool) -> Iterator[TextIO]:
    new = os.path.join(os.path.dirname(target), f".triage-{os.urandom(8).hex()}")
    try:
        with _removed_when_stopped():
            descriptor = _created(new, is_needed=not is_there)
            if descriptor is None:
                # The folder takes no new file, but the file itself can be written: once, when the report is complete.
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
    """A new file for its owner only; None if it cannot be made and there is another way."""
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
        # A file that is a mount of its own, as in containers, can be written but not replaced.
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
    """Turn signals that would end us at once into an orderly exit, so that no half-written file is left behind."""
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
    """The descriptor that a name stands for: its file is open already and must not be truncated or replaced."""
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
    """The file that the report would replace."""
    return None if _own_stream(output) is not None else _regular(output)


def _regular(file: str | int) -> os.stat_result | None:
    try:
        about = os.stat(file)
    except (OSError, ValueError):
        return None
    return about if stat.S_ISREG(about.st_mode) else None
