"""The DLL that was missing: 0xC06D007E and 0xC06D007F, raised where a library is loaded when it is first called.

The exception's first parameter points to a record on the stack, which points to the names, which lie in the library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from triage.readers.minidump.memory import AddressSpace
from triage.readers.minidump.module_list import Module, ModuleMap
from triage.readers.minidump.pe_files import Images
from triage.readers.minidump.streams import ExceptionRecord

MODULE_NOT_FOUND, PROCEDURE_NOT_FOUND = 0xC06D007E, 0xC06D007F
_RECORD_64, _RECORD_32 = struct.Struct("<I4xQQQI4xQQQI"), struct.Struct("<9I")
_LONGEST_NAME = 512


class MissingImport(NamedTuple):
    """What could not be loaded, as far as it can be read. `error` is the Windows error, 126 for a missing DLL."""

    dll: str | None
    function: str | None
    asked_by: str | None
    error: int | None = None


def missing_import(
    exception: ExceptionRecord, modules: Iterable[Module], memory: AddressSpace, images: Images
) -> MissingImport | None:
    """What a failed delay load was looking for; None for any other exception, or where its record is not held."""
    if exception.code not in (MODULE_NOT_FOUND, PROCEDURE_NOT_FOUND) or not exception.parameters:
        return None
    narrow = exception.registers is not None and exception.registers.architecture == "x86"
    record = _RECORD_32 if narrow else _RECORD_64
    data = memory.read(exception.parameters[0], record.size)
    if len(data) < record.size:
        return None
    _, descriptor, _, dll, by_name, function, _, _, error = record.unpack(data)
    by_address = ModuleMap(modules)
    asker = by_address.at(descriptor)
    named = _text(function, by_address, memory, images) if by_name else f"#{function & 0xFFFF}"
    return MissingImport(_text(dll, by_address, memory, images), named, asker.file if asker else None, error)


def _text(address: int, modules: ModuleMap, memory: AddressSpace, images: Images) -> str | None:
    """The C string at an address of the process, out of the dump or out of the library that holds it."""
    data = memory.read(address, _LONGEST_NAME)
    if b"\0" not in data:
        module = modules.at(address)
        image = images.image(module) if module else None
        data = image.read(address - module.base, _LONGEST_NAME) if module and image else b""
    text, end, _ = data.partition(b"\0")
    return text.decode("ascii", "replace") if text and end else None
