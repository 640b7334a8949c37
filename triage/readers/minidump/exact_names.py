"""Names of functions that are certain: an entry of the unwind table begins exactly where an export points.

"The nearest export before it" is no name: between two exports lie hundreds of functions that have none.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from triage.readers.minidump.memory import NotHeld
from triage.readers.minidump.pe_image import EXPORTS, Function, Image

_MAX_EXPORTS = 1 << 17
_MAX_CHAIN = 32
_CHAINED = 0x4
_DIRECTORY = struct.Struct("<5I")


class ExactName(NamedTuple):
    """A function's exported name and where it begins."""

    name: str
    begin: int


class ExportTable:
    """The exported names of an image, read once. `names` has the first name of each address."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.names: dict[int, str] = {}
        self.addresses: dict[str, int] = {}
        try:
            self._read()
        except NotHeld:
            return

    def _read(self) -> None:
        image = self._image
        table, size = image.directory(EXPORTS)
        if not table:
            return
        count, name_count, addresses, names, ordinals = _DIRECTORY.unpack(image.read_exactly(table + 20, 20))
        if count > _MAX_EXPORTS or name_count > _MAX_EXPORTS:
            return
        where = struct.unpack(f"<{count}I", image.read_exactly(addresses, 4 * count)) if count else ()
        places = struct.unpack(f"<{name_count}I", image.read_exactly(names, 4 * name_count)) if name_count else ()
        numbers = struct.unpack(f"<{name_count}H", image.read_exactly(ordinals, 2 * name_count)) if name_count else ()
        for place, number in zip(places, numbers, strict=True):
            if number >= count or table <= where[number] < table + size:  # in the table itself: a forwarder's text
                continue
            name = image.text(place)
            if name:
                self.names.setdefault(where[number], name)
                self.addresses.setdefault(name, where[number])


def exact_name(image: Image, exports: ExportTable, rva: int) -> ExactName | None:
    """The function that holds an address, if its beginning is exported."""
    try:
        function = image.function_at(rva)
        begin = primary(image, function).begin if function else None
    except NotHeld:
        return None
    name = exports.names.get(begin) if begin is not None else None
    return ExactName(name, begin) if name and begin is not None else None


def primary(image: Image, function: Function) -> Function:
    """The function that a part of a function belongs to: compilers move cold code away and chain its unwind data."""
    for _ in range(_MAX_CHAIN):
        parent = chained(image, function.unwind)
        if parent is None:
            return function
        function = parent
    raise NotHeld


def chained(image: Image, unwind: int) -> Function | None:
    """The entry that some unwind data continues with, if it is chained."""
    head = image.read_exactly(unwind, 4)
    if not (head[0] >> 3) & _CHAINED:
        return None
    after_codes = unwind + 4 + 2 * ((head[2] + 1) & ~1)
    return Function(*struct.unpack("<III", image.read_exactly(after_codes, 12)))
