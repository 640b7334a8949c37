"""Which files an input may make us open by naming them; a name alone must not make us wait or call a server."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from triage.stacks.untrusted_paths import Hazard, Refusal, UntrustedPaths

pytestmark = pytest.mark.skipif(os.name == "nt", reason="its names are those of Linux")
ROOT = "22 1 0:1 / / rw - ext4 /dev/vda rw"


def look(name: object, *given: str, table: str = ROOT) -> tuple[str | None, Refusal | None]:
    found = UntrustedPaths(*given, table=table).look(str(name))
    return found.real, found.refusal


def test_a_plain_file_is_opened_also_through_links(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    file = tmp_path / "lib" / "libz.so"
    file.parent.mkdir()
    file.write_bytes(b"\x7fELF")
    (tmp_path / "current").symlink_to("lib")
    (tmp_path / "libz.so").symlink_to(tmp_path / "current" / "libz.so")
    assert look(file) == look(tmp_path / "libz.so") == look(f"{tmp_path}/lib/../current/./libz.so") == (str(file), None)
    found = UntrustedPaths(table=ROOT).look(str(file))
    assert (found.head, found.size) == (b"\x7fELF", 4)


def test_nothing_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for name in (tmp_path / "absent", tmp_path / "file" / "below", "relative", "x" * 5000, ""):
        assert look(name) == (None, None)


@pytest.mark.parametrize("through_link", [False, True])
def test_what_is_no_plain_file_is_not_opened(
    tmp_path: Path, through_link: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    listening.bind("socket")
    kinds: tuple[tuple[str, Hazard], ...] = (("pipe", "pipe"), ("socket", "socket"), (".", "directory"))
    for name, kind in kinds:
        path = tmp_path / name
        if through_link:
            path = tmp_path / f"link-{kind}"
            path.symlink_to(name)
        assert look(path) == (None, Refusal(kind))
    listening.close()


@pytest.mark.parametrize("name", ["/proc/self/mem", "/proc/self/exe", "/dev/zero", "/sys/kernel", "/net/evil/libz.so"])
def test_places_of_the_kernel_and_of_servers_are_closed_also_through_links(tmp_path: Path, name: str) -> None:
    link = tmp_path / "libz.so"
    link.symlink_to(name)
    place = "/" + name.split("/")[1]
    assert look(name) == look(link) == look(f"/tmp/../{name}") == (None, Refusal("place", place))


def test_a_link_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert look(tmp_path / "a") == (None, Refusal("link-loop"))


@pytest.mark.parametrize("name", ["/../etc/passwd", "/a/../../b", "../b", "target:/tmp/pipe"])
def test_names_that_no_system_writes_are_known_as_such(name: str) -> None:
    assert UntrustedPaths(table=ROOT).look(name).is_crafted


@pytest.mark.parametrize(
    ("kind", "hazard"),
    [
        ("nfs4", "network-mount"),
        ("cifs", "network-mount"),
        ("fuse.sshfs", "network-mount"),
        ("autofs", "automounter"),
        ("proc", "kernel-file"),
        ("ext4", None),
        ("overlay", None),
        ("fuseblk", None),
    ],
)
def test_the_mount_decides(tmp_path: Path, kind: str, hazard: Hazard | None) -> None:
    place = tmp_path.resolve() / "a mount"
    place.mkdir()
    (place / "libz.so").write_bytes(b"")
    escaped = str(place).replace(" ", "\\040")
    table = f"{ROOT}\n30 22 0:2 / {escaped} rw - {kind} server:/x rw"
    expected = (None, Refusal(hazard, kind)) if hazard else (str(place / "libz.so"), None)
    assert look(place / "libz.so", table=table) == expected
    assert look(tmp_path.resolve() / "a mounted", table=table) == (None, None)


def test_of_two_mounts_at_one_place_the_later_one_counts(tmp_path: Path) -> None:
    file = tmp_path.resolve() / "libz.so"
    file.write_bytes(b"")
    lines = [f"30 22 0:2 / {file.parent} rw - {kind} x rw" for kind in ("autofs", "ext4")]
    assert look(file, table="\n".join((ROOT, *lines))) == (str(file), None)
    assert look(file, table="\n".join((ROOT, *reversed(lines)))) == (None, Refusal("automounter", "autofs"))


def test_what_the_person_gave_vouches_for_its_network_mount_and_not_for_the_automounter_above(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    ours, theirs = home / "ours", home / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "libz.so").write_bytes(b"")
    table = f"{ROOT}\n30 22 0:2 / {home} rw - autofs x rw\n31 30 0:3 / {ours} rw - nfs4 x rw"
    assert look(ours / "libz.so", table=table) == (None, Refusal("network-mount", "nfs4"))
    assert look(ours / "libz.so", str(ours / "core"), table=table) == (str(ours / "libz.so"), None)
    assert look(theirs / "libz.so", str(ours / "core"), table=table) == (None, Refusal("automounter", "autofs"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the table is Linux's")
def test_nothing_below_an_automounter_is_even_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask is enough to make it call another machine."""
    asked: list[str] = []
    lstat = os.lstat
    table = f"{ROOT}\n30 22 0:2 / {tmp_path.resolve()}/auto rw - autofs x rw"
    files = UntrustedPaths(table=table)
    monkeypatch.setattr(os, "lstat", lambda path: asked.append(path) or lstat(path))
    assert files.look(f"{tmp_path.resolve()}/auto/server/libz.so").refusal == Refusal("automounter", "autofs")
    assert asked and not any("auto" in Path(path).parts for path in asked)
