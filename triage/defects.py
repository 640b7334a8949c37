"""A bug in triage, as one sentence for the person who met it; TRIAGE_DEBUG=1 also shows the traceback."""

from __future__ import annotations

import os

# EX_SOFTWARE of sysexits.h: triage failed, not the program that it looks at.
EXIT_CODE = 70
_LONGEST = 200


def sentence(error: BaseException) -> str:
    """The sentence; with TRIAGE_DEBUG set, the traceback is printed too.

    An exception may quote an input, so everything that a terminal would obey is taken out.
    """
    if os.environ.get("TRIAGE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(error)).split())
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"a bug in triage, please report it: {type(error).__name__}" + (f": {short}" if short else "")
