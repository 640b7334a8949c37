"""The text of a new signature, with what goes where said beside it."""

from __future__ import annotations

import json

_DRAFT = """\
title: {title}
cause: {cause}
grade: claimed               # reproduced needs a reproducer in fixtures/crashers, confirmed somebody who was cured
applies: {{os: [linux, windows, macos]}}
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


def draft(title: str, cause: str) -> str:
    """A signature to fill in."""
    return _DRAFT.format(title=json.dumps(title, ensure_ascii=False), cause=cause)
