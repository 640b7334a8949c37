"""What a `fault` clue may ask of the instruction that failed: its address, its processor feature, its stack."""

from __future__ import annotations

from triage import patterns
from triage.crash import Fault
from triage.diagnosis.arithmetic import human_bytes
from triage.diagnosis.findings import ABSENT, UNSEEN, Finding, seen_if

# The first pages are never mapped: an address in them is a null pointer, or a field of what it should point to.
_NULL, _NEAR_NULL = 1 << 16, 1 << 24
# A push touches what lies just below the stack pointer, a new frame what lies above it.
_BELOW_STACK, _ABOVE_STACK = 1 << 12, 1 << 16
_FULL, _HALF_FULL = 0.95, 0.5


def address_is(wanted: str, fault: Fault) -> Finding:
    """Whether the address that was touched is of a kind: null, near-null, noncanonical, stack-guard or any."""
    address = fault.address
    if address is None:
        return UNSEEN
    if wanted == "stack-guard":
        near = _is_near_stack(fault)
        return UNSEEN if near is None else seen_if(near, f"the fault at 0x{address:x} is at the end of the stack")
    # Processors of another kind have one more bit of addresses for programs.
    lowest = 1 << (48 if "x0" in dict(fault.registers) else 47)
    holds = {
        "null": address < _NULL,
        "near-null": _NULL <= address < _NEAR_NULL,
        "noncanonical": lowest <= address < (1 << 64) - lowest,
        "any": True,
    }[wanted]
    return seen_if(holds, f"the fault was at address 0x{address:x}", fault_address=f"0x{address:x}")


def needs_flag(wanted: bool, fault: Fault, flags: tuple[str, ...]) -> Finding:
    """Whether the instruction needs what the processor does not list, or (if that is asked) does not."""
    if not fault.instruction or not flags:
        return UNSEEN
    from triage.instructions import missing_flag  # a table of patterns that few crashes need

    flag = missing_flag(fault.instruction, flags)
    values = {"instruction": " ".join(fault.instruction.split()), "flag": flag or ""}
    if flag is None:
        return seen_if(not wanted, f"the processor lists what '{values['instruction']}' needs", **values)
    return seen_if(wanted, f"'{values['instruction']}' needs {flag}, which the processor does not list", **values)


def stack_is(full: bool, fault: Fault) -> Finding:
    """Whether a stack is used up, or (if that is asked) is far from it; in between it is neither."""
    near = _is_near_stack(fault)
    used, limit = fault.stack_used_bytes, fault.stack_limit_bytes
    if used is None or not limit:
        if not near:
            # Without a size the place of the fault can only prove that the stack is used up.
            return ABSENT if full and near is False else UNSEEN
        return seen_if(full, f"the fault at 0x{fault.address or 0:x} is at the stack pointer, where the stack ends")
    values = {"stack_used": human_bytes(used), "stack_limit": human_bytes(limit)}
    holds = used >= _FULL * limit or bool(near) if full else used < _HALF_FULL * limit and not near
    return seen_if(holds, f"{values['stack_used']} of {values['stack_limit']} of the stack were in use", **values)


def library_is(pattern: str, fault: Fault) -> Finding:
    """Whether a library that could not be loaded at its first call is one of those that are asked for."""
    name = fault.missing_library
    if name is None:
        return UNSEEN
    match = patterns.compile(pattern).search(name)
    values = {} if match is None else {group: text for group, text in match.groupdict().items() if text is not None}
    return seen_if(match is not None, f"{name} could not be loaded", **values)


def _is_near_stack(fault: Fault) -> bool | None:
    """Whether a fault was where the stack pointer is: a thread always has memory there unless its stack is full.

    Code that is run from the stack faults there too, but for another reason.
    """
    registers = dict(fault.registers)
    pointer = next((registers[name] for name in ("rsp", "esp", "sp") if name in registers), None)
    if fault.address is None or pointer is None:
        return None
    return fault.access != "execute" and -_BELOW_STACK <= fault.address - pointer < _ABOVE_STACK
