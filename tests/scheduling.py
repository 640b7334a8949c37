"""Which tests pytest-xdist runs in the same process: those that share something expensive to make.

The tests of one log share its diagnosis, those of one crasher its runs, those of one file its fixtures. What takes
longest starts first, so that no process is left alone with it at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# Each crasher starts its framework two times or more.
_CRASHERS = (
    "tests/capture/test_crashers_run.py",
    "tests/capture/test_one_crash_three_ways.py",
    "tests/test_crashers.py",
    "tests/test_frameworks.py",
)
# Files that take half a minute or more; the first ones mostly wait for hangs, and others can run meanwhile.
LONG = (
    *_CRASHERS,
    "tests/test_claims.py",
    "tests/readers/minidump/test_walk_like_lldb.py",
    "tests/windows/test_wine_runs.py",
    "tests/test_packaging.py",
)
_CHOSEN = re.compile(r"\[(?P<id>.*)\]$")
# A width or another parameter may come before the name, an exit code after it.
_LOG = re.compile(r"(?:^\d+-|^|/)(?P<name>[^/]+\.log)\b")


def group(nodeid: str) -> str:
    """What tests that belong in one process have in common: a crasher, a log or their file."""
    file, _, test = nodeid.partition("::")
    chosen = _CHOSEN.search(test)
    if chosen and file in _CRASHERS:
        return f"crasher {chosen['id']}"
    if chosen and (log := _LOG.search(chosen["id"])):
        return f"log {log['name']}"
    return file


def long_ones_first(items: list[pytest.Item]) -> None:
    """Put the files that take longest first; the others keep their order."""
    places = {file: place for place, file in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """A scheduler for pytest-xdist that gives each group to one process, in the order they were found."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return ByGroup(config, log)
