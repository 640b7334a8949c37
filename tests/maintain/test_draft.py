"""A signature drafted from a log holds at once, carries nothing private, and is refused where there is nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LOGS

import triage
from triage.maintain.draft import NothingToLearn, learn, write
from triage.maintain.draft.generalising import generalise
from triage.maintain.prove import lint_packs

LOG = (
    b"Traceback (most recent call last):\r\n"
    b'  File "/home/alice/project/train.py", line 44, in main\r\n    lease = acquire(17)\r\n'
    b"acme.pool.LeaseError: lease 4711 expired after 3600.5 s (see /home/alice/.acme/log)\r\n"
)


def test_a_draft_makes_a_pack_that_names_it_first(tmp_path: Path) -> None:
    log = tmp_path / "my crash.log"
    log.write_bytes(LOG)
    pack = str(tmp_path / "pack")
    draft = learn(log, exit_code="1", into=pack)
    write(draft, pack)
    assert lint_packs((pack,)).problems == ()
    other = LOG.replace(b"4711", b"4712").replace(b"alice", b"bob")
    first = triage.analyze(other, exit_code=1, signatures=[pack]).diagnoses[0]
    assert (first.cause, first.signature) == (draft.cause, draft.id)
    assert not [path for path in Path(pack).rglob("*") if path.is_file() and b"alice" in path.read_bytes()]
    with pytest.raises(FileExistsError):
        write(draft, pack)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02" * 99, "not a log"),
        ((LOGS / "healthy" / "fit-2.21.log").read_bytes(), "no crash"),
        (b"free(): invalid pointer\nAborted (core dumped)\n", "native/heap-corruption"),
        (b"Segmentation fault (core dumped)\n", "Nothing in"),
    ],
)
def test_where_there_is_nothing_to_draft_it_says_so(tmp_path: Path, content: bytes, says: str) -> None:
    log = tmp_path / "crash.log"
    log.write_bytes(content)
    with pytest.raises(NothingToLearn, match=says):
        learn(log)


def test_what_differs_from_run_to_run_becomes_a_class() -> None:
    general = generalise("lease 4711 at 0x7f12ab of C:\\Users\\bob\\x is over")
    assert general.pattern == r"lease (?P<lease>\d+) at 0x[0-9a-fA-F]+ of \S+ is over"
    assert (general.says, general.gist) == ("lease {lease} at … of … is over", "lease … at … of … is over")
