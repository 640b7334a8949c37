"""What the collector found."""

from __future__ import annotations

from typing import Any, NamedTuple

from triage.crash import ExitStatus, Fault, Gap, Library, Thread


class Collected(NamedTuple):
    """Threads with their stacks, innermost frame first, the fault, and what could not be had.

    What follows `missing` is known of cores only, save the version of Python.
    """

    threads: tuple[Thread, ...] = ()
    fault: Fault | None = None
    missing: tuple[Gap, ...] = ()
    python: str | None = None
    exit: ExitStatus | None = None
    pid: int | None = None
    command: str | None = None
    executable: str | None = None
    libraries: tuple[Library, ...] = ()
    complete: bool = True


def legible(collected: Collected) -> Collected:
    """The same as text: the bytes of a path need not be any, and then nothing can print or search it."""
    return Collected(*map(_as_text, collected))


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, tuple):
        parts = [_as_text(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
