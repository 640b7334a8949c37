"""The stacks and the fault of a process that is held, or of one that left a core: one collector for both.

pystack, in a child process, gives the Python and native stacks; gdb, over its machine interface, gives registers, the
faulting instruction and the address it touched. Each does what it can when the other is absent, and `missing` says
what could not be had and how to get it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage.stacks.collected import Collected, legible

if TYPE_CHECKING:
    from triage.stacks.core_file import CoreFile

__all__ = ["Collected", "from_core", "from_process"]


def from_process(pid: int, *, crashed: bool, budget: float = 60) -> Collected:
    """The stacks of a living process, best held still, within `budget` seconds; it is left as it was found.

    `crashed`: one of its threads stands in the handler of a fatal signal; otherwise it hangs.
    """
    from triage.stacks.collecting import collect_process

    return legible(collect_process(pid, crashed=crashed, budget=budget))


def from_core(path: str, executable: str | None = None, budget: float = 120, core: CoreFile | None = None) -> Collected:
    """The stacks and the fault in a core file; `core` is what was read of it already."""
    from triage.stacks.core_collecting import collect_core

    return legible(collect_core(path, executable=executable, budget=budget, core=core))
