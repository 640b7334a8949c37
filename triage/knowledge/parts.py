"""Parts that several patterns share, such as the names of CUDA's libraries: written once, in a pack's parts.yaml.

A pattern says {cuda_library} where it wants one. RE2 has no such thing as a name in braces, so nothing else is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from triage.clues.interface import Path, SignatureError

_NAMED = re.compile(r"(?<!\\)\{([a-z_]+)\}")
# What a clue holds besides its pattern. The braces of `says` are filled with what the pattern caught.
_NO_PATTERN = ("id", "p", "b", "says", "consequence_of")


def parts_over(below: Mapping[str, str], table: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a table with those below it; a part may use those before it. Raises SignatureError."""
    parts = dict(below)
    for name, pattern in table.items():
        if not isinstance(pattern, str) or not _NAMED.fullmatch(f"{{{name}}}"):
            raise SignatureError((str(name),), "a part is a name in small letters and a pattern", "a_name: 'PATTERN'")
        parts[name] = _filled(pattern, parts, (name,))
    return parts


def with_parts(data: Any, parts: Mapping[str, str]) -> Any:
    """A signature's data with each name in its patterns replaced. Raises SignatureError for an unknown one."""
    if not isinstance(data, Mapping):
        return data
    filled = {key: _below(data[key], parts, (key,)) for key in ("clues", "against") if key in data}
    return {**data, **filled}


def _below(value: Any, parts: Mapping[str, str], path: Path) -> Any:
    if isinstance(value, Mapping):
        return {k: v if k in _NO_PATTERN else _below(v, parts, (*path, k)) for k, v in value.items()}
    if isinstance(value, list):
        return [_below(one, parts, (*path, number)) for number, one in enumerate(value)]
    return _filled(value, parts, path) if isinstance(value, str) and "{" in value else value


def _filled(pattern: str, parts: Mapping[str, str], path: Path) -> str:
    for name in _NAMED.findall(pattern):
        if name not in parts:
            known = ", ".join(f"{{{part}}}" for part in parts) or "no braces: there is no parts.yaml"
            raise SignatureError(path, f"no part is called {{{name}}}", known)
    return _NAMED.sub(lambda found: f"(?:{parts[found[1]]})", pattern)
