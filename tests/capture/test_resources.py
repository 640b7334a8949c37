"""What else runs out: threads of a real process against recorded limits, and shared memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triage.capture.memory import refusals_before, resources_of
from triage.crash import Resources

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
GROUP = "sys/fs/cgroup/job/"


def machine(root: Path, **changes: str) -> str:
    """A machine with cgroup v2 on which process 7 of user 1000 has 40 threads."""
    files = {
        "proc/self/cgroup": "0::/job\n",
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/7/cgroup": "0::/job\n",
        "proc/7/status": "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nThreads:\t40\n",
        "proc/7/limits": "Max processes             4096      4096      processes\n",
        "proc/7/maps": "one\ntwo\n",
        "proc/8/status": "Name:\tother\nUid:\t1000\t1000\t1000\t1000\nThreads:\t8\n",
        "proc/9/status": "Name:\tanother\nUid:\t0\t0\t0\t0\nThreads:\t500\n",
        "proc/loadavg": "0.1 0.2 0.3 2/548 99\n",
        "proc/sys/kernel/threads-max": "100000\n",
        "proc/sys/kernel/pid_max": "32768\n",
        "proc/sys/vm/max_map_count": "65530\n",
        f"{GROUP}cgroup.controllers": "pids\n",
        f"{GROUP}pids.max": "100\n",
        f"{GROUP}pids.current": "41\n",
        f"{GROUP}pids.events": "max 3\n",
        **{name.replace("__", "/"): text for name, text in changes.items()},
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def threads(resources: Resources) -> tuple[int | None, int | None, str | None]:
    return resources.threads, resources.thread_limit, resources.thread_limit_source


def test_a_real_process_with_many_threads_is_counted() -> None:
    code = (
        "import sys, threading\nstop = threading.Event()\n"
        "for _ in range(30): threading.Thread(target=stop.wait, daemon=True).start()\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        found = resources_of(process.pid)
        process.kill()
    assert found.threads and found.threads > 30
    assert found.thread_limit and found.thread_limit > found.threads
    assert found.thread_limit_source


def test_the_closest_limit_is_reported(tmp_path: Path) -> None:
    assert threads(resources_of(7, root=machine(tmp_path))) == (41, 100, "pids.max (cgroup v2)")


def test_a_users_limit_counts_all_processes_of_the_user_and_nobody_elses(tmp_path: Path) -> None:
    limits = "Max processes             50      4096      processes\n"
    root = machine(tmp_path, **{f"{GROUP}pids.max": "max\n", "proc__7__limits": limits})
    assert threads(resources_of(7, root=root)) == (48, 50, "RLIMIT_NPROC (ulimit -u)")


def test_root_is_not_held_to_the_users_limit(tmp_path: Path) -> None:
    limits = "Max processes             50      4096      processes\n"
    status = "Uid:\t0\t0\t0\t0\nThreads:\t40\n"
    changes = {f"{GROUP}pids.max": "max\n", "proc__7__limits": limits, "proc__7__status": status}
    assert threads(resources_of(7, root=machine(tmp_path, **changes))) == (548, 32768, "kernel.pid_max")


def test_memory_maps_are_reported_only_when_they_have_run_out(tmp_path: Path) -> None:
    full = {"proc__7__maps": "map\n" * 99, "proc__sys__vm__max_map_count": "100\n"}
    assert threads(resources_of(7, root=machine(tmp_path, **full))) == (
        99,
        100,
        "vm.max_map_count: memory maps, not threads",
    )


def test_a_process_that_is_gone_has_no_threads_but_its_limit_is_known(tmp_path: Path) -> None:
    assert threads(resources_of(12345, root=machine(tmp_path))) == (None, 100, "pids.max (cgroup v2)")


def test_the_cgroup_remembers_that_it_refused_a_thread(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert refusals_before(root) == 3
    assert threads(resources_of(None, 3, root)) == (None, 100, "pids.max (cgroup v2)")
    assert threads(resources_of(None, 2, root)) == (100, 100, "pids.max (cgroup v2)")


def test_shared_memory_is_measured() -> None:
    found = resources_of()
    state = os.statvfs("/dev/shm")
    assert found.shm_bytes == state.f_blocks * state.f_frsize
    assert found.shm_free_bytes is not None and found.shm_free_bytes <= found.shm_bytes


def test_nothing_can_be_read(tmp_path: Path) -> None:
    assert resources_of(7, 1, str(tmp_path)) == Resources()
