"""The table of trigger words in triage/readers/log/containers/triggers.py, made from the modules themselves.

A log must not pay for importing thirty modules to learn that it needs none of them, so their words are kept in one
table. As a script, it says whether the table is out of date; with --write it rewrites it (make triggers).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from triage.readers.log.containers import FORMATS, load

TABLE = Path(__file__).resolve().parents[1] / "triage/readers/log/containers/triggers.py"
_HEAD = '''\
"""The trigger words of every container format. Made from the modules by `make triggers`; not edited by hand."""

TRIGGERS: dict[str, tuple[str, ...]] = {
'''


def source() -> str:
    """The table as the modules have it."""
    return _HEAD + "".join(f"{line}\n" for line in _entries()) + "}\n"


def _entries() -> Iterator[str]:
    for name in FORMATS:
        words = [_quoted(word) for word in load(name).TRIGGERS]
        if len(words) == 1:
            yield f'    "{name}": ({words[0]},),'
        else:
            yield from (f'    "{name}": (', *(f"        {word}," for word in words), "    ),")


def _quoted(word: str) -> str:
    return repr(word) if '"' in word else f'"{word}"'


def main(table: Path, write: bool) -> int:
    """Write the table, or say whether it is out of date."""
    if write:
        table.write_text(source(), "utf-8")
    elif table.read_text("utf-8") != source():
        print(f"{table.name}: the table of trigger words is out of date; run 'make triggers'")
        return 1
    print(f"{table.name}: {len(FORMATS)} container formats, as their modules say.")
    return 0


if __name__ == "__main__":
    sys.exit(main(TABLE, "--write" in sys.argv[1:]))
