"""Labelled reports on disk, and what our clues find in them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from triage import analyze
from triage.clues.facts import Facts
from triage.diagnosis.ranking import Found, look_for
from triage.knowledge.database import Knowledge
from triage.knowledge.pack_files import load_yaml
from triage.report import NO_CRASH

NOT_A_CRASH, NO_CAUSE, SOMETHING_ELSE = "not-a-crash", "unknown", "other."


class BadCases(Exception):
    """A folder of cases that cannot be used; the text says what to try."""


class Case(NamedTuple):
    """A report as somebody pasted it, the cause that people found, and other answers that are right too."""

    id: str
    text: str
    cause: str
    alternates: tuple[str, ...]

    @property
    def is_quiet(self) -> bool:
        """Whether there is no cause of ours to name."""
        return self.cause in (NO_CAUSE, NOT_A_CRASH) or self.cause.startswith(SOMETHING_ELSE)

    def accepts(self, cause: str) -> bool:
        """Whether naming this cause is right."""
        if self.cause.startswith(SOMETHING_ELSE):
            return cause.startswith(SOMETHING_ELSE)
        return cause == self.cause or cause in self.alternates


class Looked(NamedTuple):
    """A case with what was found in it; `quiet` where the report says that nothing died."""

    case: Case
    found: Found
    quiet: bool


def read_cases(directories: Sequence[str]) -> tuple[list[Case], str]:
    """All cases of several folders, and a hash over them."""
    digest = hashlib.sha256()
    cases = []
    for directory in directories:
        paths = sorted(Path(directory).glob("*.yaml"))
        if not paths:
            raise BadCases(f"There are no cases (*.yaml) in {directory}; give a folder of labelled reports.")
        for path in paths:
            raw = path.read_bytes()
            digest.update(path.name.encode() + b"\0" + raw)
            data = load_yaml(raw.decode("utf-8"))
            if not isinstance(data, dict) or not {"cause", "input"} <= set(data):
                raise BadCases(f"{path} is not a labelled report; it needs 'cause' and 'input'.")
            cases.append(Case(path.stem, str(data["input"]), data["cause"], tuple(data.get("alternates") or ())))
    return cases, "sha256:" + digest.hexdigest()


def look_at(case: Case, knowledge: Knowledge) -> Looked:
    """Read a case and look for every clue in it."""
    report = analyze(case.text.encode("utf-8", "surrogatepass"), knowledge=knowledge, redact=False)
    found = look_for(Facts(report.crash, knowledge.literals), knowledge)
    return Looked(case, found, report.verdict == NO_CRASH)
