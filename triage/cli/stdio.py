"""The standard streams, which may be closed, full, or no longer read by anybody."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

import click

# EX_IOERR of sysexits.h, and the number that a shell gives for SIGPIPE.
NOT_PRINTED, NOBODY_READS = 74, 141


class _Watched(io.TextIOWrapper):
    """Standard output that remembers why writing failed; Python's own does not."""

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
    """Standard output that was closed before triage started: printing fails, as it does for other tools."""

    failure: OSError | None = None

    def write(self, text: str, /) -> int:
        self.failure = OSError(errno.EBADF, "it is closed")
        raise self.failure


def prepare() -> None:
    """Set up the streams so that nothing that is printed can end in a traceback."""
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
    """Why something could not be written to standard output; None if everything was."""
    why: OSError | None = getattr(sys.stdout, "failure", None)
    return why


def ended(status: int) -> int:
    """The status to leave with when everything is printed; Python itself would notice a failure only later."""
    with suppress(OSError):
        sys.stdout.flush()
    why = failure()
    if why is not None:
        status = NOBODY_READS if why.errno == errno.EPIPE else NOT_PRINTED
    if status == NOT_PRINTED and why is not None:
        say(f"standard output could not be written ({why.strerror or why}); redirect it somewhere else.")
    _give_up_what_is_left(sys.stdout)
    _give_up_what_is_left(sys.stderr)
    return status


def say(sentence: str) -> None:
    """Print a message on standard error."""
    note(f"triage: {sentence}")


def note(text: str = "") -> None:
    """Print a line on standard error; if that fails, the work goes on."""
    with suppress(OSError):
        click.echo(text, err=True)


def _give_up_what_is_left(stream: TextIO | None) -> None:
    """Discard what a stream does not take, so that Python does not try again at its end."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
