"""TensorFlow Serving: the versions of `tensorflow_model_server --version`.

How it ended is in the shell's line about its entry point, or in that of the failure signal handler.
"""

from __future__ import annotations

from triage import patterns
from triage.crash import Environment, Log
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = ("TensorFlow ModelServer:", "TensorFlow Library:")
_LIBRARY = r"^TensorFlow Library: (?P<version>\d+\.\d+(?:\.\d+)?(?:-?rc\d+)?)"
_SERVER = r"^TensorFlow ModelServer: (?P<version>\d+\.\d+(?:\.\d+)?)"


def extract(log: Log) -> ContainerFacts:
    """The versions of the server and of the TensorFlow in it."""
    packages = []
    for name, pattern in (("tensorflow", _LIBRARY), ("tensorflow-serving", _SERVER)):
        if match := patterns.compile(pattern).search(log.text):
            packages.append((name, match["version"]))
    return ContainerFacts(environment=Environment(packages=tuple(packages)))
