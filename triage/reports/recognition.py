"""Whether a file is a report of triage and nothing else: only such a file may be replaced or removed unasked."""

from __future__ import annotations

import json
import os
import re
import stat

from triage.reports.json_report import SCHEMA

# A report of a crash with hundreds of threads has a few hundred kilobytes; a file of this size is something else.
_LARGEST = 64 * 1024 * 1024
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FILE_NAME = re.compile(r"== .")
_CONFIDENCE = re.compile(r"   \d{1,3} %$")
_CAUSE = re.compile(r"[\w-]+\.[\w.-]+")
# The cause came before the sentence once, on the same line, and Markdown had it in the heading.
_OLD_ANSWER = re.compile(r"(?:perhaps )?([\w.-]+)   \S")
_OLD_HEADING = "## triage: "
_CHOSEN = "It ended itself with "
_ROW = re.compile(r" (?:[a-z]{2,7} {1,6}| {7,8})(?=\S|  )")
_MARKDOWN_ANSWER = re.compile(r"triage: `[\w.-]+`")


def is_report(path: str) -> bool:
    """Whether the file at this path is a report of triage, or several of them, in any format."""
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
    """Each report has a heading, the answer below it, and at its end the line that names us; nothing stands between."""
    rest = [line for line in lines if line]
    while rest:
        is_ours = rest[0].startswith(_OLD_HEADING) or (
            rest[0].startswith("## ") and len(rest) > 1 and _MARKDOWN_ANSWER.fullmatch(rest[1])
        )
        end = next((n for n, line in enumerate(rest) if line.startswith("<sub>triage ") and line.endswith("</sub>")), 0)
        if not is_ours or not end:
            return False
        rest = rest[end + 1 :]
    return True


def _is_text(lines: list[str]) -> bool:
    """Each report is an answer, rows behind their labels, and the next command.

    `no-crash` does without a command, and a code that a program chose itself without any row.
    """
    rest = [_COLOUR.sub("", line).rstrip() for line in lines]
    while rest:
        if _FILE_NAME.match(rest[0]):
            rest = rest[1:]
        answer, end = _answer(rest)
        chosen = answer == "unknown" and rest[0].startswith(_CHOSEN)
        rows = []
        while answer and end < len(rest) and (not rest[end] or _ROW.match(rest[end])):
            rows += [rest[end]] if rest[end] else []
            end += 1
        if not (
            answer == "no-crash"
            or (chosen and not rows)
            or (answer and rows and rows[-1].split()[:2] == ["more", "triage"])
        ):
            return False
        rest = rest[end:]
    return True


def _answer(lines: list[str]) -> tuple[str, int]:
    """The cause or verdict that a report begins with, and after how many lines its rows begin; "" where it is none."""
    sentence, below = (*lines[:2], "", "")[:2]
    if below in ("unknown", "no-crash") and sentence.endswith("."):
        return below, 2
    if _CONFIDENCE.search(sentence) and _CAUSE.fullmatch(below):
        return below, 2
    old = _OLD_ANSWER.match(sentence)
    return (old[1], 1) if old else ("", 0)
