"""What else can run out: threads and processes, memory maps, shared memory; read while the process is still held."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from triage.capture.memory import cgroup_of, limit_in, read
from triage.crash import Resources

_FULL = 0.95


class ThreadCount(NamedTuple):
    """What is there of something, how much there may be, and who says so."""

    used: int | None
    limit: int
    source: str

    @property
    def share(self) -> float:
        """How much of the limit is used; what is not known counts as nothing."""
        return (self.used or 0) / max(1, self.limit)


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
    # A process that is gone has no threads any more: then only the limits can still be told.
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
