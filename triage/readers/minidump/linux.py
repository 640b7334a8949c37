"""What Breakpad copies from /proc into the dump of a Linux process: command, processor, memory, distribution."""

from __future__ import annotations

from typing import NamedTuple

from triage.readers.minidump import file as parts
from triage.readers.minidump.file import DumpFile

_LONGEST = 64 << 10


class LinuxFacts(NamedTuple):
    """As /proc told it. Bytes are the most memory that was in use; the environment of the process is never read."""

    command: str | None = None
    pid: int | None = None
    peak: int | None = None
    threads: int | None = None
    cpu: str | None = None
    cpu_flags: tuple[str, ...] = ()
    distribution: str | None = None


def linux_facts(dump: DumpFile) -> LinuxFacts:
    """What is there of it; nothing in dumps of other systems."""
    status = _fields(_text(dump, parts.PROC_STATUS), ":")
    cpu = _fields(_text(dump, parts.CPU_INFO), ":")
    release = _fields(_text(dump, parts.RELEASE), "=")
    distribution = release.get("PRETTY_NAME") or release.get("DISTRIB_DESCRIPTION") or ""
    command = _text(dump, parts.COMMAND_LINE).replace("\0", " ").strip()
    peak = _number(status.get("VmHWM"))
    return LinuxFacts(
        command or None,
        _number(status.get("Pid")),
        peak * 1024 if peak is not None else None,
        _number(status.get("Threads")),
        cpu.get("model name"),
        tuple(cpu.get("flags", cpu.get("Features", "")).split()),
        distribution.strip('"') or None,
    )


def _text(dump: DumpFile, kind: int) -> str:
    return dump.stream(kind, _LONGEST).decode("utf-8", "replace")


def _fields(text: str, separator: str) -> dict[str, str]:
    """The first value of each name."""
    found: dict[str, str] = {}
    for line in text.replace("\0", "\n").splitlines():
        name, is_field, value = line.partition(separator)
        if is_field:
            found.setdefault(name.strip(), value.strip())
    return found


def _number(text: str | None) -> int | None:
    digits = (text or "").split(" ")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 16 else None
