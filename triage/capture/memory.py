"""What can run out: memory, and below it threads, memory maps and shared memory; how much was used of which limit.

Everything is read from /proc and the cgroup files, and what cannot be read is None. `root` is where those files are
looked for, so that the record of another machine can be read too. Annotations are not postponed here: named tuples
would compile each of them, and this is loaded before every run.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.crash import Memory, Resources

# Version 1 writes "no limit" as the largest number of whole pages; nobody has a machine with an exbibyte.
_UNLIMITED = 1 << 60
# From this share on, a limit is taken for the one that was reached, whatever is unknown about the others.
_AT_LIMIT = 0.9
_CONTAINER_WORDS = ("docker", "kubepods", "libpod", "containerd", "crio", "lxc", "garden")
# Memory maps are mentioned only when there are hardly any left.
_FULL = 0.95
RESIDENT, VIRTUAL, DATA = "resident", "virtual", "data"


class OomCounters(NamedTuple):
    """How many processes the kernel has killed for memory so far: of our cgroup, and on the whole machine."""

    cgroup: int | None = None
    machine: int | None = None


class Usage(NamedTuple):
    """The highest resident and virtual size of a process so far, and its data segment as it is now, in bytes."""

    peak_rss: int | None = None
    peak_virtual: int | None = None
    data: int | None = None


class Limit(NamedTuple):
    """A limit in bytes, whose it is, and which kind of memory counts against it."""

    bytes: int
    source: str
    counts: str


class Cgroup(NamedTuple):
    """A process's cgroup for one controller: its own directory first, then every ancestor that can be seen."""

    version: int
    directories: tuple[str, ...]


class ThreadCount(NamedTuple):
    """How many threads (or maps) there are, how many there may be, and whose limit that is."""

    used: int | None
    limit: int
    source: str

    @property
    def share(self) -> float:
        """How much of the limit is used; an unknown number counts as none."""
        return (self.used or 0) / max(1, self.limit)


def limits_before(root: str = "/") -> OomCounters:
    """A snapshot of the kernel's kill counters, cheap enough to take before every run."""
    group = cgroup_of("memory", None, root)
    own = None
    if group is not None:
        # Version 2 adds up the cgroups below; version 1 counts its own processes only, and a child stays with us.
        name = "memory.events" if group.version == 2 else "memory.oom_control"
        own = _number_after("oom_kill", read(group.directories[0], name))
    return OomCounters(own, _number_after("oom_kill", read(root, "proc/vmstat")))


def kills_since(before: OomCounters, root: str = "/") -> int | None:
    """How many kills for memory were counted since a snapshot; None where nothing counts them.

    Our cgroup's count is preferred: on the machine as a whole another process may be the victim.
    """
    now = limits_before(root)
    if before.cgroup is not None and now.cgroup is not None:
        return max(0, now.cgroup - before.cgroup)
    if before.machine is not None and now.machine is not None:
        return max(0, now.machine - before.machine)
    return None


def memory_of(pid: int, root: str = "/") -> Usage:
    """What a process that is still there (running or held) has used; all None once it is gone."""
    sizes = dict(line.split(":", 1) for line in read(root, f"proc/{pid}/status").splitlines() if ":" in line)
    return Usage(_kibibytes(sizes.get("VmHWM")), _kibibytes(sizes.get("VmPeak")), _kibibytes(sizes.get("VmData")))


def limits_of(pid: int | None = None, root: str = "/", environ: Mapping[str, str] = os.environ) -> list[Limit]:
    """Every limit that holds for a process (ours where it is None or gone, since a child inherits them)."""
    limits = list(_cgroup_limits(pid, root, environ))
    limits += _process_limits(pid, root)
    total = _machine_memory(root)
    if total is not None:
        limits.append(total)
    return limits


def memory_facts(
    peak_rss: int | None,
    peak_virtual: int | None,
    before: OomCounters,
    pid: int | None = None,
    root: str = "/",
    environ: Mapping[str, str] = os.environ,
) -> Memory:
    """The figures of a process that failed, with the limit that it came closest to."""
    usage = memory_of(pid, root) if pid is not None else Usage()
    used = {
        RESIDENT: _largest(peak_rss, usage.peak_rss),
        VIRTUAL: _largest(peak_virtual, usage.peak_virtual),
        DATA: usage.data,
    }
    limits = limits_of(pid, root, environ)
    known = [limit for limit in limits if used[limit.counts] is not None]
    closest = max(known, key=lambda limit: (used[limit.counts] or 0) / max(1, limit.bytes), default=None)
    unknown = min((limit for limit in limits if limit not in known), key=lambda limit: limit.bytes, default=None)
    if closest is None or (unknown and (used[closest.counts] or 0) < _AT_LIMIT * closest.bytes):
        # A limit that may have been reached matters more than one that was not: better no share than a low one.
        closest = unknown
    return Memory(
        peak_bytes=used[closest.counts] if closest else used[RESIDENT],
        limit_bytes=closest.bytes if closest else None,
        limit_source=closest.source if closest else None,
        oom_kills=kills_since(before, root),
    )


def container(root: str = "/", environ: Mapping[str, str] = os.environ) -> str | None:
    """Which kind of container this is, None outside of one that we know."""
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "Kubernetes"
    if os.path.exists(os.path.join(root, ".dockerenv")):
        return "Docker"
    if os.path.exists(os.path.join(root, "run/.containerenv")):
        return "Podman"
    paths = read(root, "proc/self/cgroup").lower()
    return next((word for word in _CONTAINER_WORDS if word in paths), None)


def cgroup_of(controller: str, pid: int | None = None, root: str = "/") -> Cgroup | None:
    """Where a process's cgroup for a controller (memory, pids) lies in the file system."""
    memberships = (pid is not None and read(root, f"proc/{pid}/cgroup")) or read(root, "proc/self/cgroup")
    paths: dict[str, str] = {}
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths.update((name, path) for name in controllers.split(","))
    for version, inside, point in _cgroup_mounts(controller, root):
        # The unified hierarchy is listed without a controller's name.
        member = paths.get(controller if version == 1 else "")
        if member is None:
            continue
        directories = tuple(_upwards(root, inside, point, member))
        # Both versions may be mounted, and then a controller is in one of them only.
        if version == 1 or any(controller in read(d, "cgroup.controllers").split() for d in directories):
            return Cgroup(version, directories)
    return None


def read(root: str, path: str) -> str:
    """A file's text, empty where it cannot be read."""
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def limit_in(text: str, name: str) -> int | None:
    """A soft limit from the text of /proc/PID/limits, None where there is none."""
    for line in text.splitlines():
        if line.startswith(name):
            value = line[len(name) :].split()[:1]
            return int(value[0]) if value and value[0].isdigit() else None
    return None


def _cgroup_mounts(controller: str, root: str) -> Iterator[tuple[int, str, str]]:
    """The mounts that may hold a controller: version, the cgroup that is mounted, and where."""
    for line in read(root, "proc/self/mountinfo").splitlines():
        if "cgroup" not in line:
            continue
        left, _, right = line.partition(" - ")
        mount, kind = left.split(), right.split()
        if len(mount) < 5 or not kind:
            continue
        if kind[0] == "cgroup2":
            yield 2, _unescaped(mount[3]), _unescaped(mount[4])
        elif kind[0] == "cgroup" and controller in kind[-1].split(","):
            yield 1, _unescaped(mount[3]), _unescaped(mount[4])


def _upwards(root: str, inside: str, point: str, path: str) -> Iterator[str]:
    """The directories of a cgroup and of its ancestors up to the mount, which in a container is the container's own."""
    top = os.path.join(root, point.lstrip("/"))
    below = path.removeprefix(inside.rstrip("/")) if path.startswith(inside.rstrip("/")) else ""
    parts = [part for part in below.split("/") if part]
    while parts and ".." not in parts:
        directory = os.path.join(top, *parts)
        if os.path.isdir(directory):
            yield directory
        parts.pop()
    yield top


def _unescaped(path: str) -> str:
    return path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _cgroup_limits(pid: int | None, root: str, environ: Mapping[str, str]) -> Iterator[Limit]:
    group = cgroup_of("memory", pid, root)
    if group is None:
        return
    file = "memory.max" if group.version == 2 else "memory.limit_in_bytes"
    values = [read(directory, file).strip() for directory in group.directories]
    found = [int(value) for value in values if value.isdigit()]
    if group.version == 1:
        # Ancestors outside a container's mount count too, and are in this figure only.
        inherited = _number_after("hierarchical_memory_limit", read(group.directories[0], "memory.stat"))
        found += [inherited] if inherited is not None else []
    found = [value for value in found if value < _UNLIMITED]
    if found:
        whose = "container limit" if container(root, environ) else "limit"
        yield Limit(min(found), f"{whose} (cgroup v{group.version})", RESIDENT)


def _process_limits(pid: int | None, root: str) -> Iterator[Limit]:
    text = (pid is not None and read(root, f"proc/{pid}/limits")) or read(root, "proc/self/limits")
    # Neither counts what is resident: an address space is full long before its pages have been touched.
    for name, source, counts in (
        ("Max address space", "RLIMIT_AS", VIRTUAL),
        ("Max data size", "RLIMIT_DATA", DATA),
    ):
        value = limit_in(text, name)
        if value is not None:
            yield Limit(value, source, counts)


def _machine_memory(root: str) -> Limit | None:
    text = read(root, "proc/meminfo")
    sizes = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    total = _kibibytes(sizes.get("MemTotal"))
    if total is not None:
        swap = _kibibytes(sizes.get("SwapTotal"))
        besides = f", {swap / 2**30:.1f} GiB of swap besides" if swap else ""
        return Limit(total, f"the machine's memory{besides}", RESIDENT)
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if root == "/" else 0
    except (OSError, ValueError, AttributeError):  # each system that lacks one of them fails in its own way
        return None
    return Limit(pages, "the machine's memory", RESIDENT) if pages > 0 else None


def _number_after(word: str, text: str) -> int | None:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == word and value.strip().isdigit():
            return int(value)
    return None


def _kibibytes(text: str | None) -> int | None:
    number = text.split()[:1] if text else []
    return int(number[0]) * 1024 if number and number[0].isdigit() else None


def _largest(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)


def refusals_before(root: str = "/") -> int | None:
    """How often our cgroup has refused a new thread or process so far; a snapshot to take before the run."""
    group = cgroup_of("pids", None, root)
    text = read(group.directories[0], "pids.events") if group else ""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("max ")), None)


def resources_of(pid: int | None = None, refused_before: int | None = None, root: str = "/") -> Resources:
    """The limit on threads that is closest, and the state of shared memory. `pid` is a process that is still there."""
    counts = list(_counts(pid, root))
    refused = refusals_before(root)
    closest = max(counts, key=lambda count: (count.share, -count.limit), default=None)
    if refused is not None and refused_before is not None and refused > refused_before:
        # The threads are gone with the process, but the cgroup remembers that it had to refuse one.
        full = next((count for count in counts if count.source.startswith("pids.max")), None)
        closest = full._replace(used=full.limit) if full else closest
    size, free = _shared_memory(root)
    return Resources(
        threads=closest.used if closest else None,
        thread_limit=closest.limit if closest else None,
        thread_limit_source=closest.source if closest else None,
        shm_bytes=size,
        shm_free_bytes=free,
    )


def _counts(pid: int | None, root: str) -> Iterator[ThreadCount]:
    # A process that is gone has no threads any more: then only the limits are known.
    held = pid is not None and bool(read(root, f"proc/{pid}/status"))
    group = cgroup_of("pids", pid if held else None, root)
    for directory in group.directories if group else ():
        limit, used = _number(read(directory, "pids.max")), _number(read(directory, "pids.current"))
        if limit is not None and group:
            yield ThreadCount(used if held else None, limit, f"pids.max (cgroup v{group.version})")
    limits = read(root, f"proc/{pid}/limits") if held else read(root, "proc/self/limits")
    user = _user(read(root, f"proc/{pid if held else 'self'}/status"))
    per_user = limit_in(limits, "Max processes")
    # The kernel does not hold root to this limit.
    if per_user is not None and user not in (None, 0):
        yield ThreadCount(_threads_of_user(user, root) if held else None, per_user, "RLIMIT_NPROC (ulimit -u)")
    for name in ("threads-max", "pid_max"):
        limit = _number(read(root, f"proc/sys/kernel/{name}"))
        if limit is not None:
            yield ThreadCount(_threads_of_machine(root) if held else None, limit, f"kernel.{name}")
    maps = _number(read(root, "proc/sys/vm/max_map_count"))
    if held and maps is not None:
        # A new thread needs maps for its stack, and is refused in the same words where there are none left. Short of
        # that the figure is about something else.
        used = read(root, f"proc/{pid}/maps").count("\n")
        if used >= _FULL * maps:
            yield ThreadCount(used, maps, "vm.max_map_count: memory maps, not threads")


def _threads_of_machine(root: str) -> int | None:
    """Every thread there is, from the fraction in /proc/loadavg: going through all processes would take too long."""
    fields = read(root, "proc/loadavg").split()
    return _number(fields[3].partition("/")[2]) if len(fields) > 3 else None


def _threads_of_user(user: int | None, root: str) -> int | None:
    """The threads of all processes of a user, which is what ulimit -u counts."""
    try:
        pids = [name for name in os.listdir(os.path.join(root, "proc")) if name.isdigit()]
    except OSError:
        return None
    total = 0
    for name in pids:
        status = read(root, f"proc/{name}/status")
        if _user(status) == user:
            total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:")), 0)
    return total


def _user(status: str) -> int | None:
    """The real user id from the text of /proc/PID/status."""
    for line in status.splitlines():
        if line.startswith("Uid:"):
            return _number(line.split()[1])
    return None


def _shared_memory(root: str) -> tuple[int | None, int | None]:
    """Size and free bytes of /dev/shm."""
    try:
        state = os.statvfs(os.path.join(root, "dev/shm"))
    except (OSError, AttributeError):  # Windows has neither the call nor the directory
        return None, None
    return state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None
