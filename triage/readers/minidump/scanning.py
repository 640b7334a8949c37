"""Return addresses: whether an address can be one, and which modules they point to when a stack is only looked through.

What a scan finds may be left over from calls that ended long ago. It names modules that were at work; it is no call
stack and never becomes one.
"""

from __future__ import annotations

from triage.readers.minidump.memory import AddressSpace
from triage.readers.minidump.module_list import Module, ModuleMap
from triage.readers.minidump.pe import Image
from triage.readers.minidump.pe_files import Images

_LONGEST_CALL = 8
_MAX_WORDS = 8192
_MAX_NAMES = 32
_FIRST_SECTION = 0x1000


class Code:
    """The code of a process: from the dump where it holds the bytes, from the images of its modules elsewhere."""

    def __init__(self, modules: ModuleMap, memory: AddressSpace, images: Images) -> None:
        self.modules = modules
        self._memory = memory
        self._images = images

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        return self._images.image(module)

    def is_return_address(self, address: int) -> bool | None:
        """Whether a call instruction ends at an address; None where the code before it is not at hand."""
        module = self.modules.at(address - 1)
        image = self.image(module) if module else None
        if module and address - module.base <= _FIRST_SECTION:
            return False
        if module and image and not image.is_code(address - 1 - module.base):
            return False
        before = self._memory.read(address - _LONGEST_CALL, _LONGEST_CALL)
        if len(before) < _LONGEST_CALL and module and image:
            before = image.read(address - _LONGEST_CALL - module.base, _LONGEST_CALL)
        return ends_in_call(before) if len(before) == _LONGEST_CALL else None


def ends_in_call(code: bytes) -> bool:
    """Whether some bytes of x86 or x64 code can end in a call instruction."""
    if len(code) >= 5 and code[-5] == 0xE8:
        return True
    # FF /2 (near) with a register or memory operand: its length follows from its second and third byte.
    return any(
        code[-length] == 0xFF and _call_length(code[-length:]) == length
        for length in (2, 3, 4, 6, 7)
        if length <= len(code)
    )


def _call_length(code: bytes) -> int | None:
    mode, kind, low = code[1] >> 6, (code[1] >> 3) & 7, code[1] & 7
    if kind != 2:
        return None
    length = 2
    if mode != 3 and low == 4:
        length += 1
        if mode == 0 and len(code) > 2 and code[2] & 7 == 5:
            length += 4
    if mode == 1:
        return length + 1
    return length + 4 if mode == 2 or (mode == 0 and low == 5) else length


def modules_seen(code: Code, memory: AddressSpace, sp: int, width: int, architecture: str) -> tuple[str, ...]:
    """The names of the modules that the words of a stack point into, in the order they lie there, each once."""
    data = memory.read(sp, _MAX_WORDS * width)
    seen: dict[str, None] = {}
    for at in range(0, len(data) - width + 1, width):
        value = int.from_bytes(data[at : at + width], "little")
        module = code.modules.at(value)
        if module is None or module.file in seen or len(seen) >= _MAX_NAMES:
            continue
        if architecture == "arm64" or code.is_return_address(value) is not False:
            seen[module.file] = None
    return tuple(seen)
