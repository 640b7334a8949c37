"""The modules of a process: which of them holds an address, which library it is, and whether it is the person's own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from triage import digits
from triage.crash import Library, base_name
from triage.stacks import libraries

_PYTHON = re.compile(r"(?i)^(?:lib)?python(\d)\.?(\d+)(?:[td]|_d)?(?:\.dll|\.so)")
_INTERPRETER = re.compile(r"(?i)^(?:vrt)?python(?:w|[\d.]+)?(?:_d)?(?:\.exe)?$")
_CUDNN = re.compile(r"(?i)^cudnn64_(\d+)\.dll$")
# NVIDIA numbers the files of CUDA like those of a driver, with the release of CUDA at the end: 6.14.11.11020 is 11.2.
_OF_DRIVER = re.compile(r"^6\.14\.11\.(\d{4,5})$")
# Names that programs trust; a file that only looks like one of them may have been put there.
_WELL_KNOWN = (
    "ntdll.dll",
    "kernel32.dll",
    "kernelbase.dll",
    "user32.dll",
    "advapi32.dll",
    "ws2_32.dll",
    "ucrtbase.dll",
    "msvcrt.dll",
    "vcruntime140.dll",
    "msvcp140.dll",
    "nvcuda.dll",
)
_LOOKS_LIKE = str.maketrans({"1": "l", "i": "l", "0": "o", "5": "s", "|": "l"})


class Module(NamedTuple):
    """A library or the program itself. `name` is its path as the dump has it.

    `timestamp` and `size` are those of its PE header; together they identify the build.
    """

    base: int
    size: int
    name: str
    timestamp: int = 0
    checksum: int = 0
    version: str | None = None

    @property
    def file(self) -> str:
        """Its name without the folders."""
        return base_name(self.name) if self.name else "unnamed module"

    def holds(self, address: int) -> bool:
        """Whether an address lies in it."""
        return self.base <= address < self.base + self.size


class ModuleMap:
    """The modules of a process by address, found by bisection: scanning a stack asks thousands of times."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._modules = sorted((module for module in modules if module.size > 0), key=lambda module: module.base)
        self._starts = [module.base for module in self._modules]

    def at(self, address: int) -> Module | None:
        """The module that holds an address."""
        index = bisect_right(self._starts, address) - 1
        return self._modules[index] if index >= 0 and self._modules[index].holds(address) else None


def libraries_of(modules: Iterable[Module]) -> tuple[Library, ...]:
    """The libraries among the modules, those first that signatures ask for most."""
    return libraries.libraries_with((module.name, _version(module)) for module in modules)


def loaded_twice(modules: Iterable[Module]) -> tuple[str, ...]:
    """A sentence for each thing of which a process should have one and has two."""
    return libraries.loaded_twice(module.name for module in modules)


def python_of(modules: Iterable[Module]) -> str | None:
    """The version of Python, from the file that is the interpreter."""
    for module in modules:
        if match := _PYTHON.match(module.file):
            fields = (module.version or "").split(".")
            release = digits.whole(fields[2]) if len(fields) == 4 and fields[:2] == [match[1], match[2]] else None
            if release is not None:
                # Python's builders put the release into the third field: 3.11.9 is 3.11.9150.
                return f"{match[1]}.{match[2]}.{release // 1000}"
            return f"{match[1]}.{match[2]}" if match[2] else None
    return None


def interpreter_of(modules: Iterable[Module]) -> str | None:
    """The path of the program, where that is a Python."""
    program = next(iter(modules), None)
    return program.name if program is not None and _INTERPRETER.match(program.file) else None


def look_alike(name: str) -> str | None:
    """The well-known library that a name imitates, if any."""
    lower = base_name(name).lower()
    if lower in _WELL_KNOWN:
        return None
    shape = lower.translate(_LOOKS_LIKE)
    return next((known for known in _WELL_KNOWN if known.translate(_LOOKS_LIKE) == shape), None)


def _version(module: Module) -> str | None:
    if module.version is None:
        return None
    if match := _OF_DRIVER.match(module.version):
        number = int(match[1])
        # Nothing tells the number of cuDNN itself then.
        return None if module.file.lower().startswith("cudnn") else f"{number // 1000}.{number % 1000 // 10}"
    cudnn = _CUDNN.match(module.file)
    if cudnn and module.version.split(".")[0] != cudnn[1]:
        return None
    return module.version
