"""Which of the files that an input names may be opened here: the names are its own, the machine is the person's.

A core or a dump can name a pipe, on which an open waits for ever, a device, on which it has effects, a server, or this
very process's memory. So a name is followed step by step, and each step is compared with the table of mounts before
the system is asked about it: to ask about a path below an automounter is enough to make it call another machine.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from typing import NamedTuple

_NEVER_BELOW = ("/proc", "/dev", "/sys", "/net", "/misc", "/afs")
# File systems that the kernel makes up, and those behind which another machine stands.
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
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a directory"),
)


class Look(NamedTuple):
    """What stands under a name: a file that may be opened (`real`), one that may not (`why`), or nothing.

    `head` is the first page of the file, `size` its length; `is_crafted` says that no system writes such a name.
    """

    real: str | None = None
    why: str | None = None
    head: bytes = b""
    size: int = 0
    is_crafted: bool = False


class Mount(NamedTuple):
    """A place of the file tree, and why nothing below it may be opened; None where it may."""

    place: str
    why: str | None


class NamedFiles:
    """The files under an input's names. Paths that the person gave vouch for the network mounts that they lie on."""

    def __init__(self, *given: str, table: str | None = None) -> None:
        mounts = _mounts(_table() if table is None else table)
        known = {_mount_of(os.path.realpath(path), mounts).place for path in ("/", sys.prefix, *given)}
        self._mounts = [
            mount._replace(why=None) if mount.place in known and _is_network(mount) else mount for mount in mounts
        ]
        self._seen: dict[str, Look] = {}

    def look(self, name: str) -> Look:
        """What stands under a name."""
        if name not in self._seen:
            self._seen[name] = self._follow(name)
        return self._seen[name]

    def _follow(self, name: str) -> Look:
        if _is_crafted(name):
            return Look(why="no name that a system writes", is_crafted=True)
        if not name.startswith("/"):
            return Look()  # it was relative to a directory that is not told
        at, left, links = "/", name.split("/"), 0
        try:
            while left:
                at, left, why = self._next(at, left)
                if why:
                    return Look(why=why)
                if stat.S_ISLNK(os.lstat(at).st_mode):
                    links += 1
                    target = os.readlink(at)
                    at = "/" if target.startswith("/") else os.path.dirname(at)
                    left = [*target.split("/"), *left]
                if links > _MOST_LINKS:
                    return Look(why="a link to itself")
            return opened(at)
        except (OSError, ValueError):
            return Look()  # not there, or not for us: nobody else can open it either

    def _next(self, at: str, left: list[str]) -> tuple[str, list[str], str | None]:
        """One step further along a path, or as far as the mount on which it ends; and why that may not be done."""
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
            # A mount that may be used can lie below one that may not; its place is real, without any links.
            return mount.place, [*whole[len(mount.place) :].split("/"), *rest[down:]], mount.why
        return here, rest, self._why_not(here)

    def _why_not(self, path: str) -> str | None:
        below = next((place for place in _NEVER_BELOW if path == place or path.startswith(place + "/")), None)
        return f"below {below}" if below else _mount_of(path, self._mounts).why


def opened(path: str) -> Look:
    """A file whose place is not in question: it is looked at before it is opened, and an open never waits."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return Look(why=next((words for is_it, words in _KINDS if is_it(status.st_mode)), "no file"))
    flags = [getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")]
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # it has been exchanged meanwhile
            return Look(why="no file")
        return Look(path, None, os.read(descriptor, _HEAD), status.st_size)
    finally:
        os.close(descriptor)


def _is_crafted(name: str) -> bool:
    """Whether a name leaves the root, or asks a debugger for the files of another machine."""
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


def _mounts(table: str) -> list[Mount]:
    """The mounts in the order in which they were made: of two at one place the later one counts."""
    found = {"/": Mount("/", None)}
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if separator and len(fields) > 4:
            place = _unescaped(fields[4])
            found[place] = Mount(place, _why_not_on(kind))
    return sorted(found.values(), key=lambda mount: -len(mount.place))


def _why_not_on(kind: str) -> str | None:
    if kind == "autofs":
        return "below an automounter"
    if kind in _OF_THE_KERNEL:
        return f"a file of the kernel ({kind})"
    return f"on a network mount ({kind})" if kind in _OF_A_SERVER or kind.split(".")[0] == "fuse" else None


def _is_network(mount: Mount) -> bool:
    return mount.why is not None and mount.why.startswith("on a network mount")


def _mount_of(path: str, mounts: Iterable[Mount]) -> Mount:
    """The mount on which a path lies; the longest places come first."""
    return next(
        (mount for mount in mounts if path == mount.place or path.startswith(mount.place.rstrip("/") + "/")),
        Mount("/", None),
    )


def _unescaped(field: str) -> str:
    """A path as it is: the table writes blanks and backslashes in octal."""
    first, *rest = field.split("\\")
    return first + "".join(chr(int(text[:3], 8)) + text[3:] if text[:3].isdigit() else text for text in rest)
