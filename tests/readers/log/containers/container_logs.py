"""The logs in fixtures/logs/containers, read the way `triage analyze` reads them."""

from __future__ import annotations

from importlib import import_module

from conftest import LOGS

from triage.crash import Crash, ExitStatus, Log, Thread
from triage.frames import name_of
from triage.readers import Source, read
from triage.readers.log.containers.interface import Told


def crash(name: str) -> Crash:
    """The whole crash that one of the logs tells."""
    return read(Source.of(LOGS / "containers" / f"{name}.log"), 0)


def told(module: str, name: str) -> Told:
    """What one container's module finds in one of the logs."""
    return told_by(module, crash(name).logs[0])


def told_in(module: str, *lines: str) -> Told:
    """What one container's module finds in these lines."""
    return told_by(module, Log(0, [part for line in lines for part in line.split("\n")]))


def told_by(module: str, log: Log) -> Told:
    """What one container's module finds in a log."""
    found = import_module(f"triage.readers.log.containers.{module}").extract(log)
    assert isinstance(found, Told)
    return found


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


def notices(found: Told) -> list[str]:
    """The texts of the notices."""
    assert {message.kind for message in found.messages} <= {"notice"}
    return [message.text for message in found.messages]
