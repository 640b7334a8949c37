"""macOS crash reports: the text of Console and .crash files, and the JSON of .ips files, whole or cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from triage import digits, patterns, status
from triage.crash import Environment, ExitStatus, Library, Log, NativeFrame, Place, RuntimeMessage, Thread
from triage.readers.log.containers.interface import ContainerFacts, notices
from triage.readers.log.containers.printed_stacks import FrameLine, by_number

TRIGGERS = ("Exception Type:", "Crashed Thread:", '"bug_type"', " Crashed:", "Terminating app due to")
# PLCrashReporter, which many apps use, names the signal alone.
_TYPE = r"^[ \t]*Exception Type:\s+(?:(?P<type>EXC_\w+)(?: \((?P<signal>SIG[A-Z]{2,6})\))?|(?P<alone>SIG[A-Z]{2,6})\b)"
_UNCAUGHT = r"^[^\n]{0,120}?\*\*\* Terminating app due to uncaught exception [^\n]+$"
_TERMINATION = r"^Termination (?:Reason:\s+(?:Namespace )?SIGNAL, Code (?P<number>0x[0-9a-f]+|\d+))"
_TRANSLATED = r"^Code Type:\s+X86-64 \(Translated\)"
_OS = r"^OS Version:\s+(?:macOS|Mac OS X) (?P<version>\d+)"
_THREAD = r"^Thread (?P<number>\d+)(?P<crashed> Crashed)?(?P<name>::? .*|:)?$"
_FRAME = (
    r"^(?P<number>\d+) +(?P<module>\S(?:[^\n]*?\S)?)\s+0x[0-9a-f]{8,16} (?P<function>[^\n]+?) \+ (?P<offset>\d+)"
    r"(?: \([^\n]*\))?[ \t]*$"
)
_IMAGE = r"^[ \t]*0x[0-9a-f]+ -\s+0x[0-9a-f]+ \+?(?P<name>[\w.+-]+) (?:\S+ )?\((?P<version>[^)\n]*)\)[^\n]* /\S"
_SIGNALS = {
    "EXC_BAD_ACCESS": "SIGSEGV",
    "EXC_BAD_INSTRUCTION": "SIGILL",
    "EXC_ARITHMETIC": "SIGFPE",
    "EXC_BREAKPOINT": "SIGTRAP",
}
# What Rosetta offered to translated programs before macOS 15 added AVX.
_ROSETTA_FLAGS = ("sse", "sse2", "sse3", "ssse3", "sse4_1", "sse4_2", "aes")
_ROSETTA_WITH_AVX = 15

_IPS_TYPE = r'"type"\s*:\s*"(?P<type>EXC_\w+)"'
_IPS_SIGNAL = r'"signal"\s*:\s*"(?P<signal>SIG[A-Z]{2,6})"'
_IPS_CRASHED = r'"triggered"\s*:\s*true'
_IPS_FRAMES = r'"frames"\s*:\s*\['
_IPS_TRANSLATED = r'"translated"\s*:\s*true'
_IPS_OS = r'"(?:os_version|train)"\s*:\s*"macOS (?P<version>\d+)'


def extract(log: Log) -> ContainerFacts:
    """The exception, the crashed thread's stack, and whether the program ran translated."""
    # A .crash file may have the head of an .ips file and the old text below it.
    in_json = '"bug_type"' in log.text and patterns.compile(_IPS_TYPE).search(log.text) is not None
    return _ips(log) if in_json and patterns.compile(_TYPE).search(log.text) is None else _text(log)


def _text(log: Log) -> ContainerFacts:
    kind = patterns.compile(_TYPE).search(log.text)
    exits = []
    if kind is not None:
        exits = _exit(kind["type"] or "", kind["signal"] or kind["alone"], log.place(kind.start()))
    ended = patterns.compile(_TERMINATION).search(log.text)
    if not exits and ended is not None:
        number = digits.whole(ended["number"], 0)
        exits = [] if number is None else [status.from_code(-number, place=log.place(ended.start()))]
    threads = _text_threads(log)
    libraries = tuple(
        Library(match["name"], match["version"] if match["version"][:1].isdigit() and match["version"] != "0" else None)
        for match in patterns.compile(_IMAGE).finditer(log.text)
    )
    version = patterns.compile(_OS).search(log.text)
    environment = _environment(
        is_macos=kind is not None and "iOS" not in log.text and "iPhone" not in log.text,
        translated=patterns.compile(_TRANSLATED).search(log.text) is not None,
        version=digits.whole(version["version"]) if version else None,
    )
    # Newer systems list only images that occur in a stack, so a missing one proves nothing.
    return ContainerFacts(
        exits=tuple(exits),
        threads=threads,
        messages=_messages(log),
        environment=environment._replace(libraries=libraries),
    )


def _messages(log: Log) -> tuple[RuntimeMessage, ...]:
    """An uncaught Objective-C exception; a crash whose type has no signal is still one."""
    found = [
        RuntimeMessage("exception", match.group().strip(), log.place(match.start()), match.start())
        for match in patterns.compile(_UNCAUGHT).finditer(log.text)
    ]
    return (*found, *notices(log, r"^[ \t]*Exception Type:\s+EXC_\w+[^\n]*$"))


def _text_threads(log: Log) -> tuple[Thread, ...]:
    heads = [(match.start(), match["crashed"] is not None) for match in patterns.compile(_THREAD).finditer(log.text)]
    lines = []
    for match in patterns.compile(_FRAME).finditer(log.text):
        # Without symbols the image's address is printed instead of the function.
        function = None if match["function"].startswith("0x") or match["function"] == "???" else match["function"]
        frame = NativeFrame(match["module"], function, digits.whole(match["offset"]))
        if (number := digits.whole(match["number"])) is not None:
            lines.append(FrameLine(number, match.start(), frame))
    threads = []
    for stack in by_number(lines):
        before = [crashed for at, crashed in heads if at < stack.offset]
        threads.append(Thread("", before[-1] if before else True, (), stack.frames, log.place(stack.offset)))
    return tuple(threads)


def _ips(log: Log) -> ContainerFacts:
    """From the body if it is whole JSON; otherwise from what there is before the cut."""
    kind = patterns.compile(_IPS_TYPE).search(log.text)
    signal = patterns.compile(_IPS_SIGNAL).search(log.text)
    version = patterns.compile(_IPS_OS).search(log.text)
    environment = _environment(
        is_macos=True,
        translated=patterns.compile(_IPS_TRANSLATED).search(log.text) is not None,
        version=digits.whole(version["version"]) if version else None,
    )
    exits = []
    if kind is not None:
        exits = _exit(kind["type"], signal["signal"] if signal else None, log.place(kind.start()))
    body = _body(log.text)
    images = [image for image in _list(body, "usedImages") if isinstance(image, dict)]
    names = [_text_of(image, "name") for image in images]
    libraries = tuple(Library(name) for name in names if name)
    environment = environment._replace(libraries=libraries)
    crashed = patterns.compile(_IPS_CRASHED).search(log.text)
    threads = []
    if crashed is not None:
        frames = _crashed_frames(body) or _frames_before_the_cut(log.text, crashed.start())
        stack = tuple(_ips_frame(frame, names) for frame in frames)
        if stack:
            threads = [Thread("", True, native_stack=stack, place=log.place(crashed.start()))]
    return ContainerFacts(exits=tuple(exits), threads=tuple(threads), environment=environment)


def _body(text: str) -> Mapping[str, Any]:
    """The second of the two JSON documents; empty when it is cut."""
    start = text.find("\n{", text.find('"bug_type"'))
    if start < 0:
        start = text.find("{") - 1
    try:
        body, _ = json.JSONDecoder(strict=False).raw_decode(text, start + 1)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _crashed_frames(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for thread in _list(body, "threads"):
        if isinstance(thread, dict) and thread.get("triggered"):
            return [frame for frame in _list(thread, "frames") if isinstance(frame, dict)]
    return []


def _frames_before_the_cut(text: str, crashed: int) -> list[Mapping[str, Any]]:
    """The complete frames of the crashed thread, one by one."""
    opening = patterns.compile(_IPS_FRAMES).search(text, crashed)
    frames: list[Mapping[str, Any]] = []
    at = opening.end() if opening else len(text)
    decoder = json.JSONDecoder(strict=False)
    while at < len(text):
        at += len(text[at : at + 64]) - len(text[at : at + 64].lstrip(" ,\n"))
        try:
            frame, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if not isinstance(frame, dict):
            break
        frames.append(frame)
    return frames


def _ips_frame(frame: Mapping[str, Any], images: list[str | None]) -> NativeFrame:
    index = frame.get("imageIndex")
    module = images[index] if isinstance(index, int) and 0 <= index < len(images) else None
    function = _text_of(frame, "symbol")
    offset = frame.get("symbolLocation" if function else "imageOffset")
    return NativeFrame(module, function, offset if isinstance(offset, int) else None)


def _exit(kind: str, signal: str | None, place: Place) -> list[ExitStatus]:
    name = signal or _SIGNALS.get(kind)
    seen = status.from_signal(name, place=place) if name else None
    return [seen] if seen is not None else []


def _environment(*, is_macos: bool, translated: bool, version: int | None) -> Environment:
    without_avx = translated and version is not None and version < _ROSETTA_WITH_AVX
    return Environment(os="macos" if is_macos else None, cpu_flags=_ROSETTA_FLAGS if without_avx else ())


def _list(mapping: Mapping[str, Any], key: str) -> list[Any]:
    value = mapping.get(key)
    return value if isinstance(value, list) else []


def _text_of(mapping: Mapping[str, Any], key: str) -> str | None:
    value = mapping.get(key)
    return value if isinstance(value, str) and value else None
