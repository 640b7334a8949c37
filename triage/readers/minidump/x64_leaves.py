"""Functions without unwind data: by the rules of x64 they leave the stack alone, so the caller is on top of it."""

from __future__ import annotations

from triage.readers.minidump.pe import Image
from triage.readers.minidump.x64_machine import WORD, Machine

# The one leaf that breaks the rule, and where each stack overflow of a library built by GCC is found: its stack probe
# pushes rcx and rax first, and pops them at this distance.
_PROBE = bytes.fromhex("5150483d00100000488d4c2418")
_PROBE_PUSHED = range(2, 0x30)


def leave_leaf(machine: Machine, image: Image, base: int) -> None:
    """Move a machine from a function without unwind data to its caller."""
    if _in_probe(image, machine.pc - base):
        machine.move_stack(2 * WORD)
    machine.step_out()


def _in_probe(image: Image, at: int) -> bool:
    start = max(0, at - _PROBE_PUSHED.stop)
    found = image.read(start, at + len(_PROBE) - start).rfind(_PROBE)
    return found >= 0 and at - (start + found) in _PROBE_PUSHED
