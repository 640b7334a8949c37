"""What the size of a dump costs: one with 500 MB of memory and one of 100 KB, read by triage and by `minidump` alone.

Each is a process of its own; the best of several runs counts. The large file is sparse: its size is real to whoever
maps or reads it, and it takes no room on the disk.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from minidumps import FULL_MEMORY, MEMORY64, tensorflow_dump  # noqa: E402

LARGE, SMALL = 500 << 20, 100 << 10
_RANGES = 2000
RUNS = int(os.environ.get("RUNS", "5"))
MOST_TIMES, MOST_MEGABYTES = 3.0, 60
TRIAGE = "import sys, triage; triage.analyze(sys.argv[1])"
PACKAGE = "import sys; from minidump.minidumpfile import MinidumpFile; MinidumpFile.parse(sys.argv[1])"


class Cost(NamedTuple):
    """What a process took at best: seconds, and its most memory in MB."""

    seconds: float
    megabytes: float


def write_small(path: Path) -> None:
    """A dump of a TensorFlow process with its stack and a little memory."""
    dump = tensorflow_dump()
    stack = SMALL - len(dump.build())
    path.write_bytes(dump.memory(0x110000, bytes(range(256)) * (stack // 256)).build())


def write_large(path: Path) -> None:
    """The same process with all of its memory, in as many ranges as such a process has."""
    dump = tensorflow_dump()
    dump.flags = FULL_MEMORY
    each = LARGE // _RANGES
    ranges = b"".join(struct.pack("<QQ", 0x10000000 + number * 2 * each, each) for number in range(_RANGES))
    dump.streams[MEMORY64] = struct.pack("<QQ", _RANGES, 0) + ranges
    data = bytearray(dump.build())
    at = data.index(ranges) - 8
    struct.pack_into("<Q", data, at, len(data))
    with path.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + LARGE)


def cost(code: str, path: Path) -> Cost:
    """The best of several runs."""
    found = []
    for _ in range(RUNS):
        before = perf_counter()
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=path.parent, stderr=subprocess.DEVNULL)
        _, ended, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
        if process.returncode:
            raise SystemExit(f"{code} failed with {process.returncode}")
        found.append(Cost(perf_counter() - before, usage.ru_maxrss / 1024))
    return Cost(min(one.seconds for one in found), max(one.megabytes for one in found))


def main() -> int:
    """Measure, print, and fail where a target is missed."""
    with tempfile.TemporaryDirectory(prefix="triage-bench-") as directory:
        small, large = Path(directory, "small.dmp"), Path(directory, "large.dmp")
        write_small(small)
        write_large(large)
        print(f"{'':18}{'100 KB dump':>20}{'500 MB full dump':>22}{'ratio':>8}")
        ratios = {}
        for name, code in (("triage.analyze", TRIAGE), ("minidump alone", PACKAGE)):
            first, second = cost(code, small), cost(code, large)
            ratios[name] = second.seconds / first.seconds
            cells = [f"{one.seconds:.3f} s, {one.megabytes:.0f} MB" for one in (first, second)]
            print(f"{name:18}{cells[0]:>20}{cells[1]:>22}{ratios[name]:8.2f}")
            if name == "triage.analyze":
                largest = second.megabytes
        ratio = ratios["triage.analyze"]
        print(f"targets: at most {MOST_TIMES:g} times the time of the small one (it is {ratio:.2f}),", end=" ")
        print(f"at most {MOST_MEGABYTES} MB (it is {largest:.0f})")
        return 0 if ratio <= MOST_TIMES and largest <= MOST_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
