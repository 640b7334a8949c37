"""A defect of ours, told in one sentence to the person who met it; TRIAGE_DEBUG=1 shows where it happened."""

from __future__ import annotations

import os

# EX_SOFTWARE of sysexits.h: the command failed, and not what it looked at.
EXIT_CODE = 70
_LONGEST = 200


def told(error: BaseException) -> str:
    """The sentence, on one line and with nothing that a terminal would obey; when debugging also prints the traceback.

    The text of an exception may quote an input.
    """
    if os.environ.get("TRIAGE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(error)).split())
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"a bug of ours, please report: {type(error).__name__}" + (f": {short}" if short else "")
