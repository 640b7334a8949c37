"""The command of a fix for the person's system."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Assignments before a command, as POSIX shells take them: NAME=value NAME=value command.
_ASSIGNMENTS = re.compile(r"(?:[A-Z_][A-Z0-9_]*=\S* )+")
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}


def for_system(run: Mapping[str, str], os: str | None) -> str | None:
    """The command for a system; where that is unknown, the general one with the Windows form behind it."""
    if not run:
        return None
    if os is not None:
        return _translated(run.get(os) or run.get("default") or run.get("otherwise"), os)
    text = run.get("default") or run.get("linux") or run.get("otherwise")
    if text is None:
        name, text = next(iter(run.items()))
        return f"{text}  # {_SYSTEMS[name]}"
    windows = _translated(run.get("windows") or run.get("default") or run.get("otherwise"), "windows")
    return text if windows in (text, None) else f"{text}  # Windows: {windows}"


def _translated(text: str | None, os: str) -> str | None:
    """Leading assignments as Windows takes them, in a form that cmd and PowerShell both run."""
    match = _ASSIGNMENTS.match(text) if text and os == "windows" else None
    if text is None or match is None or match.end() == len(text):
        return text
    # No space before &&: cmd would make it a part of the value.
    settings = "".join(f"set {assignment}&& " for assignment in match[0].split())
    return f'cmd /c "{settings}{text[match.end() :]}"'
