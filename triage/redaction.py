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
_HOME = re.compile(
    r"(?i)(?:/home/|/Users/|\b[A-Z]:[\\/]+Users[\\/]+|[\\/]Documents and Settings[\\/])([^\\/\s:\"'<>|]{1,64})"
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b")
_TOKENS = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,255}\b|\bgithub_pat_\w{20,255}\b|\bglpat-[\w-]{20,64}"
    r"|\bhf_[A-Za-z0-9]{20,64}\b|\bsk-[A-Za-z0-9_-]{16,200}\b|\bAIza[\w-]{35}\b|\bxox[abprs]-[\w-]{10,200}"
    r"|\beyJ[\w-]{8,2000}\.[\w-]{4,4000}\.[\w-]{4,2000}\b"
    r"|\bnpm_[A-Za-z0-9]{30,64}\b|\bpypi-[\w-]{40,400}\b"
)
_NAMED = re.compile(
    r"(?i)\b((?:[\w-]{0,32}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|wandb_key))['\"]?\s?[=:]\s?['\"]?)([^\s'\",;]{4,512})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic) ([A-Za-z0-9+/=._~-]{12,4096})")
_URL_LOGIN = re.compile(r"(://)([^\s/:@]{1,128}:[^\s/@]{1,256})(@)")


class Redactor:
    """Replaces private values by placeholders that stay the same through one report."""

    def __init__(self, user_names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._placeholders: dict[tuple[str, str], str] = {}
        # Whole words only, and none so short that it would tear other words apart.
        names = sorted({name for name in user_names if len(name) > 2}, key=len, reverse=True)
        self._names = re.compile(r"(?<![\w.-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])") if names else None

    def text(self, text: str) -> str:
        """The text with private values replaced."""
        text = _URL_LOGIN.sub(lambda m: m[1] + self._placeholder("token", m[2]) + m[3], text)
        text = _TOKENS.sub(lambda m: self._placeholder("token", m[0]), text)
        text = _BEARER.sub(lambda m: f"{m[1]} {self._placeholder('token', m[2])}", text)
        text = _NAMED.sub(
            lambda m: m[0] if m[2].startswith("<token-") else m[1] + self._placeholder("token", m[2]), text
        )
        text = _EMAIL.sub(lambda m: self._placeholder("email", m[0]), text)
        text = _HOME.sub(self._home, text)
        if self._names is not None:
            text = self._names.sub(lambda m: self._placeholder("user", m[0]), text)
        return text

    def _home(self, match: re.Match[str]) -> str:
        name = match[1]
        if name.lower() in _NOBODY:
            return match[0]
        return match[0][: -len(name)] + self._placeholder("user", name)

    def _placeholder(self, kind: str, value: str) -> str:
        self.counts[kind] += 1
        known = sum(1 for other, _ in self._placeholders if other == kind)
        return self._placeholders.setdefault((kind, value), f"<{kind}-{known + 1}>")


def redact(report: Report) -> Report:
    """The report with private values replaced, and how many of each kind were."""
    redactor = Redactor(_user_names(report))
    clean: Report = _walk(report, redactor)
    return clean._replace(redactions=tuple(sorted(redactor.counts.items())))


def _user_names(report: Report) -> set[str]:
    texts = [log.text for log in report.crash.logs] + [entry.name for entry in report.crash.inputs]
    return {name for text in texts for name in _HOME.findall(text) if name.lower() not in _NOBODY}


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
