"""Notebooks: Jupyter, Colab, Kaggle, Databricks, Spyder and VS Code say that the kernel is gone, and seldom why."""

from __future__ import annotations

from triage.crash import Log, Memory
from triage.readers.log.containers.interface import ContainerFacts, count, notices

TRIGGERS = (
    "KernelRestarter: restarting",
    "kernel appears to have died",
    "kernel died",
    "Kernel died",
    "root:kernel ",
    "Kernel crashed while",
    "session crashed",
    "kernel is unresponsive",
    "allocate more memory than is available",
    "appears to have died",
)
_NOTICE = (
    r"KernelRestarter: restarting kernel \(\d+/\d+\)|WARNING:root:kernel \S+ restarted|"
    r"[Tt]he kernel appears to have died|The kernel died, restarting|"
    r"The kernel for \S+ appears to have died|"
    r"The Kernel crashed while executing code in the (?:the )?current cell|"
    r"Your session crashed for an unknown reason|DeadKernelError: Kernel died|"
    r"The Python kernel is unresponsive"
)
# Two services measure memory and know when it was the reason.
_MEMORY = (
    r"Your session crashed after using all available RAM|"
    r"[Yy]our notebook tried to allocate more memory than is available"
)


def extract(log: Log) -> ContainerFacts:
    """Notices of a dead kernel; a kill for memory where the service says so itself."""
    return ContainerFacts(messages=notices(log, _NOTICE), memory=Memory(oom_kills=count(log, _MEMORY)))
