"""Looks at figures of memory, shared memory and threads.

memory: oom_killed
memory: not_oom_killed
memory: peak_at_limit
memory: peak_below_limit
memory: peak_below_half
memory: shm_full
memory: threads_at_limit
memory: threads_below_limit
memory: address_space_limited
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from triage.clues.findings import UNSEEN, Finding, seen_if
from triage.clues.interface import At, Kind, Request
from triage.crash import Memory, Resources
from triage.phrases import human_bytes

if TYPE_CHECKING:
    from triage.clues.facts import Facts
    from triage.clues.syntax import Written

Condition = Literal[
    "peak_below_half",
    "peak_below_limit",
    "peak_at_limit",
    "oom_killed",
    "not_oom_killed",
    "shm_full",
    "threads_at_limit",
    "threads_below_limit",
    "address_space_limited",
]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
_FULL = 0.95
# Shared memory is handed out in pages; a full one has a remainder left that no array fits into.
_SHM_SHARE, _SHM_LEAST = 0.05, 1 << 20


class MemorySeen(NamedTuple):
    """A named condition over the figures of memory, shared memory or threads."""

    condition: Condition


class MemoryKind(Kind):
    """What ran out."""

    form = MemorySeen
    background = 0.05
    request = Request("memory figures", "read the kernel log")
    short = CONDITIONS
    often_unknown = True

    def parse(self, written: "Written") -> MemorySeen:
        for condition in CONDITIONS:
            if condition == written.value:
                return MemorySeen(condition)
        raise written.refused(f"unknown memory condition {written.value!r}", "one of " + ", ".join(CONDITIONS))

    def find(self, sought: MemorySeen, facts: "Facts", after: At) -> Finding:
        return _HOLDS[sought.condition](facts.crash.memory, facts.crash.resources)


def _peak(holds: Callable[[float], bool]) -> Callable[[Memory, Resources], Finding]:
    """A condition on the peak, as a share of the limit."""

    def finding(memory: Memory, _: Resources) -> Finding:
        if memory.peak_bytes is None or not memory.limit_bytes:
            return UNSEEN
        share = memory.peak_bytes / memory.limit_bytes
        values = {
            "peak_share": f"{share:.0%}",
            "peak": human_bytes(memory.peak_bytes),
            "limit": human_bytes(memory.limit_bytes),
            "limit_source": memory.limit_source or "the limit",
        }
        return seen_if(holds(share), f"peak memory was {share:.0%} of the limit", **values)

    return finding


def _oom_killed(memory: Memory, _: Resources) -> Finding:
    if memory.oom_kills is None:
        return UNSEEN
    count = str(memory.oom_kills)
    return seen_if(memory.oom_kills > 0, f"OOM kills on record while it ran: {count}", oom_kills=count)


def _not_oom_killed(memory: Memory, _: Resources) -> Finding:
    if memory.oom_kills is None:
        return UNSEEN
    return seen_if(memory.oom_kills == 0, "the kernel counted 0 kills for memory while it ran")


def _shm_full(_: Memory, resources: Resources) -> Finding:
    size, free = resources.shm_bytes, resources.shm_free_bytes
    if size is None or free is None:
        return UNSEEN
    values = {"shm_free": human_bytes(free), "shm_size": human_bytes(size)}
    full = free < _SHM_LEAST or free < _SHM_SHARE * size
    return seen_if(full, f"shared memory had {values['shm_free']} of {values['shm_size']} left", **values)


def _threads(holds: Callable[[float], bool]) -> Callable[[Memory, Resources], Finding]:
    def finding(_: Memory, resources: Resources) -> Finding:
        threads, limit = resources.threads, resources.thread_limit
        if threads is None or not limit:
            return UNSEEN
        whose = f" ({resources.thread_limit_source})" if resources.thread_limit_source else ""
        quote = f"{threads} of {limit} threads were in use{whose}"
        return seen_if(holds(threads / limit), quote, threads=str(threads), thread_limit=str(limit))

    return finding


def _address_space_limited(memory: Memory, _: Resources) -> Finding:
    if memory.limit_source is None or memory.limit_bytes is None:
        return UNSEEN
    size = human_bytes(memory.limit_bytes)
    limited = memory.limit_source == "RLIMIT_AS"
    return seen_if(limited, f"the address space is limited to {size} (RLIMIT_AS, ulimit -v)", address_space=size)


_HOLDS: dict[Condition, Callable[[Memory, Resources], Finding]] = {
    "peak_below_half": _peak(lambda share: share < 0.5),
    "peak_below_limit": _peak(lambda share: share < 0.8),
    "peak_at_limit": _peak(lambda share: share > 0.9),
    "oom_killed": _oom_killed,
    "not_oom_killed": _not_oom_killed,
    "shm_full": _shm_full,
    "threads_at_limit": _threads(lambda share: share >= _FULL),
    "threads_below_limit": _threads(lambda share: share < 0.5),
    "address_space_limited": _address_space_limited,
}
KIND = MemoryKind()
