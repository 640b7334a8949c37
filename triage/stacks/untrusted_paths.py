"""Which of the files that a core or a dump names may be opened on this machine.

It can name a pipe, on which an open waits for ever, a device, on which an open has effects, a server, or the memory of
this very process. So a path is followed step by step, and each step is checked against the mount table before the
system is asked about it: just asking about a path below an automounter makes it call another machine.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

_NEVER_BELOW = ("/proc", "/dev", "/sys", "/net", "/misc", "/afs")
# File systems whose files the kernel makes up, and those that are on another machine.
# fmt: off
_OF_THE_KERNEL = {
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "securityfs", "selinuxfs", "sysfs", "tracefs",
}
_OF_A_SERVER = {
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "cvmfs2", "davfs", "gfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "smb2", "smb3", "smbfs",
    "vboxsf", "vmhgfs",
}
# fmt: on
_MOST_LINKS = 40
_HEAD = 4096
Hazard = Literal[
    "pipe",
    "device",
    "socket",
    "directory",
    "not-a-file",
    "link-loop",
    # below a folder in which no file is an ordinary one
    "place",
    "automounter",
    "kernel-file",
    "network-mount",
    # no system writes such a name
    "crafted-name",
]
_HAZARDS: tuple[tuple[Callable[[int], bool], Hazard], ...] = (
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISDIR, "directory"),
)


class Refusal(NamedTuple):
    """Why a path is not opened; `where` is the folder or the kind of file system that the hazard is about."""

    hazard: Hazard
    where: str = ""


class RefusedFile(NamedTuple):
    """A path that is not opened, and why."""

    path: str
    refusal: Refusal


class Look(NamedTuple):
    """What is at a path: a file that may be opened (`real`), one that may not (`refusal`), or nothing.

    `head` is the first page of the file, `size` its length.
    """

    real: str | None = None
    refusal: Refusal | None = None
    head: bytes = b""
    size: int = 0

    @property
    def is_crafted(self) -> bool:
        """Whether no system writes such a name."""
        return self.refusal is not None and self.refusal.hazard == "crafted-name"


class _Mount(NamedTuple):
    """A mount point, and why nothing below it may be opened; None where it may."""

    place: str
    refusal: Refusal | None


class UntrustedPaths:
    """The files at the paths that an input names.

    A path that the person gave (`given`) shows that the network mount it is on may be used.
    """

    def __init__(self, *given: str, table: str | None = None) -> None:
        mounts = _mounts(_table() if table is None else table)
        known = {_mount_of(os.path.realpath(path), mounts).place for path in ("/", sys.prefix, *given)}
        self._mounts = [
            mount._replace(refusal=None) if mount.place in known and _is_network(mount) else mount for mount in mounts
        ]
        self._seen: dict[str, Look] = {}

    def look(self, name: str) -> Look:
        """What is at a path."""
        if name not in self._seen:
            self._seen[name] = self._follow(name)
        return self._seen[name]

    def _follow(self, name: str) -> Look:
        if _is_crafted(name):
            return Look(refusal=Refusal("crafted-name"))
        if not name.startswith("/"):
            return Look()  # relative to an unknown directory
        at, left, links = "/", name.split("/"), 0
        try:
            while left:
                at, left, refusal = self._next(at, left)
                if refusal:
                    return Look(refusal=refusal)
                if stat.S_ISLNK(os.lstat(at).st_mode):
                    links += 1
                    target = os.readlink(at)
                    at = "/" if target.startswith("/") else os.path.dirname(at)
                    left = [*target.split("/"), *left]
                if links > _MOST_LINKS:
                    return Look(refusal=Refusal("link-loop"))
            return opened(at)
        except (OSError, ValueError):
            return Look()  # not there, or not ours to read: a debugger cannot open it either

    def _next(self, at: str, left: list[str]) -> tuple[str, list[str], Refusal | None]:
        """One step further along a path, or as far as the mount that it ends on; and why that step is refused."""
        part, *rest = left
        if part in ("", "."):
            return at, rest, None
        if part == "..":
            return os.path.dirname(at), rest, None
        here = os.path.join(at, part)
        down = rest.index("..") if ".." in rest else len(rest)
        whole = os.path.join(here, *(step for step in rest[:down] if step not in ("", ".")))
        mount = _mount_of(whole, self._mounts)
        if mount.place.startswith(here + "/"):
            # A mount that may be used can be below one that may not; a mount point has no links in it.
            return mount.place, [*whole[len(mount.place) :].split("/"), *rest[down:]], mount.refusal
        return here, rest, self._refusal_of(here)

    def _refusal_of(self, path: str) -> Refusal | None:
        below = next((place for place in _NEVER_BELOW if path == place or path.startswith(place + "/")), None)
        return Refusal("place", below) if below else _mount_of(path, self._mounts).refusal


def opened(path: str) -> Look:
    """The file at a path that is safe to follow: checked before it is opened, so that the open never waits."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return Look(
            refusal=Refusal(next((hazard for is_it, hazard in _HAZARDS if is_it(status.st_mode)), "not-a-file"))
        )
    flags = [getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")]
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # it was replaced meanwhile
            return Look(refusal=Refusal("not-a-file"))
        return Look(path, None, os.read(descriptor, _HEAD), status.st_size)
    finally:
        os.close(descriptor)


def _is_crafted(name: str) -> bool:
    """Whether a name climbs above the root, or asks a debugger for the files of another machine."""
    depth = 0
    for part in name.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            return True
    return name.startswith(("target:", "remote:"))


def _table() -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:  # another system
        return ""


def _mounts(table: str) -> list[_Mount]:
    """The mounts, longest paths first; of two at one place the later one counts."""
    found = {"/": _Mount("/", None)}
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if separator and len(fields) > 4:
            place = _unescaped(fields[4])
            found[place] = _Mount(place, _refusal_on(kind))
    return sorted(found.values(), key=lambda mount: -len(mount.place))


def _refusal_on(kind: str) -> Refusal | None:
    if kind == "autofs":
        return Refusal("automounter", kind)
    if kind in _OF_THE_KERNEL:
        return Refusal("kernel-file", kind)
    return Refusal("network-mount", kind) if kind in _OF_A_SERVER or kind.split(".")[0] == "fuse" else None


def _is_network(mount: _Mount) -> bool:
    return mount.refusal is not None and mount.refusal.hazard == "network-mount"


def _mount_of(path: str, mounts: Iterable[_Mount]) -> _Mount:
    """The mount that a path is on; the longest mount points come first."""
    return next(
        (mount for mount in mounts if path == mount.place or path.startswith(mount.place.rstrip("/") + "/")),
        _Mount("/", None),
    )


def _unescaped(field: str) -> str:
    """The path itself: the table writes blanks and backslashes in octal."""
    first, *rest = field.split("\\")
    return first + "".join(chr(int(text[:3], 8)) + text[3:] if text[:3].isdigit() else text for text in rest)
