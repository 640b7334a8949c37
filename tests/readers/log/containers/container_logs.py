"""The logs in fixtures/logs/containers, read the way `triage analyze` reads them."""

from __future__ import annotations

from conftest import LOGS

from triage.crash import Crash, ExitStatus, Log, Thread
from triage.frames import name_of
from triage.readers import Source, read
from triage.readers.log import containers
from triage.readers.log.containers.interface import ContainerFacts


def crash(name: str) -> Crash:
    """The whole crash in one of the logs."""
    return read(Source.of(LOGS / "containers" / f"{name}.log"), 0)


def facts_of(module: str, name: str) -> ContainerFacts:
    """What one container's module finds in one of the logs."""
    return containers.load(module).extract(crash(name).logs[0])


def facts_in(module: str, *lines: str) -> ContainerFacts:
    """What one container's module finds in these lines."""
    return containers.load(module).extract(Log(0, [part for line in lines for part in line.split("\n")]))


def names(statuses: tuple[ExitStatus, ...]) -> list[str]:
    """The names of some statuses."""
    return [status.name for status in statuses]


def exit_name(name: str) -> str | None:
    """The name of the status with which the process of one of the logs ended."""
    ended = crash(name).exit
    return ended.name if ended else None


def frames(thread: Thread, count: int = 3) -> list[str]:
    """The names of the innermost frames of a thread, as a report shows them."""
    return [name_of(frame) for frame in thread.native_stack[:count]]


def notices(found: ContainerFacts) -> list[str]:
    """The texts of the notices."""
    assert {message.kind for message in found.messages} <= {"notice"}
    return [message.text for message in found.messages]
