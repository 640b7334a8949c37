"""Windows' own crash records: Event Viewer's event 1000, Windows Error Reporting (APPCRASH, BEX64), Report.wer.

Event Viewer writes in the language of the system, so its record is recognised by its shape: a program and a module,
each with version and time stamp, then the code and the offset.
"""

from __future__ import annotations

from typing import NamedTuple

from triage import digits, patterns, status
from triage.crash import Environment, Log, NativeFrame, Thread
from triage.readers.log.containers.interface import ContainerFacts

TRIGGERS = (
    "Faulting application name",
    "Fault Module Name",
    "APPCRASH",
    "BEX64",
    "错误应用程序名称",
    "出错应用程序名称",
    "障害が発生しているアプリケーション",
    "fehlerhaften Anwendung",
    "application défaillante",
    "aplicación con errores",
    "applicazione che ha generato",
    "aplicativo com falha",
    "сбойного приложения",
)
_NAMED = (
    r"[^\n:：]{2,80}[:：]? ?(?:\w+\.(?:exe|EXE)), [^\n,:：]{2,40}[:：]? ?[\d.]+, [^\n:：]{2,40}[:：]? ?0x[0-9a-fA-F]+"
)
_EVENT = (
    rf"^[ \t]*{_NAMED}\s*\n"
    r"\s*[^\n:：]{2,80}?[:：]? ?(?P<module>[\w.+-]+\.(?:dll|DLL|exe|EXE|pyd)|unknown), [^\n]{4,120}\n"
    r"\s*[^\n:：]{2,60}[:：]? ?(?P<code>0x[0-9a-fA-F]{8})\s*\n"
    r"\s*[^\n:：]{2,60}[:：]? ?(?P<offset>0x[0-9a-fA-F]{8,16})[ \t]*$"
)
# The dialog's `Problem signature` and the same fields in Report.wer (`Sig[3].Name=...`, `Sig[3].Value=...`).
_FIELD = (
    r"^[ \t]*(?:Sig\[\d+\]\.Name=)?(?P<name>Fault Module Name|Exception Code|Exception Offset|Exception Data)"
    r"(?::?[ \t]+|\r?\nSig\[\d+\]\.Value=)(?P<value>\S+)[ \t]*$"
)
# Event 1001 numbers the fields of the same record; in a BEX the offset comes before the code.
_BUCKET = r"^[ \t]*Event Name: (?P<event>APPCRASH|BEX64|BEX)\b"
_NUMBERED = r"^[ \t]*P(?P<number>[4789]): (?P<value>\S+)[ \t]*$"


class _Record(NamedTuple):
    """One crash as Windows recorded it."""

    place: int
    module: str | None
    code: str | None
    offset: str | None = None
    data: str | None = None


def extract(log: Log) -> ContainerFacts:
    """The exception, and the faulting module as a stack of one frame."""
    records = [*_events(log), *_signatures(log), *_buckets(log)]
    exits, threads = [], []
    for record in records:
        place = log.place(record.place)
        seen = status.parse(f"0x{record.code.lower().removeprefix('0x')}", place=place) if record.code else None
        if seen is not None:
            fast_fail = seen.ntstatus == status.FAST_FAIL_STATUS and record.data
            exits.append(status.with_subcode(seen, _hexadecimal(record.data) or 0) if fast_fail else seen)
        if record.module and record.module.lower() not in ("unknown", "stackhash"):
            frame = NativeFrame(record.module, None, _hexadecimal(record.offset))
            threads.append(Thread("", True, native_stack=(frame,), place=place))
    return ContainerFacts(
        exits=tuple(exits), threads=tuple(threads), environment=Environment(os="windows" if records else None)
    )


def _events(log: Log) -> list[_Record]:
    found = patterns.compile(_EVENT).finditer(log.text)
    return [_Record(match.start(), match["module"], match["code"], match["offset"]) for match in found]


def _signatures(log: Log) -> list[_Record]:
    fields: dict[str, str] = {}
    start = None
    for match in patterns.compile(_FIELD).finditer(log.text):
        start = match.start() if start is None else start
        fields.setdefault(match["name"], match["value"])
    if start is None or not _hexadecimal(fields.get("Exception Code")):
        return []
    data = fields.get("Exception Data")
    return [
        _Record(
            start,
            fields.get("Fault Module Name"),
            fields["Exception Code"],
            fields.get("Exception Offset"),
            data if _hexadecimal(data) is not None else None,
        )
    ]


def _buckets(log: Log) -> list[_Record]:
    found = []
    for head in patterns.compile(_BUCKET).finditer(log.text):
        numbered: dict[str, str] = {}
        for match in patterns.compile(_NUMBERED).finditer(log.text[head.end() : head.end() + 2000]):
            numbered.setdefault(match["number"], match["value"])
        first, second = numbered.get("7"), numbered.get("8")
        code, offset = (first, second) if head["event"] == "APPCRASH" else (second, first)
        if _hexadecimal(code):
            data = numbered.get("9") if head["event"] != "APPCRASH" else None
            found.append(_Record(head.start(), numbered.get("4"), code, offset, data if _hexadecimal(data) else None))
    return found


def _hexadecimal(text: str | None) -> int | None:
    return digits.whole(text, 16)
