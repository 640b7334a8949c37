"""TensorFlow Serving: the versions of `tensorflow_model_server --version`.

How it ended is in the shell's line behind its entry point, or in the failure signal handler's.
"""

from __future__ import annotations

from triage import patterns
from triage.crash import Environment, Log
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = ("TensorFlow ModelServer:", "TensorFlow Library:")
_LIBRARY = r"^TensorFlow Library: (?P<version>\d+\.\d+(?:\.\d+)?(?:-?rc\d+)?)"
_SERVER = r"^TensorFlow ModelServer: (?P<version>\d+\.\d+(?:\.\d+)?)"


def extract(log: Log) -> ContainerFacts:
    """The versions of the server and of the TensorFlow inside."""
    packages = []
    for name, pattern in (("tensorflow", _LIBRARY), ("tensorflow-serving", _SERVER)):
        if match := patterns.compile(pattern).search(log.text):
            packages.append((name, match["version"]))
    return ContainerFacts(environment=Environment(packages=tuple(packages)))
