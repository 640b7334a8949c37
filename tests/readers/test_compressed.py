"""A compressed log is simply read; one that is damaged, packed twice or swells without end gets a sentence."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
from building import sentences
from conftest import LOGS

from triage.crash import LeftOut
from triage.readers import Source, Unreadable, compressed, read

LOG = LOGS / "pool_window-2.21.log"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_compressed_log_has_the_facts_of_the_log(pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    packed = tmp_path / "run.log.packed"
    packed.write_bytes(pack(LOG.read_bytes()))
    plain, unpacked = read(Source.of(LOG), 0), read(Source.of(packed), 0)
    assert unpacked.exit == plain.exit
    assert unpacked.threads == plain.threads
    assert unpacked.inputs[0] == plain.inputs[0]._replace(name=str(packed))


def test_two_logs_in_one_file_are_one_log(tmp_path: Path) -> None:
    packed = tmp_path / "run.log.gz"
    packed.write_bytes(gzip.compress(b"first\n") + gzip.compress(LOG.read_bytes()))
    status = read(Source.of(packed), 0).exit
    assert status and status.signal == "SIGFPE"


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_a_compressed_log_that_is_cut_off_is_read_as_far_as_it_goes(keep: float, tmp_path: Path) -> None:
    data = b"".join(b"step %d of the training, loss %d\n" % (n, n * 7919 % 1000) for n in range(20_000))
    packed = gzip.compress(data)
    cut = tmp_path / "run.log.gz"
    cut.write_bytes(packed[: int(len(packed) * keep)])
    crash = read(Source.of(cut), 0)
    assert crash.logs[0].text.startswith("step 0 of the training")
    assert crash.logs[0].text.count("\n") > 20_000 * keep / 2
    assert sentences(crash.gaps)[0] == f"{cut} is damaged (its end is missing); what comes before the damage was read"
    assert not crash.inputs[0].complete
    assert crash.partly_read == crash.inputs
    assert crash.inputs[0].left_out == LeftOut()


@pytest.mark.parametrize(
    "data", [b"\x1f\x8b\x08\x00" + bytes(64), b"\xfd7zXZ\x00" + bytes(64), b"\x28\xb5\x2f\xfd" + b"\xff" * 64]
)
def test_what_only_looks_compressed_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(data)
    with pytest.raises(Unreadable) as refused:
        read(Source.of(path), 0)
    assert str(refused.value).startswith(f"{path} cannot be unpacked (")
    assert "\n" not in str(refused.value)


def test_what_is_packed_twice_is_to_be_unpacked_once(tmp_path: Path) -> None:
    path = tmp_path / "run.log.gz.xz"
    path.write_bytes(lzma.compress(gzip.compress(LOG.read_bytes())))
    with pytest.raises(Unreadable, match="compressed twice; unpack it once"):
        read(Source.of(path), 0)


def test_an_image_in_a_compressed_file_is_refused_as_an_image(tmp_path: Path) -> None:
    path = tmp_path / "shot.gz"
    path.write_bytes(gzip.compress(b"\x89PNG\r\n\x1a\n" + bytes(64)))
    with pytest.raises(Unreadable, match="this is a picture"):
        read(Source.of(path), 0)


def test_a_file_that_swells_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "_ALWAYS", 8 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"again and again\n" * (2 << 20)))
    with pytest.raises(Unreadable, match="which no log and no core does"):
        read(Source.of(path), 0)


def test_an_empty_file_that_was_compressed_is_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "empty.gz"
    path.write_bytes(gzip.compress(b""))
    assert read(Source.of(path), 0).is_empty
