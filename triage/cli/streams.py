"""The standard streams as we find them: closed, full, or with nobody who reads on."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

import click

# EX_IOERR of sysexits.h, which none of our answers uses; and a shell's number for a pipe that was closed.
NOT_PRINTED, NOBODY_READS = 74, 141


class _Watched(io.TextIOWrapper):
    """Standard output that remembers why it failed: of what it could not write it keeps nothing that tells."""

    failure: OSError | None = None

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.failure = error
            raise


class _Closed(io.TextIOBase):
    """Standard output that was closed before we started: printing to it fails, as it does for other tools."""

    failure: OSError | None = None

    def write(self, text: str, /) -> int:
        self.failure = OSError(errno.EBADF, "it is closed")
        raise self.failure


def prepare() -> None:
    """Set the streams up so that nothing that is printed can end in a traceback."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    elif isinstance(sys.stdout, io.TextIOWrapper):
        given = sys.stdout
        settings = (given.encoding, "replace", None, given.line_buffering, given.write_through)
        sys.stdout = _Watched(given.detach(), *settings)
    # A console that cannot show a character shows a question mark.
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")


def failure() -> OSError | None:
    """Why something that was printed did not get to standard output, or None where all of it did."""
    why: OSError | None = getattr(sys.stdout, "failure", None)
    return why


def ended(status: int) -> int:
    """The status to leave with once all is printed; Python itself would notice a failure only after our last word."""
    with suppress(OSError):
        sys.stdout.flush()
    why = failure()
    if why is not None:
        status = NOBODY_READS if why.errno == errno.EPIPE else NOT_PRINTED
    if status == NOT_PRINTED and why is not None:
        say(f"standard output could not be written ({why.strerror or why}); send it somewhere else.")
    _give_up_what_is_left(sys.stdout)
    _give_up_what_is_left(sys.stderr)
    return status


def say(sentence: str) -> None:
    """One sentence to the person, on standard error."""
    note(f"triage: {sentence}")


def note(text: str = "") -> None:
    """A line on standard error; where it can't be written the work goes on."""
    with suppress(OSError):
        click.echo(text, err=True)


def _give_up_what_is_left(stream: TextIO | None) -> None:
    """Send to nowhere what a stream does not take, so that Python does not try again when it ends."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
