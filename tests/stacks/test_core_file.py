"""A core's notes, read with no trust at all: cut off, damaged, made up, it never breaks us."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest
from dying import core_of

from triage.stacks.core_file import NotACore, Segment, read_core
from triage.stacks.core_modules import modules_of
from triage.stacks.elf import build_id_of
from triage.stacks.memory_map import Region
from triage.stacks.untrusted_paths import UntrustedPaths

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
    files = modules_of(notes, UntrustedPaths())
    assert (files.absent, files.other, files.unproven, files.refused, files.is_crafted) == ((), (), (), (), False)
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
        modules_of(notes, UntrustedPaths())


@ON_LINUX
def test_a_program_without_a_build_id_is_known_by_its_first_page(core: Path, tmp_path: Path) -> None:
    """Also one that is shorter than a page, behind which memory has zeros."""
    notes = read_core(str(core))
    base = notes.map().base(notes.executable() or "") or 0
    first = next(segment for segment in notes.segments if segment.start == base)
    data = bytearray(core.read_bytes())
    data[first.offset : first.offset + 4096] = header(3).ljust(4096, b"\0")
    (tmp_path / "core").write_bytes(data)
    changed = read_core(str(tmp_path / "core"))
    library = tmp_path.resolve() / "libown.so"
    changed = changed._replace(files=(Region(base, base + 4096, "", 0, str(library)),), auxiliary=())
    for content, is_it in ((header(3), True), (header(3) + bytes(9000), True), (header(3) + b"x", False)):
        library.write_bytes(content)
        files = modules_of(changed, UntrustedPaths())
        assert (str(library) in files.usable, str(library) in files.other) == (is_it, not is_it)


@ON_LINUX
def test_without_a_build_id_in_the_core_a_file_that_fits_is_used_and_marked_unproven(
    core: Path, tmp_path: Path
) -> None:
    library = tmp_path.resolve() / "libown.so"
    library.write_bytes(header(3).ljust(8192, b"\0"))
    notes = read_core(str(core))
    code = Segment(1 << 20, 8192, 0, 0, "r-x")
    for size, can_be_it in ((8192, True), (16384, False)):
        region = Region(1 << 20, (1 << 20) + size, "", 0, str(library))
        files = modules_of(notes._replace(segments=(code,), files=(region,), auxiliary=()), UntrustedPaths())
        assert (files.unproven, files.other) == (((str(library),), ()) if can_be_it else ((), (str(library),)))
        assert (str(library) in files.usable) == can_be_it


@ON_LINUX
def test_a_core_in_which_an_address_has_two_contents_is_no_kernels(core: Path) -> None:
    notes = read_core(str(core))
    assert not notes.is_ambiguous
    twice = next(segment for segment in notes.segments if segment.in_file)
    doubled = notes._replace(segments=(*notes.segments, twice))
    assert doubled.is_ambiguous
    assert modules_of(doubled, UntrustedPaths()).is_crafted


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(kind=2), "a program or a library, not a core"),
        (header(kind=3), "a program or a library, not a core"),
        (header(), "a core without memory"),
        (header(segments=3), "it is cut off before the notes that say which thread died of what"),
        (header(segments=3) + bytes(100), "it is cut off before the notes that say which thread died of what"),
        (header()[:40], "it is cut off before the notes that say which thread died of what"),
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
