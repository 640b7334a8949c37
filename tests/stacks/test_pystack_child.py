"""Names that pystack cannot read are read at the addresses in its log."""

from __future__ import annotations

import struct

from triage.stacks.pystack_child import UNREADABLE, AddressLog, repaired

ASCII_HEAD = 48  # of Python 3.11
NULS = "\0" * 4


class Process:
    """Memory with strings as Python 3.11 has them, and the log of pystack reading them."""

    def __init__(self) -> None:
        self.content: dict[int, bytes] = {}
        self.log = AddressLog("pystack")
        self._next = 0x10000

    def string(self, text: str) -> int:
        widest = max(map(ord, text))
        kind, encoding = (1, "latin-1") if widest < 256 else (2, "utf-16-le") if widest < 65536 else (4, "utf-32-le")
        head = struct.pack("<QQqqIIQ", 1, 0, len(text), -1, kind << 2 | 1 << 5 | (widest < 128) << 6, 0, 0)
        return self._put(head + (b"" if widest < 128 else bytes(24)) + text.encode(encoding))

    def code(self, file: int, function: int) -> int:
        return self._put(bytes(112) + struct.pack("<QQ", file, function) + bytes(128))

    def _put(self, content: bytes) -> int:
        address, self._next = self._next, self._next + 0x1000
        self.content[address] = content
        return address

    def memory(self, address: int, size: int) -> bytes:
        page = address & ~0xFFF
        return self.content.get(page, b"")[address - page : address - page + size]

    def read(self, file: str, function: str, line: int, number: int) -> None:
        """What pystack logs while it reads a frame; after a wide name it logs nothing more."""
        names = self.string(file), self.string(function)
        for text in (f"Copying frame number {number}", f"Copying code struct from address {self.code(*names):#x}"):
            self.log.debug(text)
        for what, name, address in zip(("filename", "code name"), (file, function), names, strict=True):
            self.log.debug(f"Copying {what} Python string from address {address:#x}")
            self.log.debug(f"Handling unicode object of version 3 from address {address:#x}")
            if max(map(ord, name)) > 255:
                return
            self.log.debug(f"Copying ASCII data for unicode object from address {address + ASCII_HEAD:#x}")
        self.log.debug(f"Code object location info: line_range=({line}, {line}) column_range=(0, 1)")


def test_names_of_any_width_are_read_and_frames_that_were_given_up_are_back() -> None:
    process = Process()
    process.read("a.py", "gé", 3, 0)
    process.read("a.py", "日本", 4, 1)
    process.read("/用户/é.py", "main", 5, 2)
    process.read("é.py", "<module>", 6, 3)
    given = [["a.py", 3, NULS], [NULS, 6, "<module>"]]
    assert repaired([given], [(3, 11)], process.log, process.memory) == [
        [["a.py", 3, "gé"], ["a.py", 0, "日本"], ["/用户/é.py", 0, "main"], ["é.py", 6, "<module>"]]
    ]


def test_every_thread_gets_its_own_names_also_one_all_of_whose_frames_were_given_up() -> None:
    process = Process()
    process.read("日本.py", "work", 3, 0)
    process.read("é.py", "main", 4, 0)
    assert repaired([[], [], [[NULS, 4, "main"]]], [(3, 11), None, (3, 11)], process.log, process.memory) == [
        [["日本.py", 0, "work"]],
        [],
        [["é.py", 4, "main"]],
    ]


def test_a_name_that_cannot_be_read_is_marked_and_never_zeros() -> None:
    process = Process()
    process.read("é.py", "main", 4, 0)
    marked = [[[UNREADABLE, 4, "main"]]]
    assert repaired([[[NULS, 4, "main"]]], [(3, 11)], process.log, lambda address, size: b"") == marked
    other_lines = [[[NULS, 9, "main"]]]  # not the frames in the log
    assert repaired(other_lines, [(3, 11)], process.log, process.memory) == [[[UNREADABLE, 9, "main"]]]
    assert repaired([[[NULS, 4, "main"]]], [(3, 11)], AddressLog("silent"), process.memory) == marked
