"""Whose kill for memory a text tells of: of the program that it is about, or of another one on the same machine."""

from __future__ import annotations

from collections.abc import Iterator

from triage import patterns
from triage.crash import Log

# How the kernel names the process that it ends; its names have 15 characters at most.
_VICTIM = (
    r"Kill(?:ed)? process \d+,? (?:UID \d+,? )?\((?P<killed>[^)\n]{1,16})\)"
    r"|reaped process \d+ \((?P<reaped>[^)\n]{1,16})\)"
    r"|oom-kill:constraint=[^\n]{0,600}\btask=(?P<task>[^,\n]{1,16}),pid="
)
# Programs that run beside a Python program on the same machine and are no part of it.
_NEIGHBOUR = (
    r"^(?:java|node|nginx|apache2|httpd|php-fpm|clamd|snapd|named|beam\.smp|etcd|mysqld|mariadbd|postgres|postmaster"
    r"|mongod|redis-server|clickhouse-serv|influxd|prometheus|grafana|grafana-server|containerd|dockerd|kube-apiserver"
    r"|qemu-system-x86|qemu-kvm|gnome-shell|Xorg|Xwayland|kwin_x11|plasmashell|code|slack|Discord|spotify|teams"
    r"|chrome|chromium|firefox|firefox-bin|Web Content|Isolated Web.*|WebExtensions|chrome_.*)$"
)
# A Python program is what the text is about, and none that works with a Java process or a browser of its own.
_PYTHON = (
    r"^Traceback \(most recent call last\)|^Fatal Python error: |\bpython[\d.]*(?:\.exe)? (?:-\w )*[\w./-]+\.py\b"
    r"|\bpython[\d.]*\[\d+\]: segfault"
)
_WITH_OTHERS = r"(?i)spark|py4j|jpype|selenium|playwright|pyppeteer|h2o|konlpy|elasticsearch|\bjava -"


def tells_of_another_program(log: Log) -> bool:
    """Whether every kill for memory in the text, one at least, is that of a program beside the Python program."""
    victims = list(_victims(log))
    return bool(victims) and all(is_neighbour(log, name) for name in victims)


def is_neighbour(log: Log, name: str) -> bool:
    """Whether the kernel speaks of another program than the Python program of the text."""
    if patterns.compile(_NEIGHBOUR).search(name) is None:
        return False
    is_python = patterns.compile(_PYTHON).search(log.text) is not None
    return is_python and patterns.compile(_WITH_OTHERS).search(log.text) is None


def _victims(log: Log) -> Iterator[str]:
    if not any(word in log.text for word in ("Kill", "reaped process", "oom-kill")):
        return
    for match in patterns.compile(_VICTIM).finditer(log.text):
        yield match["killed"] or match["reaped"] or match["task"]
