"""The child process that calls pystack: a native parser must not take triage down with it.

`main` writes one JSON object to standard output: `threads`, or `error` and `text`.

pystack takes every string for ASCII. For a name in Latin-1 it returns the bytes before it, mostly zeros; a frame with
any other name it leaves out. But its log has the address of each string, so such names are read here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import struct
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

# A runaway recursion has a hundred thousand frames; its two ends are enough.
_INNERMOST, OUTERMOST = 1200, 100
_MEMORY_LIMIT = 4 << 30
# Only the part that is touched takes memory.
_STACK_SIZES = (1 << 30, 1 << 28, 1 << 25, 0)
# A Python frame: file, line, function.
Frame = list[Any]
Memory = Callable[[int, int], bytes]

_ADDRESS = r"from address (0x[0-9a-f]+)"
_LOGGED = re.compile(
    rf"Copying frame number (\d+)|Copying code struct {_ADDRESS}|Copying filename Python string {_ADDRESS}"
    rf"|Copying code name Python string {_ADDRESS}|Code object location info: line_range=\((-?\d+)"
    rf"|Handling unicode object of version 3 {_ADDRESS}|Copying ASCII data for unicode object {_ADDRESS}"
)
_LONGEST = 4096
_CODE_SIZE = 256
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
UNREADABLE = "<unreadable name>"


def main(arguments: list[str]) -> None:
    """Print the stacks of `process PID` or of `core FILE EXECUTABLE`."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not mix with the JSON
    _stay_small()
    _with_a_deep_stack(lambda: _answer(arguments, answer))


def _answer(arguments: list[str], descriptor: int) -> None:
    """Write the answer and exit at once: freeing a chain of ten thousand frames could crash after all went well."""
    try:
        found: dict[str, Any] = {"threads": _stacks(arguments)}
    except Exception as error:
        found = {"error": type(error).__name__, "text": str(error)}
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as answer:
        json.dump(found, answer)
    os._exit(0)


def _with_a_deep_stack(work: Callable[[], None]) -> None:
    """pystack recurses once per frame: a stack that has just overflowed would overflow its own too."""
    for size in _STACK_SIZES:
        try:
            threading.stack_size(size)
            worker = threading.Thread(target=work)
            worker.start()
        except (RuntimeError, ValueError):  # not enough address space
            continue
        worker.join()
        return


def _stay_small() -> None:
    """Limit the memory, of which a damaged core can ask for any amount; and write no core if the parser crashes."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _MEMORY_LIMIT if most == resource.RLIM_INFINITY else min(_MEMORY_LIMIT, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _stacks(arguments: list[str]) -> list[dict[str, Any]]:
    log = _install_log()
    threads = _threads(arguments)
    versions = [tuple(thread.python_version) if thread.python_version else None for thread in threads]
    stacks = [[[f.code.filename, f.code.location.lineno, f.code.scope] for f in thread.frames] for thread in threads]
    stacks = repaired([stack[::-1] for stack in stacks], versions, log, _memory(arguments))
    return [_thread(thread, stack) for thread, stack in zip(threads, stacks, strict=True)]


def _threads(arguments: list[str]) -> list[Any]:
    from pystack.engine import NativeReportingMode, get_process_threads, get_process_threads_for_core

    # ALL: a thread that does not run Python can crash too. The values of variables are never asked for.
    if arguments[0] == "process":
        return get_process_threads(int(arguments[1]), native_mode=NativeReportingMode.ALL, locals=False)
    core, executable = arguments[1:3]
    return get_process_threads_for_core(core, executable, native_mode=NativeReportingMode.ALL, locals=False)


def _memory(arguments: list[str]) -> Callable[[int, int], bytes]:
    """A function that reads memory, as far as it can be read; nothing is opened before it is called."""

    def of_process(address: int, size: int) -> bytes:
        try:
            with open(f"/proc/{arguments[1]}/mem", "rb", buffering=0) as memory:
                return os.pread(memory.fileno(), size, address)
        except (OSError, OverflowError):
            return b""

    def of_core(address: int, size: int) -> bytes:
        from triage.stacks.core_file import NotACore, read_core

        try:
            cores.extend([] if cores else [read_core(arguments[1])])
            return bytes(cores[0].memory(address, size))
        except (OSError, NotACore):
            return b""

    cores: list[Any] = []
    return of_process if arguments[0] == "process" else of_core


def _thread(thread: Any, python: list[Any]) -> dict[str, Any]:
    native = [[f.address, f.symbol, f.library, f.path, f.linenumber] for f in thread.native_frames]
    return {
        "tid": thread.tid,
        "name": thread.name or "",
        "version": list(thread.python_version or ()),
        "python": _ends(python),
        "native": _ends(native[::-1]),
    }


def _ends(frames: list[Any]) -> dict[str, Any]:
    """The frames, innermost first; of very many both ends, and the number left out between them."""
    left_out = len(frames) - _INNERMOST - OUTERMOST
    if left_out <= 0:
        return {"frames": frames, "left_out": 0}
    return {"frames": frames[:_INNERMOST] + frames[-OUTERMOST:], "left_out": left_out}


class _Code(NamedTuple):
    """The addresses of a frame's code and of its names, and its line unless pystack gave up on the frame."""

    at: int
    file: int | None = None
    function: int | None = None
    line: int | None = None


class AddressLog(logging.Logger):
    """A logger for pystack, which keeps the addresses that pystack logs at every step."""

    def __init__(self, name: str, level: int = logging.NOTSET) -> None:
        super().__init__(name, level)
        # one for each thread that runs Python, innermost frame first
        self.chains: list[list[_Code]] = []
        # the offset of the text in an ASCII string
        self.ascii_size: int | None = None
        self._string = 0

    def isEnabledFor(self, level: int) -> bool:
        """Only DEBUG messages have addresses."""
        return level == logging.DEBUG

    def debug(self, msg: object, *args: object, **more: Any) -> None:
        """Keep the addresses of a message."""
        found = _LOGGED.match(str(msg))
        if found is None:
            return
        frame, code, file, function, line, string, text = found.groups()
        if frame == "0":
            self.chains.append([])
        elif code and self.chains:
            self.chains[-1].append(_Code(int(code, 16)))
        elif file:
            self._add(file=int(file, 16))
        elif function:
            self._add(function=int(function, 16))
        elif line:
            self._add(line=int(line))
        elif string:
            self._string = int(string, 16)
        elif text:
            self.ascii_size = int(text, 16) - self._string

    def _add(self, **fact: int) -> None:
        if self.chains and self.chains[-1]:
            self.chains[-1][-1] = self.chains[-1][-1]._replace(**fact)


def _install_log() -> AddressLog:
    """Make ours the logger of pystack, which must not have been imported yet."""
    former = logging.getLoggerClass()
    logging.setLoggerClass(AddressLog)
    try:
        log = logging.getLogger("pystack._pystack")
    finally:
        logging.setLoggerClass(former)
    assert isinstance(log, AddressLog)
    return log


def repaired(
    stacks: list[list[Frame]], versions: list[tuple[int, ...] | None], log: AddressLog, memory: Memory
) -> list[list[Frame]]:
    """The Python stacks of all threads, each innermost frame first, with the names that pystack could not read.

    `versions` has the version of Python in each thread that runs it.
    """
    chains = [chain for chain in log.chains if chain]
    running = [number for number, version in enumerate(versions) if version]
    found = list(stacks)
    if len(running) == len(chains) and all(map(_fits, (stacks[number] for number in running), chains)):
        has_wide_pointer = (next((version for version in versions if version), None) or ()) < (3, 12)
        names = _Names(memory, log.ascii_size or 0, has_wide_pointer=has_wide_pointer)
        for number, chain in zip(running, chains, strict=True):
            found[number] = _with_names(stacks[number], chain, names)
    return [[_marked(frame) for frame in stack] for stack in found]


def _fits(stack: list[Frame], chain: list[_Code]) -> bool:
    return [frame[1] for frame in stack] == [code.line for code in chain if code.line is not None]


def _with_names(stack: list[Frame], chain: list[_Code], names: _Names) -> list[Frame]:
    given = iter(stack)
    frames: list[Frame] = []
    for code in chain:
        file, line, function = next(given) if code.line is not None else ("\0", 0, "\0")
        if "\0" in file:
            file = names.at(code.file) or file
        if "\0" in function:
            function = names.at(code.function or names.function_of(code)) or function
        frames.append([file, line, function])
    return frames


def _marked(frame: Frame) -> Frame:
    """The frame with unreadable names marked: zeros are not the name, but what comes before it in memory."""
    file, line, function = frame
    return [UNREADABLE if "\0" in file else file, line, UNREADABLE if "\0" in function else function]


class _Names:
    """The strings in the memory of a process, each read once."""

    def __init__(self, memory: Memory, ascii_size: int, *, has_wide_pointer: bool) -> None:
        self._memory = memory
        self._ascii_size = ascii_size
        # The head of an ASCII string ends with length, hash and state, before Python 3.12 also with a pointer. The head
        # of any other string continues with the length and address of its UTF-8, before 3.12 with one more length.
        self._length_at = ascii_size - (32 if has_wide_pointer else 24)
        self._more = 24 if has_wide_pointer else 16
        self._known: dict[int, str | None] = {}

    def at(self, address: int | None) -> str | None:
        """The string at an address, or None if it cannot be read."""
        if address is None or self._length_at < 0:
            return None
        if address not in self._known:
            self._known[address] = self._read(address)
        return self._known[address]

    def function_of(self, code: _Code) -> int | None:
        """The address of a function's name: a code object has it right after the name of its file."""
        words = self._memory(code.at, _CODE_SIZE)
        at = words.find(struct.pack("<Q", code.file)) if code.file else -1
        return int.from_bytes(words[at + 8 : at + 16], "little") if at >= 0 else None

    def _read(self, address: int) -> str | None:
        head = self._memory(address, self._ascii_size)
        if len(head) < self._ascii_size:
            return None
        length, _, state = struct.unpack_from("<qqI", head, self._length_at)
        kind, is_compact, is_ascii = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
        if kind not in _ENCODINGS or not is_compact or not 0 < length <= _LONGEST:
            return None
        start = address + self._ascii_size + (0 if is_ascii else self._more)
        text = self._memory(start, length * kind)
        if len(text) < length * kind:
            return None
        name = text.decode(_ENCODINGS[kind], "replace")
        return None if "\0" in name else name
