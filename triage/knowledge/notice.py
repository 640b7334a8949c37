"""Lines that frighten and end nothing: who prints each, what it means, what it costs and how to silence it.

`signatures/notices/SOURCE.yaml` has those of one source; the id of a notice is SOURCE/NAME.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from triage.clues.interface import SignatureError
from triage.crash import Harm

HARMS: tuple[Harm, ...] = get_args(Harm)
REQUIRED = ("match", "lines", "from", "means", "harm", "silence", "sources")
OPTIONAL = ("cost", "versions", "becomes", "fallback")


class Notice(NamedTuple):
    """What is known of one such line.

    `lines` are examples of what is printed, so that a line that a console broke or a paste cut is still known by its
    words. `becomes` is the cause for which the same line is the root once something has failed. A `fallback` explains
    only lines that no other notice does.
    """

    id: str
    match: tuple[str, ...]
    lines: tuple[str, ...]
    who: str
    means: str
    harm: Harm
    cost: str
    silence: str
    versions: str
    sources: tuple[str, ...]
    becomes: str | None = None
    fallback: bool = False


def parse_notice(id: str, data: Any) -> Notice:
    """A notice from its YAML form; raises SignatureError for the first thing that is wrong."""
    if not isinstance(data, Mapping):
        raise SignatureError((), "a notice is a mapping", "what CONTRIBUTING.md shows")
    for name in data:
        if name not in (*REQUIRED, *OPTIONAL):
            raise SignatureError((name,), f"unknown field '{name}'", f"one of {', '.join((*REQUIRED, *OPTIONAL))}")
    for name in REQUIRED:
        if not data.get(name):
            raise SignatureError((), f"no '{name}'", f"{name}: …")
    if data["harm"] not in HARMS:
        raise SignatureError(("harm",), f"unknown harm '{data['harm']}'", f"one of {', '.join(HARMS)}")
    if (data["harm"] == "none") == bool(data.get("cost")):
        raise SignatureError(("harm",), "what is not harmless has a cost, what is harmless has none", "cost: …")
    return Notice(
        id,
        _texts(data, "match"),
        _texts(data, "lines"),
        str(data["from"]),
        str(data["means"]),
        data["harm"],
        str(data.get("cost", "")),
        str(data["silence"]),
        str(data.get("versions", "")),
        _texts(data, "sources"),
        data.get("becomes"),
        bool(data.get("fallback", False)),
    )


def _texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    written = data[name]
    if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
        raise SignatureError((name,), f"'{name}' is a list of texts", f"{name}: ['…']")
    return tuple(written)
