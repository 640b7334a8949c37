"""A new signature as YAML: a form to fill in, or one drafted from a log with the page of its cause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from triage.crash import Framework
from triage.knowledge.signature import ANY, is_of_frameworks

_BLANK = """\
title: {title}
cause: {cause}
grade: claimed               # reproduced needs a reproducer in fixtures/crashers, confirmed somebody who was cured
applies: {{os: [linux, windows, macos]{framework}}}
clues:
  - id: message
    log: 'the words that only this failure prints'    # RE2; no paths, addresses or source line numbers
    p: 0.9                   # how often it is seen with this cause
    says: what the line means, in plain words
  - id: exit
    exit: [exit 1]
    p: 0.7
fix:
  - do: What to do, exactly.
    run: null                # the command, where there is one
    risk: low
    verify: how the person sees that it helped
sources: [{{issue: OWNER/REPOSITORY#NUMBER}}]
tests:
  match: [fixtures/logs/NAME.log]                            # a log it must recognise
  differ: [{{log: fixtures/logs/OTHER.log, cause: OTHER.CAUSE}}]   # a near one that is something else
"""
_SIGNATURE = """\
# Drafted from one log: make the patterns as general as the failure is, say what helped, then lint and test again.
title: {title}
cause: {cause}
grade: claimed               # confirmed once somebody was cured, reproduced with a script that does it
{applies}clues:
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


def blank_signature(title: str, cause: str) -> str:
    """A signature to fill in, with comments that say what goes where."""
    framework = ", framework: tensorflow" if is_of_frameworks(cause) else ""
    return _BLANK.format(title=_quoted(title), cause=cause, framework=framework)


def signature_text(
    title: str,
    cause: str,
    framework: Framework | None,
    clues: list[Mapping[str, Any]],
    words: str,
    log: str,
    exit_code: str | None,
    differ: list[str],
) -> str:
    """A drafted signature; `framework` is the one that the log shows."""
    whose = framework or ANY
    match = f"{{log: {log}, exit: {_quoted(exit_code)}}}" if exit_code is not None else log
    return _SIGNATURE.format(
        title=_quoted(title),
        cause=cause,
        applies=f"applies: {{framework: {whose}}}\n" if is_of_frameworks(cause) else "",
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
