"""Which tests run in one process where pytest-xdist has several: those that share what is dear to make.

The tests of one log share what was read and diagnosed of it, those of one crasher its runs, those of a file its
fixtures. What takes longest comes first, so that at the end no process is left alone with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# Each crasher is a program that starts a TensorFlow, twice or more.
_CRASHERS = (
    "tests/capture/test_crashers_run.py",
    "tests/capture/test_one_crash_three_ways.py",
    "tests/test_crashers.py",
)
# Half a minute and more for a file; the hangs of the first wait without working, and others work meanwhile.
LONG = (
    *_CRASHERS,
    "tests/test_claims.py",
    "tests/readers/minidump/test_walk_like_lldb.py",
    "tests/windows/test_collecting.py",
    "tests/test_packaging.py",
)
_CHOSEN = re.compile(r"\[(?P<id>.*)\]$")
# A width or a number of another parameter may stand before the name, an exit code behind it.
_LOG = re.compile(r"(?:^\d+-|^|/)(?P<name>[^/]+\.log)\b")


def company(nodeid: str) -> str:
    """What the tests that belong into one process have in common: a crasher, a log or their file."""
    file, _, test = nodeid.partition("::")
    chosen = _CHOSEN.search(test)
    if chosen and file in _CRASHERS:
        return f"crasher {chosen['id']}"
    if chosen and (log := _LOG.search(chosen["id"])):
        return f"log {log['name']}"
    return file


def long_ones_first(items: list[pytest.Item]) -> None:
    """Put the files that take longest before the others, which stay in their order."""
    places = {file: place for place, file in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """A scheduler of pytest-xdist that gives each company to one process, in the order in which they were found."""
    from xdist.scheduler import LoadScopeScheduling

    class ByCompany(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return company(nodeid)

    config.option.loadscopereorder = False
    return ByCompany(config, log)
