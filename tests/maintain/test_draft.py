"""A new signature: a drafted one works at once and holds nothing private, a blank one can be filled in."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from building import write_log, write_pack
from conftest import LOGS

import triage
from triage.knowledge.database import load
from triage.knowledge.signature import parse_signature
from triage.maintain.draft import NothingToLearn, learn, write
from triage.maintain.draft.candidates import generalise
from triage.maintain.draft.template import blank_signature
from triage.maintain.prove import lint_packs

LOG = (
    b"Traceback (most recent call last):\r\n"
    b'  File "/home/alice/project/train.py", line 44, in main\r\n    lease = acquire(17)\r\n'
    b"acme.pool.LeaseError: lease 4711 expired after 3600.5 s (see /home/alice/.acme/log)\r\n"
)


def test_a_drafted_pack_makes_its_cause_the_first_answer(tmp_path: Path) -> None:
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
def test_it_says_so_where_there_is_nothing_to_draft(tmp_path: Path, content: bytes, says: str) -> None:
    log = tmp_path / "crash.log"
    log.write_bytes(content)
    with pytest.raises(NothingToLearn, match=says):
        learn(log)


def test_what_differs_from_run_to_run_becomes_a_character_class() -> None:
    general = generalise("lease 4711 at 0x7f12ab of C:\\Users\\bob\\x is over")
    assert general.pattern == r"lease (?P<lease>\d+) at 0x[0-9a-fA-F]+ of \S+ is over"
    assert (general.says, general.gist) == ("lease {lease} at … of … is over", "lease … at … of … is over")


def test_a_blank_signature_parses() -> None:
    found = parse_signature(
        "house/new", "house", yaml.safe_load(blank_signature("The node went away", "host.out-of-memory"))
    )
    assert (found.title, found.cause, found.grade) == ("The node went away", "host.out-of-memory", "claimed")
    assert [clue.kind for clue in found.clues] == ["log", "exit"]
    assert len(found.matches) == len(found.differs) == 1


@pytest.mark.parametrize(
    "title",
    [
        "Failed: no memory",
        "Broken # really",
        "[GPU] is full",
        "'quoted' words",
        '"quoted" words',
        "{a}",
        "- dash",
        "100%",
    ],
)
def test_a_blank_signature_parses_whatever_its_title_says(title: str) -> None:
    assert yaml.safe_load(blank_signature(title, "host.out-of-memory"))["title"] == title


def test_a_blank_signature_is_loaded_without_problem_once_its_logs_exist(tmp_path: Path) -> None:
    text = blank_signature("The node went away", "host.out-of-memory").replace("OTHER.CAUSE", "gpu.out-of-memory")
    pack = write_pack(tmp_path / "house", {"house/new": text})
    write_log(pack, "NAME.log", "the words that only this failure prints")
    write_log(pack, "OTHER.log", "something else")
    both = load((str(pack),))
    assert both.problems == ()
    assert both.signatures["house/new"].pack == "house"


@pytest.mark.parametrize("cause", ["host.out-of-memory", "shape.mismatch"])
def test_lint_has_nothing_to_say_about_a_blank_signature(tmp_path: Path, cause: str) -> None:
    pack = write_pack(tmp_path / "house", {"house/new": blank_signature("The node went away", cause)})
    assert lint_packs((str(pack),)).problems == ()


@pytest.mark.parametrize(
    ("said", "cause", "applies"),
    [
        (b"", "shape.mismatch", {"framework": "any"}),
        (b">>> import torch\n", "shape.mismatch", {"framework": "pytorch"}),
        (b">>> import torch\n", "host.out-of-memory", None),
    ],
)
def test_a_draft_for_a_cause_of_frameworks_says_whose_program_the_log_shows(
    tmp_path: Path, said: bytes, cause: str, applies: dict[str, str] | None
) -> None:
    log = tmp_path / "my crash.log"
    log.write_bytes(said + LOG)
    draft = learn(log, cause=cause, exit_code="1")
    assert yaml.safe_load(draft.signature).get("applies") == applies
