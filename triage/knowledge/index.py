"""The built index: our pack as a module of constants, so that a run reads no YAML and compiles no unneeded pattern."""

from __future__ import annotations

import pprint
from typing import Any

from triage import patterns
from triage.knowledge.clues import patterns_of
from triage.knowledge.loading import assemble
from triage.knowledge.pack import PackData


def index_source(pack: PackData) -> str:
    """The source of `built_index.py` for a pack; raises ValueError when anything in the pack is wrong."""
    knowledge = assemble([pack])
    if knowledge.problems:
        raise ValueError("\n".join(str(problem) for problem in knowledge.problems))
    clues = [clue for s in knowledge.signatures.values() for clue in (*s.clues, *s.against)]
    wanted = {pattern for clue in clues for kind, pattern in patterns_of(clue) if kind == "log"}
    wanted.update(knowledge.noise, knowledge.life)
    data: dict[str, Any] = {
        "digest": pack.digest,
        "signatures": pack.signatures,
        "tables": pack.tables,
        "literals": {pattern: patterns.literals(pattern) for pattern in sorted(wanted)},
    }
    constants = pprint.pformat(data, width=120, sort_dicts=False)
    return f'"""Made by setup.py from signatures/; do not edit."""\n\nDATA = {constants}\n'
