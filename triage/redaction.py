"""Hides what must not get into an issue tracker: user names, home paths, e-mail addresses, tokens.

The same value always gets the same placeholder, so that a redacted report can still be followed. Not looked for:
host names, IP addresses, project names, and values of local variables (which no report contains anyway).

Only text that came from the input is changed. A user may be called `gpu`, `memory` or `triage`: such a bare name is
replaced in the input's own words (messages, paths, commands, quoted lines), but not in our sentences, causes and
commands. What is private by its shape (a home path, a token, an address) is replaced in our sentences too, because
they may contain a value from the input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from triage.crash import (
    Command,
    Crash,
    Dump,
    Environment,
    ExitStatus,
    Fact,
    Gap,
    Imports,
    Input,
    Log,
    LogRecord,
    NativeFrame,
    Process,
    Program,
    ProgramReason,
    PythonException,
    PythonFrame,
    RuntimeMessage,
    Thread,
)
from triage.patterns import Match
from triage.patterns import compile as pattern
from triage.phrases import Phrase, quoting
from triage.report import (
    Diagnosis,
    FixStep,
    Ground,
    NearMiss,
    OtherCrash,
    Outcome,
    Question,
    RefutedClaim,
    Reliability,
    Report,
    RuledOut,
    SeenNotice,
)

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
_BEARER = r"(?i)(\bauthorization\W{1,5})?\b(bearer|basic) ([A-Za-z0-9+/=._~-]{12,})"
_ORDINARY_WORD = r"^[A-Z]?[a-z]+(?:[-/][a-z]+)*[.=]?$"
# An argument that says that the next one is a secret.
_ANNOUNCES_ONE = (
    r"(?i)^(?:-{1,2}[\w-]{0,32}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)|(?:.* )?(?:bearer|basic))$"
)
_URL_LOGIN = r"(://)([^\s/:@]{1,128}:[^\s/@]{1,256})(@)"
# Fields whose text is the input's own: all of it may be private.
_THEIRS: dict[type, tuple[str, ...]] = {
    Crash: ("rerun",),
    Dump: ("comments",),
    Environment: ("interpreter",),
    Fact: ("value",),
    Gap: ("subject",),
    Imports: ("modules",),
    Input: ("name",),
    LogRecord: ("file", "message"),
    NativeFrame: ("module", "source"),
    Process: ("command",),
    ProgramReason: ("text",),
    PythonException: ("message", "gist"),
    PythonFrame: ("file",),
    RuntimeMessage: ("text",),
    Thread: ("name",),
}
# Fields with nothing of the input in them: our own words, ids, and words from a fixed set.
_OURS: dict[type, tuple[str, ...]] = {
    Diagnosis: ("cause", "signature", "title", "grade", "sources"),
    ExitStatus: ExitStatus._fields,
    Fact: ("name", "known"),
    FixStep: ("risk", "if_not"),
    Gap: ("what", "why", "remedy"),
    RefutedClaim: RefutedClaim._fields,
    Input: ("kind",),
    LogRecord: ("severity",),
    NativeFrame: ("trust",),
    NearMiss: ("signature", "cause", "missing"),
    OtherCrash: OtherCrash._fields,
    Process: ("role", "forked_with"),
    Program: ("language", "framework"),
    ProgramReason: ("kind", "shows"),
    PythonException: ("link",),
    Question: ("would_separate", "answers"),
    Reliability: Reliability._fields,
    Ground: Ground._fields,
    Outcome: Outcome._fields,
    Report: ("version", "signatures", "packs", "verdict", "summary", "topic", "redactions", "reliability"),
    RuledOut: ("cause",),
    SeenNotice: ("id", "who", "means", "harm", "cost", "silence", "becomes"),
    RuntimeMessage: ("kind",),
}


class Redactor:
    """Replaces private values with placeholders that stay the same throughout a report."""

    def __init__(self, user_names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._placeholders: dict[tuple[str, str], str] = {}
        # Whole words only, and none so short that it may be an ordinary word.
        names = sorted({name for name in user_names if len(name) > 2}, key=len, reverse=True)
        self._names = pattern(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b") if names else None

    def text(self, text: str) -> str:
        """The input's own words with private values replaced."""
        text = self.shapes(text)
        if self._names is not None:
            text = self._names.sub(lambda m: self._placeholder("user", m[0]), text)
        return text

    def phrase(self, text: str) -> str:
        """Our own sentence or command: bare names are replaced only where it quotes the input."""
        if not isinstance(text, Phrase):
            return self.shapes(text)
        clean, at = "", 0
        for start, stop in text.quoted:
            clean += self.shapes(text[at:start]) + self.text(text[start:stop])
            at = stop
        return self.shapes(clean + text[at:])

    def arguments(self, words: tuple[str, ...], clean: Callable[[str], str]) -> tuple[str, ...]:
        """The arguments of a command; one may say that the next is a secret."""
        return tuple(
            self._placeholder("token", word)
            if before and len(word) > 3 and not word.isdigit() and pattern(_ANNOUNCES_ONE).search(before)
            else clean(word)
            for before, word in zip(("", *words), words, strict=False)
        )

    def shapes(self, text: str) -> str:
        """Any text without what is private by its shape: tokens, addresses, the owner of a home folder."""
        lower = text.lower()
        # A cheap test before each rule: most strings of a report need none of them.
        if "://" in text:
            text = pattern(_URL_LOGIN).sub(lambda m: m[1] + self._placeholder("token", m[2]) + m[3], text)
        if any(start in text for start in _TOKEN_STARTS):
            text = pattern(_TOKENS).sub(lambda m: self._placeholder("token", m[0]), text)
        if "bearer " in lower or "basic " in lower:
            text = pattern(_BEARER).sub(self._bearer, text)
        if any(word in lower for word in _TELLING_NAMES):
            text = pattern(_NAMED).sub(self._named, text)
        if "@" in text:
            text = pattern(_EMAIL).sub(lambda m: self._placeholder("email", m[0]), text)
        if any(folder in lower for folder in _HOME_FOLDERS):
            text = pattern(_HOME).sub(self._home, text)
        return text

    def _bearer(self, match: Match) -> str:
        # "the basic instructions." is no login: one has digits or capitals in it, or stands in a header.
        is_word = pattern(_ORDINARY_WORD).search(match[3]) and not match[1]
        return str(match[0]) if is_word else f"{match[1] or ''}{match[2]} {self._placeholder('token', match[3])}"

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
    """The report with private values replaced, and with the number of each kind."""
    redactor = Redactor(_user_names(report))
    crash = report.crash
    # A sentence about what was not read may name one of the user's files.
    files = [entry.name for entry in crash.inputs] + [gap.subject for gap in crash.gaps]
    report = report._replace(
        crash=crash._replace(gaps=tuple(gap._replace(detail=quoting(gap.detail, *files)) for gap in crash.gaps)),
        not_observable=tuple(quoting(text, *files) for text in report.not_observable),
    )
    clean: Report = _walk(report, redactor, redactor.phrase)
    return clean._replace(redactions=tuple(sorted(redactor.counts.items())))


def redacted_text(text: str) -> str:
    """A whole log with private values replaced, for a copy that others may see."""
    return Redactor(name for name in pattern(_HOME).findall(text) if name.lower() not in _NOBODY).text(text)


def _user_names(report: Report) -> set[str]:
    crash = report.crash
    texts = [log.text for log in crash.logs] + [entry.name for entry in crash.inputs]
    texts += [text for process in crash.processes if process.dump for text in process.dump.comments]
    texts += [text for text in (crash.environment.interpreter,) if text]
    names = {name for text in texts for name in pattern(_HOME).findall(text) if name.lower() not in _NOBODY}
    # In a field that is a path and nothing else, a name may have spaces; each of its words is private.
    several = pattern(_SPACED_HOME).findall(crash.environment.interpreter or "")
    return names | {word for name in several for word in name.split() if word.lower() not in _NOBODY}


def _walk(value: Any, redactor: Redactor, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Command):
        environment = tuple((name, redactor.shapes(held)) for name, held in value.environment)
        return value._replace(argv=redactor.arguments(value.argv, clean), environment=environment)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        ours, theirs = _OURS.get(type(value), ()), _THEIRS.get(type(value), ())
        return type(value)(
            *(
                held if name in ours else _walk(held, redactor, redactor.text if name in theirs else clean)
                for name, held in zip(value._fields, value, strict=True)
            )
        )
    if isinstance(value, tuple):
        return tuple(_walk(item, redactor, clean) for item in value)
    # Logs are never printed; what is quoted from them is in the evidence.
    assert value is None or isinstance(value, (int, float, Log)), type(value)
    return value
