"""The only way to run regular expressions over untrusted text.

RE2 takes linear time on any text, and compiles a pattern ten times faster than the standard library, so patterns are
kept as text and compiled at first use. Some systems have no wheel for it (musl, PyPy); there the standard library's
engine is used instead, so lint requires every pattern to compile in both.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

try:
    import re2
except ImportError:
    re2 = None

LINEAR_TIME = re2 is not None


class Match(Protocol):
    """The part of a match object that we use."""

    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def group(self, group: int | str = 0) -> Any: ...
    def groupdict(self) -> dict[str, str | None]: ...
    def __getitem__(self, group: int | str) -> Any: ...


class Pattern(Protocol):
    """The part of a compiled pattern that we use."""

    def search(self, text: str, pos: int = 0) -> Match | None: ...
    def match(self, text: str) -> Match | None: ...
    def finditer(self, text: str) -> Iterator[Match]: ...
    def findall(self, text: str) -> list[Any]: ...
    def sub(self, repl: Callable[[Match], str] | str, text: str) -> str: ...


class BadPattern(ValueError):
    """A pattern that the engine refuses; the text says why."""


@cache
def compile(pattern: str) -> Pattern:
    """Compile a pattern; `^` and `$` are line ends, `.` does not match a line end."""
    text = "(?m)" + pattern
    if re2 is None:
        try:
            return cast(Pattern, re.compile(text))
        except re.error as error:
            raise BadPattern(str(error)) from None
    options = re2.Options()
    options.log_errors = False
    try:
        return cast(Pattern, re2.compile(text, options))
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise BadPattern(reason.decode() if isinstance(reason, bytes) else str(reason)) from None


def check(pattern: str) -> str | None:
    """Why a pattern cannot be used, or None: it must compile in RE2 and in the standard library's engine."""
    try:
        compile(pattern)
    except BadPattern as error:
        return str(error)
    try:
        with warnings.catch_warnings():
            # What Python warns about ([[:alpha:]], nested sets) it reads differently from RE2.
            warnings.simplefilter("error", FutureWarning)
            re.compile("(?m)" + pattern)
    except (re.error, FutureWarning) as error:
        return str(error)
    return None


@cache
def literals(pattern: str) -> tuple[str, ...]:
    """Texts of which every match contains at least one; empty if nothing is certain.

    They let a search skip a pattern after a plain `in`, without compiling it.
    """
    try:
        parsed = parse(pattern)
    except re.error:
        return ()
    if parsed.state.flags & re.IGNORECASE:
        return ()
    return tuple(sorted(_required(list(parsed))))


def parse(pattern: str, flags: int = 0) -> Any:
    """A pattern as parsed by the standard library, whose parser has no public name (and moved in 3.11)."""
    return (getattr(re, "_parser", None) or import_module("sre_parse")).parse(pattern, flags)


def _required(nodes: list[Any]) -> frozenset[str]:
    """The best set of required texts for a sequence of parsed nodes: the one with the longest shortest text."""
    candidates: list[frozenset[str]] = []
    run = ""
    for name, argument in nodes:
        kind = str(name)
        if kind == "LITERAL" and argument < 128 and chr(argument) != "\n":
            run += chr(argument)
            continue
        if kind == "SUBPATTERN" and not argument[1] and all(str(n) == "LITERAL" and a < 128 for n, a in argument[3]):
            run += "".join(chr(a) for _, a in argument[3])
            continue
        if run:
            candidates.append(frozenset([run]))
            run = ""
        if kind == "SUBPATTERN" and not argument[1] & re.IGNORECASE:
            candidates.append(_required(list(argument[3])))
        elif kind == "BRANCH":
            branches = [_required(list(branch)) for branch in argument[1]]
            if all(branches):
                candidates.append(frozenset().union(*branches))
        elif kind in ("MAX_REPEAT", "MIN_REPEAT") and argument[0] >= 1:
            candidates.append(_required(list(argument[2])))
    if run:
        candidates.append(frozenset([run]))
    usable = [candidate for candidate in candidates if candidate]
    return max(usable, key=lambda texts: min(len(text) for text in texts), default=frozenset())
