"""Whether a file is a report that we wrote, and nothing else: only such a one may be taken away unasked."""

from __future__ import annotations

import json
import os
import re
import stat

from triage.reports.json_report import SCHEMA

# A report of a crash with hundreds of threads has a few hundred kilobytes; a file of this size is something else.
_LARGEST = 64 * 1024 * 1024
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NAMED = re.compile(r"== .")
_ANSWER = re.compile(r"(?:perhaps )?[\w.-]+   \S")
_ROW = re.compile(r" (?:[a-z]{2,6} {1,6}| {7})(?=\S|  )")
_NO_CRASH = re.compile(r"no-crash   \S")


def is_report(path: str) -> bool:
    """Whether the file at this path is one report of ours, or several of them, in any format."""
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                return False
            text = file.read(_LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return False
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return bool(lines) and (_is_json(lines) or _is_markdown(lines) or _is_text(lines))


def _is_json(lines: list[str]) -> bool:
    """One report a line, each of them whole."""
    opening = f'{{"schema": "{SCHEMA}", '
    if not all(line.startswith(opening) for line in lines):
        return False
    try:
        return all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _is_markdown(lines: list[str]) -> bool:
    """Each report begins with its heading and ends with the line that names us; between two there is nothing."""
    is_open = False
    for line in lines:
        if not is_open and line:
            if not line.startswith("## triage: "):
                return False
            is_open = True
        elif line.startswith("<sub>triage ") and line.endswith("</sub>"):
            is_open = False
    return not is_open


def _is_text(lines: list[str]) -> bool:
    """Each report is an answer, rows behind their labels, and the next command, which `no-crash` does without."""
    rest = [_COLOUR.sub("", line).rstrip() for line in lines]
    while rest:
        if _NAMED.match(rest[0]):
            rest = rest[1:]
        answer = rest[0] if rest else ""
        if not _ANSWER.match(answer):
            return False
        end = 1
        while end < len(rest) and (not rest[end] or _ROW.match(rest[end])):
            end += 1
        told = [line for line in rest[1:end] if line]
        if not (_NO_CRASH.match(answer) or (told and told[-1].split()[:2] == ["more", "triage"])):
            return False
        rest = rest[end:]
    return True
