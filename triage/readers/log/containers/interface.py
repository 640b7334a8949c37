"""What a container (a scheduler, a crash reporter, an IDE) tells about the process that died in it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from triage.crash import Environment, ExitStatus, Fault, Log, Memory, RuntimeMessage, Thread


class Told(NamedTuple):
    """The facts that one container adds; what it does not tell stays empty.

    `messages` of kind `notice` say that a process died without saying how ("restarting kernel"): they prove a death and
    name no cause.
    """

    exits: tuple[ExitStatus, ...] = ()
    threads: tuple[Thread, ...] = ()
    messages: tuple[RuntimeMessage, ...] = ()
    memory: Memory = Memory()
    environment: Environment = Environment()
    fault: Fault | None = None


class Container(Protocol):
    """A module for one container's own format."""

    def extract(self, log: Log) -> Told:
        """The facts in a log that holds this container's format; empty where it does not after all."""
        ...
