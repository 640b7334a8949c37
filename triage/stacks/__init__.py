"""The stacks and the fault of a held process, or of one that left a core.

pystack, in a child process, gives the Python and native stacks; gdb, over its machine interface, gives registers, the
faulting instruction and the address it touched. Each does what it can without the other, and `missing` says what could
not be found out and how to get it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from triage.crash import ExitStatus, Fault, Gap, Library, Thread

if TYPE_CHECKING:
    from triage.stacks.core_file import CoreFile


class Collected(NamedTuple):
    """Threads with their stacks, innermost frame first, the fault, and what could not be found out.

    The fields after `missing` are known of cores only, except the version of Python.
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


def from_process(pid: int, *, crashed: bool, budget: float = 60) -> Collected:
    """The stacks of a live process, best held still, within `budget` seconds; it is left as it was found.

    `crashed`: one of its threads is in the handler of a fatal signal; otherwise the process hangs.
    """
    from triage.stacks.process import collect_process

    return _printable(collect_process(pid, crashed=crashed, budget=budget))


def from_core(path: str, executable: str | None = None, budget: float = 120, core: CoreFile | None = None) -> Collected:
    """The stacks and the fault in a core file; `core` is what has been read of it already."""
    from triage.stacks.core import collect_core

    return _printable(collect_core(path, executable=executable, budget=budget, core=core))


def _printable(collected: Collected) -> Collected:
    """The same with valid text only: the bytes of a path may be none, and nothing can print or search those."""
    return Collected(*map(_as_text, collected))


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, tuple):
        parts = [_as_text(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
