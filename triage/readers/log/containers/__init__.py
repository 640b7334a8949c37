"""Formats of schedulers, crash reporters, debuggers and IDEs, one module each, imported only when a log needs it.

To add one: its module (interface.py says what it must offer), its name here, its test, `make triggers`.
"""

from __future__ import annotations

import re
from importlib import import_module

from triage import patterns
from triage.crash import Log
from triage.readers.log.containers.interface import Container, ContainerFacts
from triage.readers.log.containers.triggers import TRIGGERS

# In the order in which their exit statuses count, the last one most: launchers and services only report how a worker
# ended, crash reporters and debuggers saw the crash itself.
FORMATS = (
    # launchers, services and shells
    "docker",
    "kubernetes",
    "slurm",
    "systemd",
    "spark",
    "ray",
    "celery",
    "gunicorn",
    "airflow",
    "pytest",
    "heroku",
    "github_actions",
    "sagemaker",
    "tf_serving",
    "worker_pools",
    "notebooks",
    "pycharm",
    "shell_time",
    "localised_shells",
    "node",
    "languages",
    "py_spy",
    # crash reporters and debuggers
    "sanitizers",
    "valgrind",
    "chromium",
    "android",
    "failure_signal",
    "tensorflow_handler",
    "mpi",
    "kernel_log",
    "coredumpctl",
    "hs_err",
    "windows_events",
    "macos_crash",
    "lldb",
    "gdb",
    "windbg",
)


def extract(log: Log) -> list[ContainerFacts]:
    """The facts of every container whose triggers are in the log, in the order of the list."""
    return [load(name).extract(log) for name in seen_in(log.text)]


def load(name: str) -> Container:
    """The module of a format."""
    container: Container = import_module(f"triage.readers.log.containers.{name}")
    return container


def seen_in(text: str) -> list[str]:
    """The formats whose triggers are in a text, found in one pass where a search for each word would take a hundred.

    A format that `make triggers` has not seen yet is tried on every text.
    """
    words = patterns.compile("|".join(re.escape(word) for words in TRIGGERS.values() for word in words))
    found = set(words.findall(text))
    return [name for name in FORMATS if name not in TRIGGERS or not found.isdisjoint(TRIGGERS[name])]
