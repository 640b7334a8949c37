"""A draft as the files of a pack."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SIGNATURE = """\
# Drafted from one log: make the patterns as general as the failure is, say what helped, then lint and test again.
title: {title}
cause: {cause}
grade: claimed               # confirmed once somebody was cured, reproduced with a script that does it
clues:
{clues}
fix:
  - do: No fix is known yet. Write here what helped.
    risk: low
    verify: {verify}
sources: [{{log: {log}}}]
tests:
  match:
    - {match}
  differ:
{differ}
"""
_CAUSE = """\
{cause}:
  prior: {prior}               # how often it is met here, among all crashes
  title: {title}
  inside: Not known yet. Write here what happens in the process.
  shows: {shows}
  sure: Not known yet. Write here what separates it from its neighbours.
  fix: Not known yet. Write here what helped.
"""


def signature_text(
    title: str,
    cause: str,
    clues: list[Mapping[str, Any]],
    words: str,
    log: str,
    exit_code: str | None,
    differ: list[str],
) -> str:
    """The signature's YAML."""
    match = f"{{log: {log}, exit: {_quoted(exit_code)}}}" if exit_code is not None else log
    return _SIGNATURE.format(
        title=_quoted(title),
        cause=cause,
        clues="\n".join(_clue(clue) for clue in clues),
        verify=_quoted(f"the run ends without '{words}'"),
        log=log,
        match=match,
        differ="\n".join(f"    - {entry}" for entry in differ),
    )


def cause_text(cause: str, title: str, words: str, prior: float) -> str:
    """The page of a new cause."""
    return _CAUSE.format(cause=cause, prior=prior, title=_quoted(title), shows=_quoted(f"The output says: {words}"))


def _clue(clue: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for key, value in clue.items():
        if isinstance(value, Mapping):
            value = "{" + ", ".join(f"{k}: {_scalar(v)}" for k, v in value.items()) + "}"
        elif key == "says":
            value = _quoted(value)
        else:
            value = _scalar(value)
        lines.append(f"{'  - ' if not lines else '    '}{key}: {value}")
    return "\n".join(lines)


def _scalar(value: Any) -> str:
    """A pattern or a name in single quotes, in which nothing needs a backslash; a number as it is."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
