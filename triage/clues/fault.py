"""Looks at what the processor did when it stopped.

fault: {address: null, access: write}
fault: {needs_missing_flag: true}
fault: {stack_full: true}
fault: {says: 'as those of AVX'}  # of a dump
fault: {missing_library: '(?P<file>cudnn.*)'}  # of a dump, a delay load
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from triage import patterns
from triage.clues.findings import ABSENT, UNSEEN, Finding, all_of, fits, if_known, seen_if
from triage.clues.interface import At, Field, Kind, Request
from triage.crash import Access, Fault
from triage.phrases import human_bytes

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written

# Where the address of a fault may be: a null pointer or a field of one, an element of a null array, an address that no
# process can have, the end of the stack, or anywhere as long as it is known.
Address = Literal["null", "near-null", "noncanonical", "stack-guard", "any"]
ADDRESSES: tuple[Address, ...] = get_args(Address)
ACCESSES: tuple[Access, ...] = get_args(Access)
# The first pages are never mapped: an address in them is a null pointer, or a field of what it should point to.
_NULL, _NEAR_NULL = 1 << 16, 1 << 24
# A push touches memory just below the stack pointer, a new frame memory above it.
_BELOW_STACK, _ABOVE_STACK = 1 << 12, 1 << 16
_FULL, _HALF_FULL = 0.95, 0.5


class FaultSeen(NamedTuple):
    """What the processor did when it stopped; every field that is given must hold.

    `instruction` is a pattern, `needs_missing_flag` asks for an instruction that the processor does not support,
    `stack_full` for a stack that is used up (or, if False, is not). `says` is a pattern over the dump reader's
    conclusion, `missing_library` one over the library that could not be loaded at its first call; its named groups are
    for the fix.
    """

    address: Address | None = None
    access: Access | None = None
    instruction: str | None = None
    needs_missing_flag: bool | None = None
    stack_full: bool | None = None
    says: str | None = None
    missing_library: str | None = None


class FaultKind(Kind):
    """What the processor could not do."""

    form = FaultSeen
    background = 0.03
    request = Request("fault", "run again", of_a_crash=True)
    patterns = ("instruction", "says", "missing_library")
    fields: Mapping[str, Field] = {
        "address": Field(ADDRESSES, "Where the address is."),
        "access": Field(ACCESSES, "What was tried there."),
        "instruction": Field("text", "A pattern over the instruction."),
        "needs_missing_flag": Field("yes or no", "The instruction needs a feature that the processor does not list."),
        "stack_full": Field("yes or no", "The stack is used up."),
        "says": Field("text", "A pattern over the dump reader's conclusion about the fault."),
        "missing_library": Field("text", "A pattern over the library that could not be loaded at its first call."),
    }
    often_unknown = True

    def parse(self, written: "Written") -> FaultSeen:
        fields = written.fields(*self.fields)
        # YAML reads a bare null as nothing, but everybody writes this word bare.
        if "address" in fields and fields["address"].value is None:
            fields["address"] = fields["address"]._replace(value="null")
        return FaultSeen(
            fields.one_of("address", ADDRESSES),
            fields.one_of("access", ACCESSES),
            fields.text("instruction"),
            fields.yes_or_no("needs_missing_flag"),
            fields.yes_or_no("stack_full"),
            fields.text("says"),
            fields.text("missing_library"),
        )

    def find(self, sought: FaultSeen, facts: "Facts", after: At) -> Finding:
        crash = facts.crash
        fault = crash.processes[crash.primary].fault if crash.processes else None
        if fault is None:
            return UNSEEN
        findings = []
        if sought.address:
            findings.append(_address_is(sought.address, fault))
        if sought.access:
            findings.append(if_known(fault.access, lambda value: value == sought.access, "the fault was a {}"))
        if sought.instruction:
            at = "the instruction at the fault is {}"
            findings.append(if_known(fault.instruction, partial(fits, sought.instruction), at))
        if sought.needs_missing_flag is not None:
            findings.append(_needs_flag(sought.needs_missing_flag, fault, crash.environment.cpu_flags))
        if sought.stack_full is not None:
            findings.append(_stack_is(sought.stack_full, fault))
        if sought.says:
            findings.append(if_known(fault.says, partial(fits, sought.says), "{}"))
        if sought.missing_library:
            findings.append(_library_is(sought.missing_library, fault))
        return all_of(findings)


def _address_is(wanted: Address, fault: Fault) -> Finding:
    """Whether the address that was touched is of this kind."""
    address = fault.address
    if address is None:
        return UNSEEN
    if wanted == "stack-guard":
        near = _is_near_stack(fault)
        return UNSEEN if near is None else seen_if(near, f"the fault at 0x{address:x} is at the end of the stack")
    # ARM64 has one more bit of addresses for programs.
    lowest = 1 << (48 if "x0" in dict(fault.registers) else 47)
    holds = {
        "null": address < _NULL,
        "near-null": _NULL <= address < _NEAR_NULL,
        "noncanonical": lowest <= address < (1 << 64) - lowest,
        "any": True,
    }[wanted]
    return seen_if(holds, f"the fault was at address 0x{address:x}", fault_address=f"0x{address:x}")


def _needs_flag(wanted: bool, fault: Fault, flags: tuple[str, ...]) -> Finding:
    """Whether the instruction needs a feature that the processor does not list, or (if `wanted` is False) does not."""
    if not fault.instruction or not flags:
        return UNSEEN
    from triage.instructions import missing_flag  # a table of patterns that few crashes need

    flag = missing_flag(fault.instruction, flags)
    values = {"instruction": " ".join(fault.instruction.split()), "flag": flag or ""}
    if flag is None:
        return seen_if(not wanted, f"the processor lists what '{values['instruction']}' needs", **values)
    return seen_if(wanted, f"'{values['instruction']}' needs {flag}, which the processor does not list", **values)


def _stack_is(full: bool, fault: Fault) -> Finding:
    """Whether a stack is used up, or (if `full` is False) far from it; in between it is neither."""
    near = _is_near_stack(fault)
    used, limit = fault.stack_used_bytes, fault.stack_limit_bytes
    if used is None or not limit:
        if not near:
            # Without a size, the address of the fault can only prove that the stack is used up.
            return ABSENT if full and near is False else UNSEEN
        return seen_if(full, f"the fault at 0x{fault.address or 0:x} is at the stack pointer, where the stack ends")
    values = {"stack_used": human_bytes(used), "stack_limit": human_bytes(limit)}
    holds = used >= _FULL * limit or bool(near) if full else used < _HALF_FULL * limit and not near
    return seen_if(holds, f"{values['stack_used']} of {values['stack_limit']} of the stack were in use", **values)


def _library_is(pattern: str, fault: Fault) -> Finding:
    """Whether the library that could not be loaded at its first call fits."""
    name = fault.missing_library
    if name is None:
        return UNSEEN
    match = patterns.compile(pattern).search(name)
    values = {} if match is None else {group: text for group, text in match.groupdict().items() if text is not None}
    return seen_if(match is not None, f"{name} could not be loaded", **values)


def _is_near_stack(fault: Fault) -> bool | None:
    """Whether a fault was near the stack pointer, where a thread always has memory unless its stack is full.

    Code that is executed on the stack faults there too, but for another reason.
    """
    registers = dict(fault.registers)
    pointer = next((registers[name] for name in ("rsp", "esp", "sp") if name in registers), None)
    if fault.address is None or pointer is None:
        return None
    return fault.access != "execute" and -_BELOW_STACK <= fault.address - pointer < _ABOVE_STACK


KIND = FaultKind()
