"""A core's notes, read with no trust at all: cut off, damaged, made up, it never breaks us."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest
from dying import core_of

from triage.native.core_file import NotACore, build_id_of, read_core

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cores are made on Linux")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_of(tmp_path_factory.mktemp("notes"), "read", "worker")


def header(kind: int = 4, segments: int = 0, bits: int = 2, order: int = 1) -> bytes:
    """The 64 bytes that begin an ELF file."""
    identity = b"\x7fELF" + bytes([bits, order, 1]) + bytes(9)
    return identity + struct.pack("<HHIQQQIHHHHHH", kind, 62, 1, 0, 64, 0, 0, 64, 56, segments, 64, 0, 0)


@ON_LINUX
def test_the_notes_of_a_whole_core(core: Path) -> None:
    notes = read_core(str(core))
    assert notes.signal == 11
    assert notes.signal_code == 1
    assert notes.address == 8
    assert len(notes.threads) == 2
    assert notes.pid in notes.threads
    assert not notes.is_cut_off
    assert notes.executable()
    assert notes.other_builds() == ([], [])
    program = notes.executable() or ""
    base = notes.map().base(program)
    assert base is not None
    assert notes.build_id(base) == build_id_of(program)
    assert notes.memory(base, 4) == b"\x7fELF"
    assert notes.memory(1, 4) == b""


@ON_LINUX
@pytest.mark.parametrize("share", [0.9, 0.5, 0.1, 0.01])
def test_a_core_that_is_cut_off_says_so_and_keeps_its_notes(core: Path, share: float, tmp_path: Path) -> None:
    whole = core.read_bytes()
    cut = tmp_path / "core"
    cut.write_bytes(whole[: int(len(whole) * share)])
    notes = read_core(str(cut))
    assert notes.is_cut_off
    assert notes.whole == len(whole)
    assert notes.signal == 11


@ON_LINUX
def test_damage_in_headers_and_notes_is_refused_or_survived(core: Path, tmp_path: Path) -> None:
    beginning = core.read_bytes()[: 256 * 1024]
    dice = random.Random(4)
    damaged = tmp_path / "core"
    for _ in range(150):
        data = bytearray(beginning)
        for _ in range(dice.choice((1, 4, 64))):
            at = dice.randrange(16, dice.choice((64, 4096, 65536)))
            data[at] = dice.choice((0, 0xFF, dice.randrange(256)))
        damaged.write_bytes(data[: dice.choice((len(data), dice.randrange(64, len(data))))])
        try:
            notes = read_core(str(damaged))
        except NotACore:
            continue
        notes.executable()
        notes.map()
        notes.other_builds()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(kind=2), "a program or a library, not a core"),
        (header(kind=3), "a program or a library, not a core"),
        (header(), "a core without memory"),
        (header(segments=3), "it is cut off before the notes that tell who died of what"),
        (header(segments=3) + bytes(100), "it is cut off before the notes that tell who died of what"),
        (header()[:40], "it is cut off before the notes that tell who died of what"),
        (header(bits=1), "a core of a 32-bit or big-endian program"),
        (b"", "its header is damaged"),
    ],
)
def test_what_is_no_core_is_named(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "core"
    path.write_bytes(data)
    with pytest.raises(NotACore) as refused:
        read_core(str(path))
    assert str(refused.value) == reason


def test_a_program_that_is_absent_or_none_has_no_build() -> None:
    assert build_id_of("/no/such/file") is None
    assert build_id_of(__file__) is None
