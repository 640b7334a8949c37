"""Memory after a failure: real processes of this machine, and recorded trees of machines that are built otherwise."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from triage.capture import memory
from triage.capture.memory import Limit, OomCounters, limits_of, memory_facts

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
GIB = 1 << 30
NOT_HERE: dict[str, str] = {}
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


@contextmanager
def child(code: str) -> Iterator[int]:
    """A Python that runs some code and then waits; its process id."""
    waits = f"{code}\nprint('ready', flush=True)\nimport sys; sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


def tree(root: Path, files: dict[str, str]) -> str:
    """A recorded machine: these files below a directory."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def unified(root: Path, **files: str) -> str:
    """A machine with cgroup v2 whose process is in /job.slice/run.scope."""
    group = "sys/fs/cgroup/"
    return tree(
        root,
        {
            "proc/self/cgroup": "0::/job.slice/run.scope\n",
            "proc/self/mountinfo": V2_MOUNT,
            "proc/meminfo": "MemTotal:       16777216 kB\nMemFree: 1 kB\nSwapTotal:       2097152 kB\n",
            f"{group}cgroup.controllers": "cpu memory pids\n",
            f"{group}job.slice/cgroup.controllers": "cpu memory pids\n",
            f"{group}job.slice/run.scope/cgroup.controllers": "memory pids\n",
            **{f"{group}{name.replace('__', '/').replace('_DOT_', '.')}": text for name, text in files.items()},
        },
    )


def cgroup_limits(root: str, environ: dict[str, str] = NOT_HERE) -> list[Limit]:
    return [limit for limit in limits_of(None, root, environ) if "cgroup" in limit.source]


# real processes


def test_the_peak_of_a_living_process_includes_memory_that_it_gave_back() -> None:
    with child("block = bytearray(120 << 20); del block") as pid:
        usage = memory.memory_of(pid)
    assert usage.peak_rss and usage.peak_rss > 120 << 20
    assert usage.peak_virtual and usage.peak_virtual > usage.peak_rss


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    with child("") as pid:
        pass
    assert memory.memory_of(pid) == memory.Usage()
    facts = memory_facts(5 * GIB, None, OomCounters(), pid)
    assert facts.peak_bytes == 5 * GIB


def test_an_address_space_limit_is_compared_with_the_virtual_peak() -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))"
    with child(f"{limited}\nimport mmap; block = mmap.mmap(-1, 1800 << 20)") as pid:
        facts = memory_facts(50 << 20, None, memory.limits_before(), pid)
    assert (facts.limit_bytes, facts.limit_source) == (2 * GIB, "RLIMIT_AS")
    assert facts.peak_bytes and 0.88 < facts.peak_bytes / facts.limit_bytes <= 1, "nothing of the block is resident"


def test_a_data_limit_is_compared_with_the_data_segment() -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20))"
    with child(f"{limited}\nblock = bytearray(360 << 20)") as pid:
        facts = memory_facts(None, None, OomCounters(), pid)
    assert facts.limit_source == "RLIMIT_DATA"
    assert facts.peak_bytes and facts.limit_bytes and facts.peak_bytes / facts.limit_bytes > 0.9


def test_this_machine_has_a_limit_and_counts_kills() -> None:
    before = memory.limits_before()
    assert limits_of()
    assert before.machine is not None
    assert memory.kills_since(before) == 0


def test_the_snapshot_is_cheap_and_loads_nothing_heavy() -> None:
    memory.limits_before()
    times = []
    for _ in range(20):
        started = time.perf_counter()
        memory.limits_before()
        times.append(time.perf_counter() - started)
    assert sorted(times)[len(times) // 2] < 0.001
    loads = (
        "import sys, triage.capture.memory; print(sorted({'subprocess', 'psutil', 're2', 'json'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# kills


def test_kills_are_the_cgroups_where_it_counts_them(tmp_path: Path) -> None:
    root = unified(
        tmp_path, job_DOT_slice__run_DOT_scope__memory_DOT_events="low 0\noom 4\noom_kill 3\noom_group_kill 0\n"
    )
    tree(tmp_path, {"proc/vmstat": "nr_free_pages 7\noom_kill 9\n"})
    assert memory.limits_before(root) == OomCounters(cgroup=3, machine=9)
    assert memory.kills_since(OomCounters(cgroup=1, machine=1), root) == 2


def test_a_kill_elsewhere_on_the_machine_is_not_ours_where_the_cgroup_knows(tmp_path: Path) -> None:
    root = unified(tmp_path, job_DOT_slice__run_DOT_scope__memory_DOT_events="oom_kill 0\n")
    tree(tmp_path, {"proc/vmstat": "oom_kill 9\n"})
    assert memory.kills_since(OomCounters(cgroup=0, machine=8), root) == 0


def test_where_only_the_machine_counts_its_kills_are_taken(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/vmstat": "oom_kill 9\n"})
    assert memory.kills_since(OomCounters(None, 8), root) == 1
    assert memory.kills_since(OomCounters(None, 9), root) == 0


def test_nothing_counts_kills(tmp_path: Path) -> None:
    assert memory.limits_before(str(tmp_path)) == OomCounters(None, None)
    assert memory.kills_since(OomCounters(1, 1), str(tmp_path)) is None
    assert memory_facts(1, 1, OomCounters(), None, str(tmp_path), NOT_HERE).oom_kills is None


def test_version_1_counts_in_another_file(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/box\n0::/\n",
        "proc/self/mountinfo": "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        "sys/fs/cgroup/memory/box/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    }
    assert memory.limits_before(tree(tmp_path, files)) == OomCounters(cgroup=2, machine=None)


# limits


def test_the_tightest_ancestor_of_a_unified_cgroup_holds(tmp_path: Path) -> None:
    root = unified(
        tmp_path,
        job_DOT_slice__run_DOT_scope__memory_DOT_max="max\n",
        job_DOT_slice__memory_DOT_max=f"{4 * GIB}\n",
    )
    assert cgroup_limits(root) == [Limit(4 * GIB, "limit (cgroup v2)", "resident")]
    assert min(limits_of(None, root, NOT_HERE)) == Limit(4 * GIB, "limit (cgroup v2)", "resident")


@pytest.mark.parametrize(
    ("marker", "environ", "kind"),
    [
        (".dockerenv", NOT_HERE, "Docker"),
        ("run/.containerenv", NOT_HERE, "Podman"),
        (None, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "Kubernetes"),
    ],
)
def test_a_container_is_known_by_its_marks(
    tmp_path: Path, marker: str | None, environ: dict[str, str], kind: str
) -> None:
    root = unified(tmp_path, job_DOT_slice__memory_DOT_max=f"{GIB}\n")
    assert memory.container(root, NOT_HERE) is None
    if marker:
        tree(tmp_path, {marker: ""})
    assert memory.container(root, environ) == kind
    assert cgroup_limits(root, environ)[0].source == "container limit (cgroup v2)"


def test_a_container_is_known_by_its_cgroup(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/self/cgroup": "0::/kubepods.slice/pod1/cri-containerd-ab.scope\n"})
    assert memory.container(root, NOT_HERE) == "kubepods"


def test_inside_a_container_the_mount_is_the_containers_own_cgroup(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:cpu,memory:/docker/ab12\n0::/\n",
        "proc/self/mountinfo": "35 31 0:32 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n",
        ".dockerenv": "",
    }
    assert cgroup_limits(tree(tmp_path, files)) == [Limit(2 * GIB, "container limit (cgroup v1)", "resident")]


def test_version_1_writes_no_limit_as_a_huge_one_and_inherits_from_above(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/box/"
    files = {
        "proc/self/cgroup": "4:memory:/box\n",
        "proc/self/mountinfo": "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        f"{group}memory.limit_in_bytes": "9223372036854771712\n",
        f"{group}memory.stat": "cache 1\nhierarchical_memory_limit 9223372036854771712\n",
    }
    root = tree(tmp_path, files)
    assert cgroup_limits(root) == []
    tree(tmp_path, {f"{group}memory.stat": f"cache 1\nhierarchical_memory_limit {3 * GIB}\n"})
    assert cgroup_limits(root) == [Limit(3 * GIB, "limit (cgroup v1)", "resident")]


def test_where_both_versions_are_mounted_the_one_that_has_the_controller_holds(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/box\n0::/box\n",
        "proc/self/mountinfo": (
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        ),
        "sys/fs/cgroup/unified/cgroup.controllers": "\n",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{GIB}\n",
    }
    assert cgroup_limits(tree(tmp_path, files))[0].source == "limit (cgroup v1)"


def test_a_cgroup_that_lies_outside_the_mount_falls_back_to_the_mount(tmp_path: Path) -> None:
    root = unified(tmp_path, memory_DOT_max=f"{GIB}\n")
    tree(tmp_path, {"proc/self/cgroup": "0::/../../elsewhere\n"})
    assert [limit.bytes for limit in cgroup_limits(root)] == [GIB]


def test_the_machine_is_the_last_limit_and_its_swap_is_mentioned(tmp_path: Path) -> None:
    limit = min(limits_of(None, unified(tmp_path), NOT_HERE))
    assert limit == Limit(16 * GIB, "the machine's memory, 2.0 GiB of swap besides", "resident")


def test_nothing_can_be_read(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert limits_of(None, root, NOT_HERE) == []
    assert memory_facts(7, None, OomCounters(), None, root, NOT_HERE) == memory.Memory(peak_bytes=7)


@pytest.mark.parametrize("text", ["", "garbage", "0:", "0::", ":::::", "\0\0", "4:memory:/box\n" * 3])
def test_broken_files_are_no_error(tmp_path: Path, text: str) -> None:
    names = ("cgroup", "mountinfo", "limits", "status")
    root = tree(tmp_path, {**{f"proc/self/{name}": text for name in names}, "proc/meminfo": text, "proc/vmstat": text})
    assert memory_facts(7, 8, memory.limits_before(root), 1, root, NOT_HERE).peak_bytes == 7


# which limit is reported


def limits_text(address_space: str) -> str:
    return f"Limit                     Soft Limit\nMax address space         {address_space}   unlimited   bytes\n"


@pytest.mark.parametrize(
    ("peak_rss", "peak_virtual", "source", "peak"),
    [
        (3 * GIB, 9 * GIB, "RLIMIT_AS", 9 * GIB),
        (15 * GIB, 5 * GIB, "the machine's memory, 2.0 GiB of swap besides", 15 * GIB),
        # The limit that nothing is known of may have been reached, so a share of another one would mislead.
        (3 * GIB, None, "RLIMIT_AS", None),
        # But a limit that was reached needs no other.
        (15 * GIB, None, "the machine's memory, 2.0 GiB of swap besides", 15 * GIB),
    ],
)
def test_the_limit_that_was_nearly_reached_is_reported(
    tmp_path: Path, peak_rss: int, peak_virtual: int | None, source: str, peak: int | None
) -> None:
    root = unified(tmp_path)
    tree(tmp_path, {"proc/self/limits": limits_text(str(10 * GIB))})
    facts = memory_facts(peak_rss, peak_virtual, OomCounters(), None, root, NOT_HERE)
    assert (facts.limit_source, facts.peak_bytes) == (source, peak)
