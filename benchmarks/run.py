"""What `triage run` costs: beside the same program without it, in pairs that take turns, as ratios.

make bench-run           all of it: 9 pairs of a healthy fit, 9 of a script that does nothing, a crash against gdb
make bench-run PAIRS=1   the short version
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PAIRS = int(os.environ.get("PAIRS", "9"))
# The Python that has TensorFlow; ours has triage as people install it.
TENSORFLOW = os.environ.get("TENSORFLOW_PYTHON", sys.executable)
TRIAGE = str(Path(sys.executable).parent / "triage")
FIT = HERE / "benchmarks" / "healthy_fit.py"
CRASHER = HERE / "fixtures" / "crashers" / "pool_window.py"
HOLD = """
import os, sys, time
from triage.capture.hook_files import FaultDirectory
from triage.capture.posix.held_process import read_crashed
from triage.frames import name_of
faults, pid = FaultDirectory.__new__(FaultDirectory), int(sys.argv[2])
faults.path = sys.argv[1]
began = time.perf_counter()
held = read_crashed(pid, faults)
frames = [name_of(frame) for thread in held.threads if thread.crashed for frame in thread.native_stack]
print(time.perf_counter() - began, len(frames), frames[0] if frames else "none", held.fault and held.fault.instruction)
"""


def cpu_seconds(command: list[str]) -> float:
    """The CPU time of a command and of everything that it started and waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall_seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - began


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def healthy_fit() -> None:
    without, with_us = [], []
    for _ in range(PAIRS):
        without.append(cpu_seconds([TENSORFLOW, str(FIT)]))
        with_us.append(cpu_seconds([TRIAGE, "run", "--python", TENSORFLOW, str(FIT)]))
    pairs = ", ".join(f"{b / a:.3f}" for a, b in zip(without, with_us, strict=True))
    print(f"healthy fit, CPU s, median of {PAIRS}: without {median(without):.2f}, with {median(with_us):.2f}")
    print(f"  ratio of medians {median(with_us) / median(without):.3f} (wanted: at most 1.03); pair by pair: {pairs}")


def nothing_at_all() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        plain, ran, click = [], [], []
        wall_seconds([TRIAGE, "run", script.name])
        for _ in range(PAIRS):
            plain.append(wall_seconds([sys.executable, script.name]))
            ran.append(wall_seconds([TRIAGE, "run", "--python", sys.executable, script.name]))
            click.append(wall_seconds([sys.executable, "-c", "import click"]))
    more = median(ran) - median(plain)
    print(f"empty script, ms, median of {PAIRS}: without {median(plain) * 1000:.0f}, with {median(ran) * 1000:.0f}")
    print(f"  {more * 1000:.0f} ms more, {more / median(click):.2f} x `import click` (wanted: at most 2)")


def crash_to_stack() -> None:
    """The same crash twice: held and read by us, and as a core read by gdb with its defaults."""
    if not shutil.which("gdb"):
        print("crash to native stack: not measured, gdb is not installed")
        return
    with tempfile.TemporaryDirectory() as directory:
        core = make_core(Path(directory))
        if core is None:
            print("crash to native stack: not measured, this system writes no core into the working directory")
            return
        began = time.perf_counter()
        gdb = subprocess.Popen(
            ["gdb", "-batch", "-ex", "bt", TENSORFLOW, str(core)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert gdb.stdout
        frames = gdb.stdout.read().count(b"\n#")
        _, _, usage = os.wait4(gdb.pid, 0)
        theirs = time.perf_counter() - began
        print(
            f"crash to native stack: gdb -batch -ex bt on the core: {theirs:.1f} s, {usage.ru_maxrss >> 10} MB,",
            frames,
            "frames",
        )
        ours, memory, stack = hold_and_read(Path(directory))
        print(f"  held and read by us: {ours:.2f} s, {memory >> 10} MB, {stack}")
        print(f"  {theirs / ours:.1f} x faster (wanted: at least 10 x and at most 500 MB)")


def make_core(directory: Path) -> Path | None:
    def allow_cores() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1"}
    subprocess.run(
        [TENSORFLOW, str(CRASHER)], cwd=directory, env=environment, preexec_fn=allow_cores, capture_output=True
    )
    return next(iter(directory.glob("core*")), None)


def hold_and_read(directory: Path) -> tuple[float, int, str]:
    """Seconds, peak KiB of the largest process among the collectors, and what they found."""
    from triage.capture.hook_files import FaultDirectory

    faults = FaultDirectory()
    environment = {**faults.environment(hold=True, framework_log=False), "TF_ENABLE_ONEDNN_OPTS": "1"}
    child = subprocess.Popen([TENSORFLOW, str(CRASHER)], env=environment, cwd=directory, stderr=subprocess.DEVNULL)
    while not faults.look().dumped:
        time.sleep(0.05)
    child.send_signal(signal.SIGSTOP)
    reader = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(faults.path), str(child.pid)], stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout
    seconds, _, stack = reader.stdout.read().partition(" ")
    _, _, usage = os.wait4(reader.pid, 0)
    child.wait()
    faults.remove()
    return float(seconds), usage.ru_maxrss, stack.strip() + " (frames, innermost, instruction)"


if __name__ == "__main__":
    nothing_at_all()
    healthy_fit()
    crash_to_stack()
