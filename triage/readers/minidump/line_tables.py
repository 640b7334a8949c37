"""The line of an instruction out of the tables that CPython's compiler leaves in a code object."""

from __future__ import annotations

from collections.abc import Iterator

_NO_LINE, _LONG, _NO_COLUMNS = 15, 14, 13
_ONE_LINE = range(10, 13)


def line_of(form: str, table: bytes, first_line: int, instruction: int) -> int | None:
    """The line of an instruction, counted in units of two bytes; None where the compiler gave it none."""
    if form == "locations":
        return _by_ranges(_locations(table), first_line, instruction)
    if form == "linetable":
        return _by_ranges(_pairs(table), first_line, instruction)
    return _by_steps(table, first_line, instruction)


def _by_ranges(ranges: Iterator[tuple[int, int, bool]], first_line: int, instruction: int) -> int | None:
    """`ranges` are a length, the step to its line, and whether it has a line at all."""
    line, start = first_line, 0
    for length, step, has_line in ranges:
        line += step
        if start <= instruction < start + length:
            return line if has_line else None
        start += length
    return None


def _by_steps(table: bytes, first_line: int, instruction: int) -> int:
    """Up to 3.9: pairs of steps, in bytes of code and in lines."""
    line, at = first_line, 0
    for index in range(0, len(table) - 1, 2):
        at += table[index]
        if at > 2 * instruction:
            break
        line += _signed(table[index + 1])
    return line


def _pairs(table: bytes) -> Iterator[tuple[int, int, bool]]:
    """3.10: pairs of a length in bytes of code and a step in lines, where -128 says that there is no line."""
    for index in range(0, len(table) - 1, 2):
        step = _signed(table[index + 1])
        yield table[index] // 2, 0 if step == -128 else step, step != -128


def _locations(table: bytes) -> Iterator[tuple[int, int, bool]]:
    """From 3.11 on: entries that begin with a byte whose top bit is set: four bits of kind, three of length."""
    at = 0
    while at < len(table):
        first = table[at]
        kind, length = (first >> 3) & 15, (first & 7) + 1
        step = 0
        if kind in (_LONG, _NO_COLUMNS):
            step = _varint(table, at + 1)
            step = -(step >> 1) if step & 1 else step >> 1
        elif kind in _ONE_LINE:
            step = kind - _ONE_LINE.start
        yield length, step, kind != _NO_LINE
        at += 1
        while at < len(table) and not table[at] & 0x80:
            at += 1


def _varint(table: bytes, at: int) -> int:
    """A number in pieces of six bits, the lowest first; the seventh says that another piece follows."""
    value = shift = 0
    for byte in table[at : at + 6]:
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            break
    return value


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte
