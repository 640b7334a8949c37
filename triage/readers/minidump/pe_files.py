"""Finding the PE file of a module: at its own path, or in directories that the person names.

A file counts only where it is the very build that was loaded (same timestamp, same size): unwinding with another build
would give frames that look right and are wrong.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Protocol

from triage.readers.minidump.memory import AddressSpace
from triage.readers.minidump.module_list import Module
from triage.readers.minidump.pe import Header, Image, memory_image, read_header
from triage.stacks.untrusted_paths import UntrustedPaths

_SUFFIXES = (".dll", ".exe", ".pyd", ".drv", ".ocx", ".cpl", ".sys")
_MAX_FILES_LOOKED_AT = 200_000
_MAX_SAME_NAME = 16
# A path of another machine, \\server\share or \??\UNC, would make us talk to that machine: only drives are opened.
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Images(Protocol):
    """Where the images of modules are found."""

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        ...


class InFile:
    """The image as its file holds it: each section is read from its place in the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.header: Header | None = None

    def read(self, rva: int, size: int) -> bytes:
        """The bytes at an address of the image."""
        if rva < 0 or size <= 0 or self._data.closed:
            return b""
        if self.header is None or rva < self.header.header_size:
            return self._data[rva : rva + size]
        for section in self.header.sections:
            if section.holds(rva):
                within = rva - section.rva
                length = min(size, section.file_size - within, section.size - within)
                start = section.file_offset + within
                return self._data[start : start + length] if length > 0 else b""
        return b""


class ImageFinder:
    """Answers with the image of a module: from its own path, from the named directories, or from the dump's memory.

    `notes` has a sentence for each file that was found and not used, and for what was left out.
    """

    def __init__(self, memory: AddressSpace | None = None, directories: Iterable[str] = ()) -> None:
        self._memory = memory
        self._directories = tuple(directories)
        self._by_name: dict[str, list[str]] | None = None
        self._images: dict[Module, Image | None] = {}
        self._open: list[mmap.mmap] = []
        self._files = UntrustedPaths(*self._directories)
        self.notes: list[str] = []

    def __enter__(self) -> ImageFinder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files; images from files hold nothing afterwards."""
        self._images.clear()
        for data in self._open:
            data.close()
        self._open.clear()

    def image(self, module: Module) -> Image | None:
        """The image of a module, if it is found anywhere."""
        if module not in self._images:
            self._images[module] = self._from_file(module) or self._from_memory(module)
        return self._images[module]

    def _from_memory(self, module: Module) -> Image | None:
        image = memory_image(self._memory, module.base) if self._memory else None
        return image if image and _is_build_of(image.header, module) else None

    def _from_file(self, module: Module) -> Image | None:
        other_builds = []
        for path in self._candidates(module):
            image = self._read_file(path)
            if image and _is_build_of(image.header, module):
                return image
            if image:
                other_builds.append(path)
        if other_builds:
            self.notes.append(
                f"{module.file} was found, but it is another build than the one that was loaded "
                f"(timestamp 0x{module.timestamp:08X}, size {module.size:,}), so it is not used: {other_builds[0]}"
            )
        return None

    def _candidates(self, module: Module) -> Iterator[str]:
        if path := self._named(module.name):
            yield path
        if self._directories and self._by_name is None:
            self._by_name = self._index()
        yield from (self._by_name or {}).get(module.file.lower(), [])

    def _named(self, name: str) -> str | None:
        """The file under the name that the dump has for it, where it may be opened."""
        if not local_path(name):
            return None
        return name if os.name == "nt" else self._files.look(name).real

    def _index(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = {}
        looked_at = 0
        for directory in self._directories:
            if not os.path.isdir(directory):
                self.notes.append(f"{directory} is no directory: no library was looked for there")
            for folder, _, names in os.walk(directory):
                looked_at += len(names)
                if looked_at > _MAX_FILES_LOOKED_AT:
                    self.notes.append(
                        f"{directory} holds too many files: only the first {_MAX_FILES_LOOKED_AT:,} were looked at; "
                        "name a folder further in"
                    )
                    return by_name
                for name in names:
                    if name.lower().endswith(_SUFFIXES):
                        same = by_name.setdefault(name.lower(), [])
                        if len(same) < _MAX_SAME_NAME:
                            same.append(os.path.join(folder, name))
        return by_name

    def _read_file(self, path: str) -> Image | None:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # gone, forbidden, empty, or a name that no system allows
            return None
        held = InFile(data)
        held.header = read_header(held)
        if held.header is None:
            data.close()
            return None
        self._open.append(data)
        return Image(held.header, held, "file")


def local_path(name: str, windows: bool = os.name == "nt") -> bool:
    """Whether the path of a module can be opened here without asking another machine for it."""
    if "\0" in name:
        return False
    return bool(_ON_A_DRIVE.match(name)) if windows else name.startswith("/")


def _is_build_of(header: Header, module: Module) -> bool:
    """Whether an image is the build that was loaded; without a timestamp the checksum has to say it."""
    if header.size != module.size or header.timestamp != module.timestamp:
        return False
    return bool(module.timestamp) or bool(module.checksum and module.checksum == header.checksum)
