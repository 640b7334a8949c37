"""Hiding what a report must not carry into an issue tracker: user names, home paths, addresses, tokens.

The same value always gets the same placeholder, so that a redacted report can still be followed. Not looked for:
host names, IP addresses, project names and the values of local variables (which no report holds anyway).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from triage.crash import Log
from triage.patterns import Match
from triage.patterns import compile as pattern
from triage.report import Report

# Names that say nothing about a person.
_NOBODY = {
    "user",
    "users",
    "root",
    "runner",
    "ubuntu",
    "jovyan",
    "public",
    "default",
    "shared",
    "admin",
    "docker",
    "app",
    "vscode",
    "work",
}
_HOME = r"(?i)(?:/home/|/Users/|\b[A-Z]:[\\/]+Users[\\/]+|[\\/]Documents and Settings[\\/])([^\\/\s:\"'<>|]{1,64})"
_SPACED_HOME = r"(?i)^[A-Z]:[\\/]Users[\\/]([^\\/:\"'<>|]{1,64})[\\/]"
_HOME_FOLDERS = ("/home/", "users", "documents and settings")
_EMAIL = r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b"
_TOKENS = (
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}"
    r"|\bhf_[A-Za-z0-9]{20,}\b|\bsk-[A-Za-z0-9_-]{16,}\b|\bAIza[\w-]{35}\b|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{4,}\b"
    r"|\bnpm_[A-Za-z0-9]{30,}\b|\bpypi-[\w-]{40,}\b"
)
_TOKEN_STARTS = (
    "AKIA",
    "ASIA",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "hf_",
    "sk-",
    "AIza",
    "xox",
    "eyJ",
    "npm_",
    "pypi-",
)
_TELLING_NAMES = ("passw", "secret", "token", "key")
_NAMED = (
    r"(?i)\b([\w-]{0,32}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|wandb_key)['\"]?\s?[=:]\s?['\"]?)"
    r"([^\s'\",;]{4,})"
)
_BEARER = r"(?i)\b(bearer|basic) ([A-Za-z0-9+/=._~-]{12,})"
_URL_LOGIN = r"(://)([^\s/:@]{1,128}:[^\s/@]{1,256})(@)"


class Redactor:
    """Replaces private values by placeholders that stay the same through one report."""

    def __init__(self, user_names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._placeholders: dict[tuple[str, str], str] = {}
        # Whole words only, and none so short that it would tear other words apart.
        names = sorted({name for name in user_names if len(name) > 2}, key=len, reverse=True)
        self._names = pattern(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b") if names else None

    def text(self, text: str) -> str:
        """The text with private values replaced."""
        lower = text.lower()
        # Each rule is tried only where a text that it needs is there: most strings of a report need none.
        if "://" in text:
            text = pattern(_URL_LOGIN).sub(lambda m: m[1] + self._placeholder("token", m[2]) + m[3], text)
        if any(start in text for start in _TOKEN_STARTS):
            text = pattern(_TOKENS).sub(lambda m: self._placeholder("token", m[0]), text)
        if "bearer " in lower or "basic " in lower:
            text = pattern(_BEARER).sub(lambda m: f"{m[1]} {self._placeholder('token', m[2])}", text)
        if any(word in lower for word in _TELLING_NAMES):
            text = pattern(_NAMED).sub(self._named, text)
        if "@" in text:
            text = pattern(_EMAIL).sub(lambda m: self._placeholder("email", m[0]), text)
        if any(folder in lower for folder in _HOME_FOLDERS):
            text = pattern(_HOME).sub(self._home, text)
        if self._names is not None:
            text = self._names.sub(lambda m: self._placeholder("user", m[0]), text)
        return text

    def _named(self, match: Match) -> str:
        already = str(match[2]).startswith("<token-")
        return str(match[0]) if already else match[1] + self._placeholder("token", match[2])

    def _home(self, match: Match) -> str:
        whole, name = str(match[0]), str(match[1])
        if name.lower() in _NOBODY:
            return whole
        return whole[: -len(name)] + self._placeholder("user", name)

    def _placeholder(self, kind: str, value: str) -> str:
        self.counts[kind] += 1
        known = sum(1 for other, _ in self._placeholders if other == kind)
        return self._placeholders.setdefault((kind, value), f"<{kind}-{known + 1}>")


def redacted(report: Report) -> Report:
    """The report with private values replaced, and how many of each kind were."""
    redactor = Redactor(_user_names(report))
    clean: Report = _walk(report, redactor)
    return clean._replace(redactions=tuple(sorted(redactor.counts.items())))


def redacted_text(text: str) -> str:
    """A whole log with private values replaced, for a copy that others will see."""
    return Redactor(name for name in pattern(_HOME).findall(text) if name.lower() not in _NOBODY).text(text)


def _user_names(report: Report) -> set[str]:
    crash = report.crash
    texts = [log.text for log in crash.logs] + [entry.name for entry in crash.inputs]
    texts += [text for process in crash.processes if process.dump for text in process.dump.comments]
    texts += [text for text in (crash.environment.interpreter,) if text]
    names = {name for text in texts for name in pattern(_HOME).findall(text) if name.lower() not in _NOBODY}
    # In a path that is one by itself a name may have several words, each of which says who it is.
    several = pattern(_SPACED_HOME).findall(crash.environment.interpreter or "")
    return names | {word for name in several for word in name.split() if word.lower() not in _NOBODY}


def _walk(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple):
        walked = [_walk(item, redactor) for item in value]
        # A named tuple of ours takes its fields one by one, a plain tuple takes them as they come.
        return type(value)(*walked) if hasattr(value, "_fields") else tuple(walked)
    # Logs are never printed; what is printed of them stands in the evidence.
    assert value is None or isinstance(value, (int, float, Log)), type(value)
    return value
